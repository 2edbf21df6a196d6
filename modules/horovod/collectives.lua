-- horovod/collectives.lua: Horovod's collectives, over those of torch.distributed.

local args = require 'base.args'
local class = require 'base.class'
local dist = require 'torch.distributed'
local errors = require 'base.errors'
local none = require('horovod.compression').none
local ranks = require 'horovod.ranks'
local torch = require 'torch'

local collectives = {Average = 'average', Sum = 'sum', Min = 'min', Max = 'max', Product = 'product'}

local OPS = {'average', 'sum', 'min', 'max', 'product'}
local OPTIONS = {'name', 'average', 'op', 'compression', 'prescale_factor', 'postscale_factor'}

-- The result of an _async call: `finish` waits and returns the result.
local Handle = class('Handle')

function Handle:init(work, finish) self._work, self._finish = work, finish end

local function op_of(what, options)
  if options.average ~= nil and options.op ~= nil then
    errors.raise('argument', what .. ': give op, not average, which is deprecated')
  end
  if options.average == false then return 'sum' end
  return args.one_of(what .. ': op', options.op or 'average', OPS)
end

local function options_of(what, options)
  ranks._check()
  if type(options) == 'string' then options = {name = options} end
  options = args.options(options, OPTIONS, what)
  return options, op_of(what, options)
end

-- The mean of integers is rounded down, as in Horovod.
local function scale(tensor, factor, divisor)
  if factor and factor ~= 1 then tensor:mul_(factor) end
  if divisor == 1 then return tensor end
  if torch.is_floating_point(tensor) or torch.is_complex(tensor) then return tensor:div_(divisor) end
  return tensor:copy_(torch.div(tensor, divisor, {rounding_mode = 'floor'}))
end

-- Begins an allreduce of a copy of the tensor; the result is passed to `put`.
local function begin_allreduce(what, tensor, options, put)
  local op
  options, op = options_of(what, options)
  local compression = options.compression or none
  local travelling, context = compression.compress(tensor:detach())
  if context == nil then travelling = travelling:clone() end  -- it is the given tensor itself
  scale(travelling, options.prescale_factor, 1)
  local work = dist.all_reduce(travelling, {op = op == 'average' and 'sum' or op, async_op = true})
  return Handle(work, function()
    scale(travelling, options.postscale_factor, op == 'average' and ranks.size() or 1)
    return put(compression.decompress(travelling, context))
  end)
end

local function same(tensor) return tensor end

-- Writes into the tensor itself, without a record for gradients.
local function into(tensor)
  return function(result)
    torch.no_grad(function() tensor:copy_(result) end)
    return tensor
  end
end

---Begins an allreduce; `synchronize` returns its result.
---@param tensor torch.Tensor of the same shape and dtype on every rank
---@param options? {name: string, op: string, compression: table, prescale_factor: number, postscale_factor: number} the
---  options of `allreduce`
---@return any handle
function collectives.allreduce_async(tensor, options) return begin_allreduce('allreduce_async', tensor, options, same) end

---Begins an allreduce in place; `synchronize` returns the tensor.
---@param tensor torch.Tensor
---@param options? table the options of `allreduce`
---@return any handle
function collectives.allreduce_async_(tensor, options)
  return begin_allreduce('allreduce_async_', tensor, options, into(tensor))
end

---Combines the tensors of all ranks, elementwise, in a new tensor. The result has no gradient.
---@param tensor torch.Tensor of the same shape and dtype on every rank
---@param options? {name: string, op: string, average: boolean, compression: table, prescale_factor: number,
---  postscale_factor: number} op: hvd.Average (default), Sum, Min, Max, Product
---@return torch.Tensor
---Horovod equivalent: hvd.allreduce.
---
---```lua
---local hvd, torch = require 'horovod', require 'torch'
---hvd.init()
---assert(hvd.allreduce(torch.tensor {1, 2}, {op = hvd.Sum}):sum():item() == 3 * hvd.size())
---torch.distributed.destroy_process_group()
---```
function collectives.allreduce(tensor, options)
  return collectives.synchronize(begin_allreduce('allreduce', tensor, options, same))
end

---Combines the tensors of all ranks in place.
---@param tensor torch.Tensor
---@param options? table the options of `allreduce`
---@return torch.Tensor tensor
function collectives.allreduce_(tensor, options)
  return collectives.synchronize(begin_allreduce('allreduce_', tensor, options, into(tensor)))
end

local function grouped(one, tensors, options)
  local handles, results = {}, {}
  for i, tensor in ipairs(tensors) do handles[i] = one(tensor, options) end
  for i, handle in ipairs(handles) do results[i] = collectives.synchronize(handle) end
  return results
end

---@param tensors torch.Tensor[]
---@param options? table the options of `allreduce`
---@return torch.Tensor[]
function collectives.grouped_allreduce(tensors, options) return grouped(collectives.allreduce_async, tensors, options) end

---@param tensors torch.Tensor[]
---@param options? table the options of `allreduce`
---@return torch.Tensor[] tensors
function collectives.grouped_allreduce_(tensors, options) return grouped(collectives.allreduce_async_, tensors, options) end

-- Returns the number of rows on each rank.
local function rows_of_all(tensor)
  local counts = dist.all_gather(torch.tensor({tensor:size(0)}, {dtype = torch.int64, device = tensor.device}))
  local out = {}
  for i, count in ipairs(counts) do out[i] = count:item() end
  return out
end

-- Pads with rows of zeros, up to that many.
local function padded(tensor, rows)
  local shape = tensor:size()
  shape[1] = rows
  local out = torch.zeros(shape, {dtype = tensor.dtype, device = tensor.device})
  out:narrow(0, 0, tensor:size(0)):copy_(tensor)
  return out
end

---Begins an allgather; `synchronize` returns its result.
---@param tensor torch.Tensor
---@param name? string
---@return any handle
function collectives.allgather_async(tensor, name)  -- luacheck: no unused args
  ranks._check()
  tensor = tensor:detach()
  if tensor:dim() == 0 then tensor = tensor:reshape(1) end
  local rows, most = rows_of_all(tensor), 0
  for _, count in ipairs(rows) do most = math.max(most, count) end
  local gathered = {}
  for i in ipairs(rows) do gathered[i] = padded(tensor:narrow(0, 0, 0), most) end
  local work = dist.all_gather(gathered, padded(tensor, most), {async_op = true})
  return Handle(work, function()
    for i, count in ipairs(rows) do gathered[i] = gathered[i]:narrow(0, 0, count) end
    return torch.cat(gathered)
  end)
end

---Gathers the rows of all ranks in a new tensor, in the order of the ranks. The numbers of rows may differ.
---@param tensor torch.Tensor of the same shape, except for dim 0, and the same dtype on every rank
---@param name? string
---@return torch.Tensor
---Horovod equivalent: hvd.allgather.
function collectives.allgather(tensor, name) return collectives.synchronize(collectives.allgather_async(tensor, name)) end

local function begin_broadcast(what, tensor, root_rank, put)
  ranks._check()
  if type(root_rank) ~= 'number' then
    errors.raise('argument', ('%s: root_rank is %s, expected a rank'):format(what, require 'base.shown'(root_rank)))
  end
  local travelling = tensor:detach():clone()
  return Handle(dist.broadcast(travelling, root_rank, {async_op = true}), function() return put(travelling) end)
end

---@param tensor torch.Tensor
---@param root_rank integer
---@param name? string
---@return any handle
function collectives.broadcast_async(tensor, root_rank, name)  -- luacheck: no unused args
  return begin_broadcast('broadcast_async', tensor, root_rank, same)
end

---@param tensor torch.Tensor
---@param root_rank integer
---@param name? string
---@return any handle
function collectives.broadcast_async_(tensor, root_rank, name)  -- luacheck: no unused args
  return begin_broadcast('broadcast_async_', tensor, root_rank, into(tensor))
end

---Returns the tensor of one rank, as a new tensor.
---@param tensor torch.Tensor of the same shape and dtype on every rank
---@param root_rank integer
---@param name? string
---@return torch.Tensor
---Horovod equivalent: hvd.broadcast.
function collectives.broadcast(tensor, root_rank, name)
  return collectives.synchronize(collectives.broadcast_async(tensor, root_rank, name))
end

---Copies the tensor of one rank into the tensor of every rank.
---@param tensor torch.Tensor
---@param root_rank integer
---@param name? string
---@return torch.Tensor tensor
function collectives.broadcast_(tensor, root_rank, name)
  return collectives.synchronize(collectives.broadcast_async_(tensor, root_rank, name))
end

---Sends each rank its part of the rows, and receives the rows that the other ranks have for this one.
---@param tensor torch.Tensor
---@param splits? torch.Tensor|integer[] number of rows for each rank; default: the same number for all
---@param name? string
---@return torch.Tensor rows, torch.Tensor? received_splits with `splits`: number of rows received from each rank
---Horovod equivalent: hvd.alltoall.
function collectives.alltoall(tensor, splits, name)  -- luacheck: no unused args
  ranks._check()
  local count = ranks.size()
  if splits == nil and tensor:size(0) % count ~= 0 then
    errors.raise('argument', ('alltoall: %d rows for %d ranks: give splits'):format(tensor:size(0), count))
  end
  local sizes = torch.is_tensor(splits) and splits:tolist() or splits
  if sizes == nil then
    sizes = {}
    for i = 1, count do sizes[i] = tensor:size(0) / count end
  end
  local own = torch.tensor(sizes, {dtype = torch.int64})
  local counts = torch.empty_like(own)
  dist.all_to_all_single(counts, own)
  local shape = tensor:size()
  shape[1] = counts:sum():item()
  local out = torch.empty(shape, {dtype = tensor.dtype, device = tensor.device})
  dist.all_to_all_single(out, tensor:detach():contiguous(), {output_split_sizes = counts:tolist(), input_split_sizes = sizes})
  if splits == nil then return out end
  return out, counts
end

---Combines the tensors of all ranks; each rank gets its part of the rows.
---@param tensor torch.Tensor
---@param options? {name: string, op: string} op: hvd.Average (default) or Sum
---@return torch.Tensor
---Horovod equivalent: hvd.reducescatter.
function collectives.reducescatter(tensor, options)
  local _, op = options_of('reducescatter', options)
  local count, rows = ranks.size(), tensor:size(0)
  -- The first ranks get one row more if the rows cannot be divided evenly.
  local all = begin_allreduce('reducescatter', tensor, {op = op}, same)
  local result, rank = collectives.synchronize(all), ranks.rank()
  local each, more = math.floor(rows / count), rows % count
  local first = rank * each + math.min(rank, more)
  return result:narrow(0, first, each + (rank < more and 1 or 0)):clone()
end

---@param handle any result of an _async function
---@return boolean whether `synchronize` would return at once
function collectives.poll(handle) return handle._work:is_completed() end

---@param handle any result of an _async function
---@return any result the result of the function without _async
function collectives.synchronize(handle)
  if not class.is(handle, Handle) then
    errors.raise('argument', ('synchronize: expected what an _async call has returned, got %s'):format(type(handle)))
  end
  if handle._finish then
    handle._work:wait()
    handle._result, handle._finish = handle._finish(), nil
  end
  return handle._result
end

---Returns when all ranks have called it.
function collectives.barrier()
  ranks._check()
  dist.barrier()
end

return collectives
