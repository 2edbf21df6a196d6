-- horovod/objects.lua: broadcasts parameters, an optimizer's state and plain values from one rank to all.

local collectives = require 'horovod.collectives'
local class = require 'base.class'
local dist = require 'torch.distributed'
local errors = require 'base.errors'
local is_list = require 'base.is_list'
local ordered = require 'base.ordered'
local ranks = require 'horovod.ranks'
local torch = require 'torch'

local objects = {}

-- Returns the tensors of a state dict, a list of {name, tensor}, or named_parameters(), in an order that is the same on
-- all ranks.
local function tensors_of(params)
  local out = {}
  local function add(value) if torch.is_tensor(value) then out[#out + 1] = value end end
  if type(params) == 'function' then
    for _, value in params do add(value) end
  elseif type(params) == 'table' and class.of(params) == nil then
    local is_of_pairs = #params > 0 and is_list(params)
    for _, key in ipairs(is_of_pairs and params or ordered.keys_of(params)) do
      if is_of_pairs then add(type(key) == 'table' and key[2] or key) else add(params[key]) end
    end
  else
    errors.raise('argument', ('broadcast_parameters: expected model:state_dict() or model:named_parameters(), got %s'):format(
      class.of(params) and 'a ' .. class.of(params).__name or type(params)))
  end
  return out
end

---Gives all ranks the values of one rank, in place.
---@param params table|function model:state_dict(), model:named_parameters(), or a list of {name, tensor}
---@param root_rank integer
---Horovod equivalent: hvd.broadcast_parameters.
function objects.broadcast_parameters(params, root_rank)
  local handles = {}
  for i, tensor in ipairs(tensors_of(params)) do handles[i] = collectives.broadcast_async_(tensor, root_rank) end
  for _, handle in ipairs(handles) do collectives.synchronize(handle) end
end

---Returns the value of one rank on all ranks: plain data and tensors.
---@param obj any
---@param root_rank? integer default 0
---@param name? string
---@return any
---Horovod equivalent: hvd.broadcast_object.
function objects.broadcast_object(obj, root_rank, name)  -- luacheck: no unused args
  ranks._check()
  return dist.broadcast_object_list({obj}, root_rank or 0)[1]
end

---Returns the values of all ranks, in the order of the ranks.
---@param obj any plain data and tensors
---@param name? string
---@return any[]
---Horovod equivalent: hvd.allgather_object.
function objects.allgather_object(obj, name)  -- luacheck: no unused args
  ranks._check()
  return dist.all_gather_object({}, obj)
end

---Gives all ranks the state of one rank's optimizer, its learning rates and other options included.
---@param optimizer optim.Optimizer the same on every rank
---@param root_rank integer
---Horovod equivalent: hvd.broadcast_optimizer_state.
function objects.broadcast_optimizer_state(optimizer, root_rank)
  ranks._check()
  local state = objects.broadcast_object(ranks.rank() == root_rank and optimizer:state_dict() or nil, root_rank)
  if ranks.rank() ~= root_rank then optimizer:load_state_dict(state) end
end

return objects
