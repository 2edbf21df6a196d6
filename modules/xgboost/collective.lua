-- xgboost/collective.lua: the library's own group of processes, over its own sockets.

local args = require 'base.args'
local array = require 'xgboost.array'
local errors = require 'base.errors'
local ffi = require 'ffi'
local library = require 'xgboost.library'

---@class xgboost.collective
local collective = {}

---The operations of allreduce.
collective.Op = {MAX = 0, MIN = 1, SUM = 2, BITWISE_AND = 3, BITWISE_OR = 4, BITWISE_XOR = 5}

local OPTIONS = {'dmlc_communicator', 'dmlc_tracker_uri', 'dmlc_tracker_port', 'dmlc_task_id', 'dmlc_retry', 'dmlc_timeout',
                 'dmlc_nccl_path'}

---Joins the group of a tracker. train.XGBoostTrainer calls it before the train function. Python equivalent:
---xgboost.collective.init.
---@param options {dmlc_communicator: string, dmlc_tracker_uri: string, dmlc_tracker_port: integer, dmlc_task_id: string,
---  dmlc_retry: integer, dmlc_timeout: integer} the results of RabitTracker:worker_args(), and the name of this rank
function collective.init(options)
  options = args.options(options, OPTIONS, 'collective.init')
  library.call('xgboost.collective.init', 'XGCommunicatorInit', require('base._system').to_json(options))
end

---Leaves the group.
function collective.finalize() library.call('xgboost.collective.finalize', 'XGCommunicatorFinalize') end

---@return integer
function collective.get_rank() return library.functions().XGCommunicatorGetRank() end

---@return integer 1 without a group
function collective.get_world_size() return library.functions().XGCommunicatorGetWorldSize() end

---@return boolean
function collective.is_distributed() return library.functions().XGCommunicatorIsDistributed() ~= 0 end

---Prints a message, on rank 0 only.
---@param msg any
function collective.communicator_print(msg)
  if collective.get_rank() == 0 then print((tostring(msg):gsub('^%s+', ''):gsub('%s+$', ''))) end
end

local TYPES = {float32 = 1, float64 = 2, int8 = 4, int16 = 5, int32 = 6, int64 = 7, uint8 = 8}

---Combines the values of all ranks, elementwise. The result is the same on all ranks.
---@param data torch.Tensor|number[]
---@param op integer one of collective.Op
---@return torch.Tensor of the shape of `data`
---
---```lua
---local torch, xgboost = require 'torch', require 'xgboost'
---local sum = xgboost.collective.allreduce(torch.ones(3), xgboost.collective.Op.SUM)
---assert(sum:sum():item() == 3)  -- without a group there is one rank
---```
function collective.allreduce(data, op)
  local tensor = array.tensor('xgboost.collective.allreduce: data', data):contiguous():clone()
  if type(op) ~= 'number' or op < 0 or op > collective.Op.BITWISE_XOR then
    errors.raise('argument', ('xgboost.collective.allreduce: op = %s: expected one of xgboost.collective.Op'):format(
      tostring(op)))
  end
  library.call('xgboost.collective.allreduce', 'XGCommunicatorAllreduce', ffi.cast('void *', tensor:data_ptr()),
    tensor:numel(), TYPES[tensor.dtype], op)
  return tensor
end

---Returns the text of rank `root`, on all ranks.
---@param data string? ignored on the other ranks
---@param root integer
---@return string
function collective.broadcast(data, root)
  local is_root = collective.get_rank() == root
  if is_root and type(data) ~= 'string' then
    errors.raise('argument', ('xgboost.collective.broadcast: data is a %s, expected a string'):format(type(data)))
  end
  local length = ffi.new('uint64_t[1]', is_root and #data or 0)
  library.call('xgboost.collective.broadcast', 'XGCommunicatorBroadcast', length, 8, root)
  local size = tonumber(length[0])
  local bytes = ffi.new('char[?]', math.max(size, 1))
  if is_root then ffi.copy(bytes, data, size) end
  if size > 0 then library.call('xgboost.collective.broadcast', 'XGCommunicatorBroadcast', bytes, size, root) end
  return ffi.string(bytes, size)
end

return collective
