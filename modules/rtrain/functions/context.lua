-- rtrain/functions/context.lua: TrainContext: the rank, world size and run of a worker.

local class = require 'base.class'
local errors = require 'base.errors'
local session = require 'rtrain.session'

---The rank, world size and run of a worker. Ray equivalent: ray.train.TrainContext.
---@class TrainContext
local TrainContext = class('TrainContext')

-- Reads the session's context at each call, since a heal (train.elastic) replaces it.
function TrainContext:init(state) self._session = state end

---@return integer number of workers of the run
function TrainContext:get_world_size() return self._session.context.world_size end

---@return integer rank of this worker among all, from 0
function TrainContext:get_world_rank()
  local virtual = self._session.virtual
  if virtual then virtual:note_rank() end
  return self._session.context.world_rank
end

---@return integer rank among the workers of this node, from 0
function TrainContext:get_local_rank() return self._session.context.local_rank end

---@return integer workers on this node
function TrainContext:get_local_world_size() return self._session.context.local_world_size end

---@return integer number of this node, from 0
function TrainContext:get_node_rank() return self._session.context.node_rank end

---@return string name of the run
function TrainContext:get_experiment_name() return self._session.context.experiment_name end

---Returns the folders of the run's files.
---@return {storage_path: string, experiment_path: string} folder of all runs, folder of this one
function TrainContext:get_storage()
  return {storage_path = self._session.context.storage_path, experiment_path = self._session.context.run_path}
end

---@return table metadata the trainer's `metadata`; empty without
function TrainContext:get_metadata() return self._session.metadata end

for _, name in ipairs {'get_trial_name', 'get_trial_id', 'get_trial_resources', 'get_trial_dir'} do
  TrainContext[name] = function() errors.raise('unsupported', ('%s: Ray Train V2 has it no more either'):format(name)) end
end

local context = {}

---Returns the context of this worker. Ray equivalent: ray.train.get_context.
---
---```lua
---local train = require 'rtrain'
---local ok, err = pcall(train.get_context)
---assert(not ok and tostring(err):find('train function'))  -- the script runs in the controller
---```
---@return TrainContext
function context.get_context()
  local state = session.get('train.get_context()')
  state.train_context = state.train_context or TrainContext(state)
  return state.train_context
end

return context
