-- torch/distributed.lua: collectives over the ranks of a run, as torch.distributed.
--
-- Tensors of the CPU travel over shared memory where all ranks are on one host, else over Gloo; those of CUDA over NCCL where
-- each rank has a device to itself: as in PyTorch the call then returns when the device has been given the collective, and what
-- uses the tensor next waits for it there.
--
-- Inside a train function the process group forms itself. Every rank must call the same collectives in the same order.
-- Errors: 'peer_lost' when another rank is gone, 'timeout' when it did not come in time; both name the operation and
-- the rank, and every later collective raises again.

local args = require 'base.args'
local default_group = require 'torch.default_group'
local errors = require 'base.errors'

local distributed = {}

---How values of several ranks are combined.
distributed.ReduceOp = {SUM = 'sum', AVG = 'avg', MIN = 'min', MAX = 'max', PRODUCT = 'product'}

local REDUCE_OPS = {'sum', 'avg', 'min', 'max', 'product'}

local function engine() return require('torch._C').distributed end

-- In a train function the group is formed by the first call that needs it.
local function dist()
  default_group.ensure()
  return engine()
end

-- (…, {op = 'sum'}) and (…, 'sum') both name an operation.
local function reduce_op(name, keywords, op)
  op = args.options(keywords, {'op'}, name).op or op or 'sum'
  return args.one_of(name .. ': op', op, REDUCE_OPS)
end

---Makes the process group of this process. A trainer does it before the train function runs; a script of its own may
---make one of a single rank.
---@param backend? string default 'cpu:shm,cuda:nccl': CPU tensors over shared memory where all ranks are on one host, else
---  over Gloo, CUDA tensors over NCCL where every rank has a device to itself, else over Gloo. 'gloo' for all; 'nccl' or
---  'cpu:gloo,cuda:nccl': an error without NCCL; 'shm': CPU tensors alone, an error on several hosts
---@param options? {rank: integer, world_size: integer, timeout_s: number, is_high_priority_stream: boolean} timeout_s:
---  seconds, default 1800; is_high_priority_stream: NCCL's work goes before the model's
---Errors: 'argument' when there is one already, 'environment' for 'nccl' without a device and for 'shm' on several hosts,
---'unsupported' for several ranks without a trainer.
---
---```lua
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---assert(dist.get_world_size() == 1)
---dist.destroy_process_group()
---```
function distributed.init_process_group(backend, options)
  if type(backend) == 'table' then backend, options = nil, backend end
  options = args.options(options, {'backend', 'rank', 'world_size', 'timeout_s', 'prefix', 'is_high_priority_stream'},
    'init_process_group')
  engine().init_process_group{
    backend = backend or options.backend, rank = options.rank, world_size = options.world_size,
    timeout_s = options.timeout_s, prefix = options.prefix, is_high_priority_stream = options.is_high_priority_stream}
end

---Ends the process group: reducers of DistributedDataParallel, then the group. Without one it does nothing.
function distributed.destroy_process_group() engine().destroy_process_group() end

---@return boolean whether this process has a process group
function distributed.is_initialized() return engine().is_initialized() end

---@return boolean always true: the wheel's LibTorch has Gloo
function distributed.is_available() return true end

---@return boolean true
function distributed.is_gloo_available() return true end

---@return boolean whether this process has brought LibTorch's CUDA library, and NCCL with it: a driver shows a device
function distributed.is_nccl_available() return engine().is_nccl_available() end

---@return string backend what tensors of this rank's device travel over: 'nccl', or 'gloo' where ranks share one; without a
---  device what those of the CPU travel over: 'shm' or 'gloo'
function distributed.get_backend() return dist().get_backend() end

---@return integer rank from 0
function distributed.get_rank() return dist().get_rank() end

---@return integer number of ranks
function distributed.get_world_size() return dist().get_world_size() end

---Combines the tensors of all ranks, elementwise and in place.
---@param tensor torch.Tensor same shape and dtype on every rank
---@param op? string|{op: string} a ReduceOp, default 'sum'
---@return torch.Tensor tensor the same one
---
---```lua
---local torch = require 'torch'
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local correct = torch.tensor{3, 4}
---dist.all_reduce(correct, dist.ReduceOp.SUM)
---assert(correct:sum():item() == 7)
---dist.destroy_process_group()
---```
function distributed.all_reduce(tensor, op)
  local keywords = type(op) == 'table' and op or nil
  return dist().all_reduce(tensor, reduce_op('all_reduce', keywords, not keywords and op or nil))
end

---Gathers every rank's tensor. PyTorch's form with a list to fill first works too.
---@param ... any tensor, or output list and tensor; all tensors have the same shape and dtype
---@return torch.Tensor[] tensors by rank: tensors[1] is rank 0's
function distributed.all_gather(...)
  local first, second = ...
  if type(first) ~= 'table' then return dist().all_gather(first) end
  local gathered = dist().all_gather(second)
  if #first ~= 0 and #first ~= #gathered then
    errors.raise('argument', ('all_gather: a list of %d tensors for %d ranks'):format(#first, #gathered))
  end
  for rank, tensor in ipairs(gathered) do
    if first[rank] then first[rank]:copy_(tensor) else first[rank] = tensor end
  end
  return first
end

---Gives every rank the values of rank src, in place.
---@param tensor torch.Tensor same shape and dtype on every rank
---@param src? integer|{src: integer} default 0
---@return torch.Tensor tensor the same one
function distributed.broadcast(tensor, src)
  if type(src) == 'table' then src = args.options(src, {'src'}, 'broadcast').src end
  return dist().broadcast(tensor, src or 0)
end

---Combines the lists of all ranks elementwise; rank r gets entry r + 1 of the result.
---@param output torch.Tensor receives the result
---@param inputs torch.Tensor[] one for each rank, shaped like output
---@param op? string|{op: string} a ReduceOp, default 'sum'
---@return torch.Tensor output
function distributed.reduce_scatter(output, inputs, op)
  local keywords = type(op) == 'table' and op or nil
  return dist().reduce_scatter(output, inputs, reduce_op('reduce_scatter', keywords, not keywords and op or nil))
end

---Waits until every rank is here.
function distributed.barrier() dist().barrier() end

---Groups of some of the ranks are not in this version: it raises code 'unsupported'.
function distributed.new_group()
  errors.raise('unsupported', 'torch.distributed.new_group is not in this version: all ranks form one group')
end

return require 'base.namespace'('torch.distributed', nil, distributed)
