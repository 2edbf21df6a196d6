-- rtrain/trees/xgboost_group.lua: connects the ranks of an XGBoostTrainer as an XGBoost group, which has its own
-- sockets.

local address_of = require 'rtrain.session.address'
local collective = require 'xgboost.collective'
local errors = require 'base.errors'
local RabitTracker = require('xgboost.tracker').RabitTracker
local session = require 'rtrain.session'
local system = require 'base._system'

local group = {}

-- Time in which the library's own threads must end once all ranks have left.
local END_S = 10
local FOREVER_S = 1e9

-- Joins the group. Rank 0 runs the tracker; the other ranks get its address from the attempt's store.
local function join(host, context, config)
  local tracker
  if context.world_rank == 0 then
    tracker = RabitTracker {
      n_workers = context.world_size, host_ip = address_of(context), port = config.tracker_port, sortby = 'task',
      timeout = config.timeout_s,
    }
    tracker:start()
    host.store_set('xgboost/tracker', system.to_json(tracker:worker_args()))
  end
  local options = system.from_json(host.store_get('xgboost/tracker', config.timeout_s))
  -- The library orders ranks by their names, as strings.
  options.dmlc_task_id = ('%08d'):format(context.world_rank)
  options.dmlc_timeout = math.ceil(config.timeout_s)
  collective.init(options)
  return tracker
end

---Calls a train function in the group of all ranks.
---@param train_func fun(config?: table): any
---@param loop_config? table
---@param config XGBoostConfig
---@return any return_value
function group.run(train_func, loop_config, config)
  local host, context = require 'rtrain._worker', session.get('train.XGBoostTrainer').context
  if context.world_size == 1 then return train_func(loop_config) end
  local tracker = join(host, context, config)
  -- The library may wait for other ranks without visible progress, up to config.timeout_s, and then raises an error.
  host.busy('trains in XGBoost', FOREVER_S)
  local ok, value = xpcall(train_func, errors.wrap, loop_config)
  -- After an error, do not wait for the other ranks: the attempt ends.
  if not ok then error(value, 0) end
  collective.finalize()
  if tracker then tracker:wait_for(END_S) end
  host.busy('has trained', 0)
  return value
end

return group
