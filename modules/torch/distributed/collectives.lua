-- torch/distributed/collectives.lua: collectives of all ranks of a group.
--
-- `group` is a result of new_group, nil for all ranks. With `async_op` a call returns a Work when the collective has
-- begun: the tensors must not be used until `work:wait()` has returned. Ranks in arguments are global ranks, whatever
-- the group; `group_src` and `group_dst` are ranks in the group instead.

local args = require 'base.args'
local engine = require 'torch.distributed.engine'
local errors = require 'base.errors'
local virtual_ranks = require 'torch.distributed.virtual_ranks'

local collectives = {}
local defined = args.definer(collectives)

---How values of several ranks are combined. The last three are for integers and booleans, and not for NCCL.
collectives.ReduceOp = {
  SUM = 'sum', AVG = 'avg', MIN = 'min', MAX = 'max', PRODUCT = 'product', BAND = 'band', BOR = 'bor', BXOR = 'bxor'}

local REDUCE_OPS = {'sum', 'avg', 'min', 'max', 'product', 'band', 'bor', 'bxor'}

-- Returns the operation on the tensor, which NCCL may lack.
local function op_of(name, p, tensor)
  local op = args.one_of(name .. ': op', p.op, REDUCE_OPS)
  if op:match '^b' and tensor.is_cuda and engine.joined().get_backend(p.group) == 'nccl' then
    errors.raise('argument', ("%s: NCCL has no operation '%s': use a tensor of the CPU, or a group with backend 'gloo'"):format(
      name, op))
  end
  return op
end

local function root_of(name, p, key) return engine.rank_of(name, p, key) or 0 end

-- Adds `group` and `async_op` after these parameters, and then the last one if given.
local function define(name, parameters, fn, last)
  parameters[#parameters + 1], parameters[#parameters + 2] = {'group'}, {'async_op', false}
  if last then parameters[#parameters + 1] = {last} end
  defined(name, parameters, function(p)
    if engine.is_outside(name, p.group) then return nil end
    virtual_ranks.note_collective(name)
    return fn(p, engine.joined())
  end)
end

---Combines the tensors of all ranks, elementwise and in place. Arguments: tensor (same shape and dtype on every rank), op (a
---ReduceOp), group, async_op. Returns the tensor; the Work with async_op.
---PyTorch equivalent: torch.distributed.all_reduce.
---
---```lua
---local torch = require 'torch'
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local correct = torch.tensor{3, 4}
---dist.all_reduce(correct, dist.ReduceOp.SUM)
---local work = dist.all_reduce(correct, {op = 'max', async_op = true})
---work:wait()
---assert(correct:sum():item() == 7)
---dist.destroy_process_group()
---```
define('all_reduce', {'tensor', {'op', 'sum'}}, function(p, dist)
  return dist.all_reduce(p.tensor, op_of('all_reduce', p, p.tensor), p.group, p.async_op)
end)

---As all_reduce for each tensor of a list. Arguments: tensors, op (a ReduceOp), group, async_op. Returns the list; with
---async_op the Work of the last tensor, which ends after the others.
---PyTorch equivalent: torch.distributed.all_reduce_coalesced.
define('all_reduce_coalesced', {'tensors', {'op', 'sum'}}, function(p, dist)
  if type(p.tensors) ~= 'table' or #p.tensors == 0 then
    errors.raise('argument', 'all_reduce_coalesced: expected a list of tensors')
  end
  local op, work = op_of('all_reduce_coalesced', p.op), nil
  for _, tensor in ipairs(p.tensors) do work = dist.all_reduce(tensor, op, p.group, p.async_op) end
  return p.async_op and work or p.tensors
end)

---Combines the tensors of all ranks, elementwise and in place, on rank dst only; the tensors of the other ranks are
---undefined afterwards.
---Arguments: tensor (same shape and dtype on every rank), dst (default 0), op (a ReduceOp), group, async_op,
---group_dst. Returns the tensor; the Work with async_op.
---PyTorch equivalent: torch.distributed.reduce.
define('reduce', {'tensor', {'dst'}, {'op', 'sum'}}, function(p, dist)
  return dist.reduce(p.tensor, root_of('reduce', p, 'dst'), op_of('reduce', p, p.tensor), p.group, p.async_op)
end, 'group_dst')

---Gives every rank the values of rank src, in place. Arguments: tensor (same shape and dtype on every rank), src (default 0),
---group, async_op, group_src. Returns the tensor; the Work with async_op.
---PyTorch equivalent: torch.distributed.broadcast.
define('broadcast', {'tensor', {'src'}}, function(p, dist)
  return dist.broadcast(p.tensor, root_of('broadcast', p, 'src'), p.group, p.async_op)
end, 'group_src')

define('_all_gather_list', {'tensor_list', 'tensor'}, function(p, dist)
  if #p.tensor_list > 0 then
    local _, work = dist.all_gather(p.tensor_list, p.tensor, p.group, p.async_op)
    return work or p.tensor_list
  end
  local gathered, work = dist.all_gather(nil, p.tensor, p.group, p.async_op)
  for rank, each in ipairs(gathered) do p.tensor_list[rank] = each end
  return work or p.tensor_list
end)

define('_all_gather', {'tensor'}, function(p, dist)
  local gathered, work = dist.all_gather(nil, p.tensor, p.group, p.async_op)
  return work or gathered
end)

---Gathers every rank's tensor: `all_gather(tensor)` in new tensors, PyTorch's `all_gather(tensor_list, tensor)` in a
---list: empty, or with a tensor for each rank, of that rank's shape (over shared memory the shapes may differ).
---@param ... any [tensor_list,] tensor, group, async_op
---@return torch.Tensor[] tensors by rank in the group: tensors[1] is rank 0's; the Work with async_op
---
---PyTorch equivalent: torch.distributed.all_gather.
function collectives.all_gather(...)
  local first = ...
  local is_list = type(first) == 'table' and getmetatable(first) == nil and (not args.is_keywords(first) or first.tensor_list)
  return (is_list and collectives._all_gather_list or collectives._all_gather)(...)
end

---Gathers every rank's tensor in one tensor, concatenated. Arguments: output_tensor (with the elements of the inputs of
---all ranks), input_tensor (same shape and dtype on every rank), group, async_op. Returns the output; the Work with
---async_op. PyTorch equivalent: torch.distributed.all_gather_into_tensor.
define('all_gather_into_tensor', {'output_tensor', 'input_tensor'}, function(p, dist)
  return dist.all_gather_into_tensor(p.output_tensor, p.input_tensor, p.group, p.async_op)
end)

---Gathers every rank's tensor on rank dst. Arguments: tensor (same shape and dtype on every rank), gather_list (on rank
---dst: the outputs; default: new tensors), dst (default 0), group, async_op, group_dst. Returns the list on rank dst:
---list[1] is rank 0's; nil on the other ranks; the Work with async_op, whose `result()` is the list.
---PyTorch equivalent: torch.distributed.gather.
define('gather', {'tensor', {'gather_list'}, {'dst'}}, function(p, dist)
  local dst = root_of('gather', p, 'dst')
  local gathered, work = dist.gather(p.tensor, p.gather_list, dst, p.group, p.async_op)
  if work then return work end
  return dist.get_rank() == dst and (p.gather_list or gathered) or nil
end, 'group_dst')

---Gives each rank its tensor of rank src's list. Arguments: tensor (the output; same shape and dtype on every rank),
---scatter_list (on rank src: one for each rank), src (default 0), group, async_op, group_src. Returns the tensor; the Work with
---async_op.
---PyTorch equivalent: torch.distributed.scatter.
define('scatter', {'tensor', {'scatter_list'}, {'src'}}, function(p, dist)
  return dist.scatter(p.tensor, p.scatter_list, root_of('scatter', p, 'src'), p.group, p.async_op)
end, 'group_src')

---Combines the lists of all ranks elementwise; rank r of the group gets entry r + 1 of the result. Arguments: output,
---input_list (one for each rank, shaped like output), op (a ReduceOp), group, async_op. Returns the output; the Work with
---async_op.
---PyTorch equivalent: torch.distributed.reduce_scatter.
define('reduce_scatter', {'output', 'input_list', {'op', 'sum'}}, function(p, dist)
  return dist.reduce_scatter(p.output, p.input_list, op_of('reduce_scatter', p, p.output), p.group, p.async_op)
end)

---As reduce_scatter, for one tensor with the concatenated parts for all ranks: rank r gets part r + 1 of the result.
---Arguments: output, input (with the elements of the outputs of all ranks), op (a ReduceOp), group, async_op. Returns
---the output; the Work with async_op.
---PyTorch equivalent: torch.distributed.reduce_scatter_tensor.
define('reduce_scatter_tensor', {'output', 'input', {'op', 'sum'}}, function(p, dist)
  return dist.reduce_scatter_tensor(p.output, p.input, op_of('reduce_scatter_tensor', p, p.output), p.group, p.async_op)
end)

---Sends a tensor to each rank, and receives one from each. The sizes of tensors for different ranks may differ.
---Arguments: output_tensor_list (output_tensor_list[r + 1] receives the tensor that rank r of the group sends),
---input_tensor_list (input_tensor_list[r + 1] goes to rank r), group, async_op. Returns output_tensor_list; the Work
---with async_op. PyTorch equivalent: torch.distributed.all_to_all.
define('all_to_all', {'output_tensor_list', 'input_tensor_list'}, function(p, dist)
  return dist.all_to_all(p.output_tensor_list, p.input_tensor_list, p.group, p.async_op)
end)

---As all_to_all, for parts of one tensor. Arguments: output, input, output_split_sizes (rows from each rank; default:
---equal parts), input_split_sizes (rows for each rank; default: equal parts), group, async_op. Returns the output; the
---Work with async_op. PyTorch equivalent: torch.distributed.all_to_all_single.
define('all_to_all_single', {'output', 'input', {'output_split_sizes'}, {'input_split_sizes'}}, function(p, dist)
  return dist.all_to_all_single(p.output, p.input, p.output_split_sizes, p.input_split_sizes, p.group, p.async_op)
end)

---Waits until every rank has reached the barrier. Arguments: group, async_op. Returns nothing; the Work with async_op.
---PyTorch equivalent: torch.distributed.barrier.
define('barrier', {}, function(p, dist) return dist.barrier(p.group, p.async_op) end)

---Waits until every rank has reached the barrier, over the transport of CPU tensors, also where CUDA tensors travel over
---NCCL. Arguments: group, timeout_s (seconds; default: the group's), wait_all_ranks (no effect: the time-out always names
---all ranks that are missing).
---Raises code 'timeout' at timeout_s; the group cannot be used afterwards.
---PyTorch equivalent: torch.distributed.monitored_barrier.
---
---```lua
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---dist.monitored_barrier{timeout_s = 60}
---dist.destroy_process_group()
---```
defined('monitored_barrier', {{'group'}, {'timeout_s'}, {'wait_all_ranks', false}}, function(p)
  if engine.is_outside('monitored_barrier', p.group) then return end
  engine.joined().monitored_barrier{group = p.group, timeout_s = p.timeout_s}
end)

return collectives
