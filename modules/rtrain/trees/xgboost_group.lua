-- rtrain/trees/xgboost_group.lua: the ranks of an XGBoostTrainer as a group of XGBoost, which has sockets of its own.

local address_of = require 'rtrain.session.address'
local collective = require 'xgboost.collective'
local errors = require 'base.errors'
local RabitTracker = require('xgboost.tracker').RabitTracker
local session = require 'rtrain.session'
local system = require 'base._system'

local group = {}

-- How long the library's own threads may take to end once all ranks have left.
local END_S = 10
local FOREVER_S = 1e9

-- Rank 0 has the tracker; what it says of itself comes to the others through the attempt's store.
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
  -- The ranks are in the order of their names, which are compared as texts.
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
  -- The library waits for other ranks without a sign of it, up to config.timeout_s, and then says so.
  host.busy('trains in XGBoost', FOREVER_S)
  local ok, value = xpcall(train_func, errors.wrap, loop_config)
  -- After an error the others are not waited for: the attempt ends.
  if not ok then error(value, 0) end
  collective.finalize()
  if tracker then tracker:wait_for(END_S) end
  host.busy('has trained', 0)
  return value
end

return group
