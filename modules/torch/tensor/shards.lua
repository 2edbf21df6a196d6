-- torch/tensor/shards.lua: tensors that are this rank's rows of a larger one: the parameters that
-- torch.distributed.fsdp.fully_shard makes, and their gradients.
--
-- The engine refuses operators that would compute something else with the rows than with the whole tensor
-- (host/engine/tensor/shard_guard.h).

local errors = require 'base.errors'
local shown = require 'base.shown'

local shards = {}

---What a sharded tensor is a part of. The ranks of `process_group` have the other rows; those of `replicate_group` have
---the same ones.
---@class torch.Shard
---@field name string of the parameter, below the module that was sharded
---@field sizes integer[] of the whole tensor
---@field begin integer its first row on this rank, from 0
---@field count integer its rows on this rank
---@field process_group ProcessGroup|nil nil: all ranks, never group.WORLD
---@field replicate_group ProcessGroup|nil nil: no other rank has these rows
---@field with_columns table<string, torch.Shard>|nil places of tensors with other columns

-- Number of a Shard → the Shard, as long as a group of parameters has it. The engine keeps the number with the tensor,
-- because a gradient has no lasting value in Lua.
local shard_of = setmetatable({}, {__mode = 'v'})
local num_shards = 0
-- Parameter whose place a shard has taken → its name.
local replaced = setmetatable({}, {__mode = 'k'})
-- Whole parameters that are shown in the forward and backward of a sharded module alone.
local wholes = setmetatable({}, {__mode = 'k'})
local ranks
local has_replaced = false

local function engine() return require('torch._C').distributed end

---Marks a tensor as rows of a larger one.
---@param tensor torch.Tensor
---@param shard torch.Shard the caller keeps it
function shards.add(tensor, shard)
  if not shard.number then
    num_shards = num_shards + 1
    shard.number = num_shards
    shard_of[shard.number] = shard
  end
  engine().mark_shard(tensor, shard.name, shard.begin, shard.sizes[1], shard.number)
end

---Returns what the tensor is a part of; nil for any other tensor.
---@param tensor torch.Tensor
---@return torch.Shard|nil
function shards.of(tensor) return shard_of[engine().shard_number(tensor)] end

---Returns whether one of the tensors is sharded.
---@param tensors torch.Tensor[]
---@return boolean
function shards.any(tensors)
  for _, tensor in ipairs(tensors) do
    if shards.of(tensor) then return true end
  end
  return false
end

---Records that a shard has taken the place of a parameter.
---@param param torch.Tensor
---@param name string
function shards.replace(param, name)
  replaced[param], has_replaced = name, true
end

---@return boolean whether a shard has taken the place of any parameter
function shards.has_replaced() return has_replaced end

---Returns the name of a parameter whose place a shard has taken; nil for any other.
---@param param torch.Tensor
---@return string|nil
function shards.name_of_replaced(param) return replaced[param] end

---Records that a parameter is the whole one of a sharded module.
---@param param torch.Tensor
function shards.add_whole(param) wholes[param] = true end

---Returns whether a parameter is whole because a sharded module is in its forward: it cannot be used after it.
---@param param torch.Tensor
---@return boolean
function shards.is_whole_for_now(param) return wholes[param] == true end

---Sets the functions that communicate with the ranks of a Shard: this file knows no process groups.
---@param functions {gather: (fun(tensor: torch.Tensor, shard: torch.Shard): torch.Tensor), all_reduce: (fun(tensor:
---  torch.Tensor, op: string, shard: torch.Shard))}
function shards.communicate_by(functions) ranks = functions end

---Returns a key of tables for the ranks that divide something.
---@param divided {process_group: ProcessGroup|nil} such as a Shard
---@return any
function shards.ranks_of(divided) return divided.process_group or 'all' end

---Returns one Shard for each process group that divides some of the tensors, in their order.
---@param tensors torch.Tensor[]
---@return torch.Shard[]
function shards.divisions(tensors)
  local found, seen = {}, {}
  for _, tensor in ipairs(tensors) do
    local shard = shards.of(tensor)
    local group = shard and shards.ranks_of(shard)
    if shard and not seen[group] then
      seen[group] = true
      found[#found + 1] = shard
    end
  end
  return found
end

---Combines a tensor over the ranks that divide a parameter, in place.
---@param tensor torch.Tensor
---@param op string
---@param shard torch.Shard
function shards.all_reduce(tensor, op, shard) ranks.all_reduce(tensor, op, shard) end

---Returns the place of a tensor that has as many rows as a sharded one, and other columns: such as means of its rows.
---@param shard torch.Shard
---@param shape integer[] of the tensor, or of the whole one
---@return torch.Shard
function shards.with_columns(shard, shape)
  local sizes = {unpack(shape)}
  sizes[1] = shard.sizes[1]
  local key = table.concat(sizes, ' ')
  if key == table.concat(shard.sizes, ' ') then return shard end
  shard.with_columns = shard.with_columns or {}
  local found = shard.with_columns[key]
  if not found then
    found = {name = shard.name, sizes = sizes, begin = shard.begin, count = shard.count,
             process_group = shard.process_group, replicate_group = shard.replicate_group}
    shard.with_columns[key] = found
  end
  return found
end

local function leave(ok, ...)
  engine().leave_shard_scope()
  if not ok then error((...), 0) end
  return ...
end

---Calls fn, whose operators may do anything with this rank's rows.
---@param fn function
---@param ... any
---@return any ... the results of fn
function shards.with_rows(fn, ...)
  engine().enter_shard_scope()
  return leave(pcall(fn, ...))
end

---Gathers a tensor that has this rank's rows of `shard`. A collective of its ranks.
---@param tensor torch.Tensor
---@param shard torch.Shard
---@return torch.Tensor whole new memory
function shards.gather(tensor, shard) return ranks.gather(tensor, shard) end

-- Returns what the tensor is a part of; an error in the name of the function for any other tensor.
local function check_shard(name, tensor)
  local shard = shards.of(tensor)
  if shard then return shard end
  errors.raise('argument', ('%s: expected a parameter of a module that fully_shard has sharded, or its gradient, got %s')
    :format(name, shown(tensor)))
end

---Returns the whole tensor of a sharded parameter, its gradient, or the state of an optimizer that has the shape of the
---shard: a collective of the ranks that divide it. Python's DTensor.full_tensor.
---@param self torch.Tensor
---@return torch.Tensor whole new memory
---Errors: 'argument' for a tensor that is not sharded.
function shards.full_tensor(self) return shards.gather(self, check_shard('full_tensor', self)) end

---Returns this rank's rows of a sharded tensor, as an ordinary tensor that shares their memory. Python's DTensor.to_local.
---@param self torch.Tensor
---@return torch.Tensor rows
---Errors: 'argument' for a tensor that is not sharded.
function shards.to_local(self)
  check_shard('to_local', self)
  return engine().unmarked(self)
end

return shards
