-- torch/distributed/fsdp/shards.lua: the parameters that fully_shard has made: which rows of which parameter a tensor has.

local engine = require 'torch.distributed.engine'
local torch = require 'torch'

local shards = {}

---What a sharded parameter is a part of. The ranks of `process_group` have the other rows.
---@class Shard
---@field name string of the parameter, below the module that was sharded
---@field sizes integer[] of the whole parameter
---@field begin integer its first row on this rank, from 0
---@field count integer its rows on this rank
---@field process_group ProcessGroup|nil nil: all ranks

-- Parameter → its Shard.
local shard_of = setmetatable({}, {__mode = 'k'})
-- Parameter that a shard has replaced → its name.
local replaced = setmetatable({}, {__mode = 'k'})

---@param param torch.Tensor
---@param shard Shard
function shards.add(param, shard) shard_of[param] = shard end

---Returns what the tensor is a shard of; nil for any other tensor.
---@param param torch.Tensor
---@return Shard|nil
function shards.of(param) return shard_of[param] end

---Records that a shard has taken the place of a parameter.
---@param param torch.Tensor
---@param name string
function shards.replace(param, name) replaced[param] = name end

---Returns the name of a parameter whose place a shard has taken; nil for any other.
---@param param torch.Tensor
---@return string|nil
function shards.name_of_replaced(param) return replaced[param] end

---Gathers a tensor that has this rank's rows of `shard`: a parameter, its gradient, or its state in an optimizer. A
---collective of the shard's ranks.
---@param tensor torch.Tensor
---@param shard Shard
---@return torch.Tensor whole
function shards.gather(tensor, shard)
  local dist = engine.joined()
  local whole = torch.empty(shard.sizes, {dtype = tensor.dtype, device = tensor.device})
  dist.all_gather_shards({whole}, {tensor:detach():contiguous()}, shard.process_group)
  return whole
end

return shards
