-- torch/distributed/nn.lua: torch.distributed.nn: differentiable collectives.
--
-- They return new tensors. The backward pass of a collective is a collective too: every rank must call backward. The
-- gradients are those of the sum of the losses of all ranks.

local args = require 'base.args'
local checks = require 'torch.functions.checks'
local collectives = require 'torch.distributed.collectives'
local errors = require 'base.errors'
local groups = require 'torch.distributed.groups'
local Function = require('torch.autograd.function').Function
local torch = require 'torch'

local nn = {}
local defined = args.definer(nn)

local function has_root(group, root) return groups.get_rank(group) == (group and groups.get_group_rank(group, root) or root) end

local function contiguous(...)
  local out = {...}
  for i, x in ipairs(out) do out[i] = x:contiguous() end
  return out
end

local AllReduce = Function:extend 'AllReduce'

function AllReduce.forward(ctx, tensor, op, group)
  ctx.op, ctx.group = op, group
  return collectives.all_reduce(tensor:clone{memory_format = 'contiguous_format'}, {op = op, group = group})
end

function AllReduce.backward(ctx, grad) return AllReduce.apply(grad, ctx.op, ctx.group), nil, nil end

local Broadcast, Reduce = Function:extend 'Broadcast', Function:extend 'Reduce'

function Broadcast.forward(ctx, tensor, src, group)
  ctx.src, ctx.group = src, group
  return collectives.broadcast(tensor:clone{memory_format = 'contiguous_format'}, {src = src, group = group})
end

function Broadcast.backward(ctx, grad)
  local summed = Reduce.apply(grad, ctx.src, 'sum', ctx.group)
  return has_root(ctx.group, ctx.src) and summed or torch.zeros_like(summed), nil, nil
end

function Reduce.forward(ctx, tensor, dst, op, group)
  ctx.dst, ctx.group = dst, group
  return collectives.reduce(tensor:clone{memory_format = 'contiguous_format'}, {dst = dst, op = op, group = group})
end

function Reduce.backward(ctx, grad) return Broadcast.apply(grad, ctx.dst, ctx.group), nil, nil, nil end

local AllGather, ReduceScatter = Function:extend 'AllGather', Function:extend 'ReduceScatter'

function AllGather.forward(ctx, tensor, group)
  ctx.group = group
  return unpack(collectives.all_gather(tensor:contiguous(), {group = group}))
end

function AllGather.backward(ctx, ...) return ReduceScatter.apply('sum', ctx.group, ...), nil end

function ReduceScatter.forward(ctx, op, group, ...)
  ctx.group = group
  local parts, shape = contiguous(...), (...).shape
  -- Gloo divides the first dimension.
  for i, part in ipairs(parts) do parts[i] = part:reshape(-1) end
  return collectives.reduce_scatter(torch.empty_like(parts[1]), parts, {op = op, group = group}):view(shape)
end

function ReduceScatter.backward(ctx, grad) return nil, nil, AllGather.apply(grad, ctx.group) end

local Gather, Scatter = Function:extend 'Gather', Function:extend 'Scatter'

function Gather.forward(ctx, tensor, dst, group)
  ctx.dst, ctx.group = dst, group
  local gathered = collectives.gather(tensor:contiguous(), {dst = dst, group = group})
  if gathered then return unpack(gathered) end
  local nothing = {}
  for i = 1, groups.get_world_size(group) do nothing[i] = torch.zeros_like(tensor) end
  return unpack(nothing)
end

function Gather.backward(ctx, ...) return Scatter.apply(ctx.dst, ctx.group, ...), nil, nil end

function Scatter.forward(ctx, src, group, ...)
  ctx.src, ctx.group = src, group
  local parts = contiguous(...)
  return collectives.scatter(torch.empty_like(parts[1]), has_root(group, src) and parts or nil, {src = src, group = group})
end

function Scatter.backward(ctx, grad) return nil, nil, Gather.apply(grad, ctx.src, ctx.group) end

local AllToAll = Function:extend 'AllToAll'

function AllToAll.forward(ctx, group, received, ...)
  ctx.group, ctx.shapes = group, {}
  local parts = contiguous(...)
  for i, part in ipairs(parts) do ctx.shapes[i] = part.shape end
  return unpack(collectives.all_to_all(received, parts, {group = group}))
end

function AllToAll.backward(ctx, ...)
  local received = {}
  for i, shape in ipairs(ctx.shapes) do received[i] = (...):new_empty(shape) end
  return nil, nil, AllToAll.apply(ctx.group, received, ...)
end

local AllToAllSingle = Function:extend 'AllToAllSingle'

function AllToAllSingle.forward(ctx, input, output, received, sent, group)
  ctx.shape, ctx.received, ctx.sent, ctx.group = input.shape, received, sent, group
  return collectives.all_to_all_single(torch.empty_like(output, {memory_format = 'contiguous_format'}), input:contiguous(),
    {output_split_sizes = received, input_split_sizes = sent, group = group})
end

function AllToAllSingle.backward(ctx, grad)
  return AllToAllSingle.apply(grad, grad:new_empty(ctx.shape), ctx.sent, ctx.received, ctx.group), nil, nil, nil, nil
end

local function check_list(name, list, group)
  if type(list) ~= 'table' or #list ~= groups.get_world_size(group) then
    errors.raise('argument', ('torch.distributed.nn.%s: expected a list with a tensor for each of the %d ranks'):format(name,
      groups.get_world_size(group)))
  end
  for i, x in ipairs(list) do checks.tensor(('torch.distributed.nn.%s: tensor %d'):format(name, i), x) end
  return list
end

local function check_tensor(name, x) return checks.tensor(('torch.distributed.nn.%s: tensor'):format(name), x) end

---Combines the tensors of all ranks, elementwise. Arguments: tensor, op (a ReduceOp; the gradient is that of the sum
---for every op), group. Returns a new tensor. PyTorch equivalent: torch.distributed.nn.all_reduce.
---
---```lua
---local torch = require 'torch'
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local x = torch.ones({2}, {requires_grad = true})
---local total = dist.nn.all_reduce(x * 3):sum()
---total:backward()
---assert(total:item() == 6 and x.grad:sum():item() == 6)
---dist.destroy_process_group()
---```
defined('all_reduce', {'tensor', {'op', 'sum'}, {'group'}}, function(p)
  return AllReduce.apply(check_tensor('all_reduce', p.tensor), p.op, p.group)
end)

---Gives every rank the values of rank src. Arguments: tensor (same shape and dtype on every rank), src, group. Returns a new
---tensor; its gradients are summed on rank src. PyTorch equivalent: torch.distributed.nn.broadcast.
defined('broadcast', {'tensor', {'src', 0}, {'group'}}, function(p)
  return Broadcast.apply(check_tensor('broadcast', p.tensor), p.src, p.group)
end)

---Combines the tensors of all ranks on rank dst. Arguments: tensor, dst, op, group. Returns a new tensor, which has no meaning
---on the other ranks. PyTorch equivalent: torch.distributed.nn.reduce.
defined('reduce', {'tensor', {'dst', 0}, {'op', 'sum'}, {'group'}}, function(p)
  return Reduce.apply(check_tensor('reduce', p.tensor), p.dst, p.op, p.group)
end)

---Gathers every rank's tensor on every rank: a contrastive loss sees the samples of all ranks, and gradients return to
---the ranks of the samples. Arguments: tensor (same shape and dtype on every rank), group. Returns a list: the first is
---rank 0's. PyTorch equivalent: torch.distributed.nn.all_gather.
---
---```lua
---local torch = require 'torch'
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local x = torch.ones({2, 3}, {requires_grad = true})
---torch.cat(dist.nn.all_gather(x)):sum():backward()
---assert(x.grad:sum():item() == 6)
---dist.destroy_process_group()
---```
defined('all_gather', {'tensor', {'group'}}, function(p)
  return {AllGather.apply(check_tensor('all_gather', p.tensor), p.group)}
end)

---Gathers every rank's tensor on rank dst. Arguments: tensor, dst, group. Returns a list; on the other ranks a list of
---zeros. PyTorch equivalent: torch.distributed.nn.gather.
defined('gather', {'tensor', {'dst', 0}, {'group'}}, function(p)
  return {Gather.apply(check_tensor('gather', p.tensor), p.dst, p.group)}
end)

---Gives each rank its tensor of rank src's list. Arguments: tensors (every rank passes a list of that form; the values
---are rank src's), src, group. Returns a new tensor. PyTorch equivalent: torch.distributed.nn.scatter.
defined('scatter', {'tensors', {'src', 0}, {'group'}}, function(p)
  return Scatter.apply(p.src, p.group, unpack(check_list('scatter', p.tensors, p.group)))
end)

---Combines the lists of all ranks elementwise; rank r gets entry r + 1. Arguments: output (gives shape and dtype; it is
---not changed), input_list, op, group. Returns a new tensor. PyTorch equivalent: torch.distributed.nn.reduce_scatter.
defined('reduce_scatter', {'output', 'input_list', {'op', 'sum'}, {'group'}}, function(p)
  return ReduceScatter.apply(p.op, p.group, unpack(check_list('reduce_scatter', p.input_list, p.group)))
end)

---Sends a tensor to each rank, and receives one from each. Arguments: output_tensor_list (gives the shapes, and
---receives the results), input_tensor_list, group. Returns the received tensors. PyTorch equivalent:
---torch.distributed.nn.all_to_all.
defined('all_to_all', {'output_tensor_list', 'input_tensor_list', {'group'}}, function(p)
  return {AllToAll.apply(p.group, check_list('all_to_all', p.output_tensor_list, p.group),
    unpack(check_list('all_to_all', p.input_tensor_list, p.group)))}
end)

---As all_to_all, for parts of one tensor. Arguments: output (gives the shape), input, output_split_sizes,
---input_split_sizes, group. Returns a new tensor. PyTorch equivalent: torch.distributed.nn.all_to_all_single.
defined('all_to_all_single', {'output', 'input', {'output_split_sizes'}, {'input_split_sizes'}, {'group'}}, function(p)
  return AllToAllSingle.apply(check_tensor('all_to_all_single', p.input), check_tensor('all_to_all_single', p.output),
    p.output_split_sizes, p.input_split_sizes, p.group)
end)

return require 'base.namespace'('torch.distributed.nn', {
  absent = {
    RemoteModule = 'workers share tensors through collectives',
    functional = 'its functions are those of torch.distributed.nn',
    _all_gather_base = 'use all_gather, and torch.cat',
  },
}, nn)
