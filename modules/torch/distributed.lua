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

---The same of one tensor that has the parts for all ranks one behind the other: rank r gets part r + 1 of the result.
---@param output torch.Tensor receives the result
---@param input torch.Tensor as many elements as the outputs of all ranks
---@param op? string|{op: string} a ReduceOp, default 'sum'
---@return torch.Tensor output
function distributed.reduce_scatter_tensor(output, input, op)
  local keywords = type(op) == 'table' and op or nil
  return dist().reduce_scatter_tensor(output, input, reduce_op('reduce_scatter_tensor', keywords, not keywords and op or nil))
end

---Gathers every rank's tensor in one, one behind the other.
---@param output torch.Tensor as many elements as the inputs of all ranks
---@param input torch.Tensor same shape and dtype on every rank
---@return torch.Tensor output
function distributed.all_gather_into_tensor(output, input) return dist().all_gather_into_tensor(output, input) end

---Combines the tensors of all ranks, elementwise and in place, on rank dst alone; what the others have is not defined then.
---@param tensor torch.Tensor same shape and dtype on every rank
---@param dst? integer|{dst: integer, op: string} default 0
---@param op? string|{op: string} a ReduceOp, default 'sum'
---@return torch.Tensor tensor the same one
function distributed.reduce(tensor, dst, op)
  if type(dst) == 'table' then
    local keywords = args.options(dst, {'dst', 'op'}, 'reduce')
    dst, op = keywords.dst, keywords.op
  elseif type(op) == 'table' then
    op = args.options(op, {'op'}, 'reduce').op
  end
  return dist().reduce(tensor, dst or 0, reduce_op('reduce', nil, op))
end

---Gathers every rank's tensor on rank dst.
---@param tensor torch.Tensor same shape and dtype on every rank
---@param gather_list? torch.Tensor[] on rank dst: to fill; without it the tensors are new
---@param dst? integer|{dst: integer} default 0
---@return torch.Tensor[]? tensors on rank dst: tensors[1] is rank 0's; nil on the others
function distributed.gather(tensor, gather_list, dst)
  if type(dst) == 'table' then dst = args.options(dst, {'dst'}, 'gather').dst end
  local engine_dist = dist()
  local gathered = engine_dist.gather(tensor, dst or 0)
  if engine_dist.get_rank() ~= (dst or 0) then return nil end
  for rank, each in ipairs(gather_list or {}) do each:copy_(gathered[rank]) end
  return gather_list or gathered
end

---Gives each rank its tensor of rank src's list.
---@param tensor torch.Tensor receives it; same shape and dtype on every rank
---@param scatter_list? torch.Tensor[] on rank src: one for each rank
---@param src? integer|{src: integer} default 0
---@return torch.Tensor tensor the same one
function distributed.scatter(tensor, scatter_list, src)
  if type(src) == 'table' then src = args.options(src, {'src'}, 'scatter').src end
  return dist().scatter(tensor, scatter_list, src or 0)
end

---Sends a tensor to each rank, and receives one from each. Ranks may have tensors of different sizes for each other.
---@param output_tensor_list torch.Tensor[] output_tensor_list[r + 1] receives what rank r has sent to this one
---@param input_tensor_list torch.Tensor[] input_tensor_list[r + 1] goes to rank r
---@return torch.Tensor[] output_tensor_list
function distributed.all_to_all(output_tensor_list, input_tensor_list)
  return dist().all_to_all(output_tensor_list, input_tensor_list)
end

---The same of parts of one tensor.
---@param output torch.Tensor
---@param input torch.Tensor
---@param output_split_sizes? integer[] rows from each rank; default: equal parts
---@param input_split_sizes? integer[] rows for each rank; default: equal parts
---@return torch.Tensor output
function distributed.all_to_all_single(output, input, output_split_sizes, input_split_sizes)
  return dist().all_to_all_single(output, input, output_split_sizes, input_split_sizes)
end

---Waits until every rank is here.
function distributed.barrier() dist().barrier() end

---Groups of some of the ranks are not in this version: it raises code 'unsupported'.
function distributed.new_group()
  errors.raise('unsupported', 'torch.distributed.new_group is not in this version: all ranks form one group')
end

return require 'base.namespace'('torch.distributed', nil, distributed)
