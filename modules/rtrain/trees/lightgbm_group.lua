-- rtrain/trees/lightgbm_group.lua: connects the ranks of a LightGBMTrainer as LightGBM's machines.

local errors = require 'base.errors'
local network = require 'lightgbm.network'
local session = require 'rtrain.session'

local group = {}

---Calls a train function in the network of all ranks.
---@param train_func fun(config?: table): any
---@param loop_config? table
---@return any return_value
function group.run(train_func, loop_config)
  local context = session.get('train.LightGBMTrainer').context
  network.init(context.world_size, context.world_rank)
  local ok, value = xpcall(train_func, errors.wrap, loop_config)
  network.free()
  if not ok then error(value, 0) end
  return value
end

return group
