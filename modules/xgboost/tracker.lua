-- xgboost/tracker.lua: RabitTracker: connects the ranks of a group.

local args = require 'base.args'
local class = require 'base.class'
local ffi = require 'ffi'
local library = require 'xgboost.library'
local system = require 'base._system'

local SORT_BY = {host = 0, task = 1}

---Connects the ranks of a group, in threads of this process. train.XGBoostTrainer makes one in rank 0. Python
---equivalent: xgboost.tracker.RabitTracker.
---
---Arguments: {n_workers, host_ip, port = 0, sortby = 'host', timeout = 0}. sortby = 'task': ranks are in the order of their
---dmlc_task_id, as texts. timeout: seconds to wait for all ranks; 0: no limit.
---
---```lua
---local xgboost = require 'xgboost'
---local tracker = xgboost.tracker.RabitTracker {n_workers = 1, host_ip = '127.0.0.1'}
---tracker:start()
---local options = tracker:worker_args()
---options.dmlc_task_id = '0'
---xgboost.collective.init(options)
---assert(xgboost.collective.get_world_size() == 1)
---xgboost.collective.finalize()
---tracker:wait_for(10)
---```
---@class xgboost.RabitTracker
---@overload fun(options: table): xgboost.RabitTracker
local RabitTracker = class('RabitTracker')

---@param options {n_workers: integer, host_ip: string, port: integer, sortby: string, timeout: integer}
function RabitTracker:init(options)
  options = args.options(options, {'n_workers', 'host_ip', 'port', 'sortby', 'timeout'}, 'RabitTracker')
  local sortby = args.one_of('RabitTracker: sortby', options.sortby or 'host', {'host', 'task'})
  local handle = ffi.new 'rt_xgb_handle[1]'
  library.call('xgboost.tracker.RabitTracker', 'XGTrackerCreate', system.to_json {
    dmlc_communicator = 'rabit', n_workers = options.n_workers, host = options.host_ip, port = options.port or 0,
    sortby = SORT_BY[sortby], timeout = options.timeout or 0,
  }, handle)
  self._handle = library.owned(handle, 'XGTrackerFree')
end

---Starts to listen.
function RabitTracker:start() library.call('RabitTracker:start', 'XGTrackerRun', self._handle, '{}') end

---Returns the arguments of collective.init, the same on every rank.
---@return table<string, string|integer>
function RabitTracker:worker_args()
  local out = ffi.new 'const char *[1]'
  library.call('RabitTracker:worker_args', 'XGTrackerWorkerArgs', self._handle, out)
  return system.from_json(ffi.string(out[0]))
end

---Waits until all ranks have left the group.
---@param timeout integer seconds
---Raises an error if they have not left when the timeout expires.
function RabitTracker:wait_for(timeout)
  library.call('RabitTracker:wait_for', 'XGTrackerWaitFor', self._handle, system.to_json {timeout = timeout})
end

return require 'base.namespace'('xgboost.tracker', nil, {RabitTracker = RabitTracker})
