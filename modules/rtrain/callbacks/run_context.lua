-- rtrain/callbacks/run_context.lua: TrainRunContext: what a callback knows about its run.

local class = require 'base.class'
local ordered = require 'base.ordered'

---What callbacks get: the run's id and its configs as they hold, flags of `rtrain run` included.
---Ray equivalent: ray.train.v2's TrainRunContext.
---@class TrainRunContext
---@field run_id string
---@field run_config RunConfig with the name that the run has
---@field train_loop_config? table
---@field scaling_config ScalingConfig
---@field backend_config TorchConfig|BackendConfig
---@field datasets table<string, any> name → dataset, as the trainer was given it
---@field dataset_config DataConfig
local TrainRunContext = class('TrainRunContext')

---@param run_id string
---@param job table the trainer's configs as they hold
function TrainRunContext:init(run_id, job)
  self.run_id = run_id
  self.run_config = job.run_config
  self.train_loop_config = job.train_loop_config
  self.scaling_config = job.scaling_config
  self.backend_config = job.backend_config or job.torch_config
  self.datasets = ordered.new()
  for _, entry in ipairs(job.datasets) do self.datasets[entry.name] = entry.value end
  self.dataset_config = job.dataset_config
end

---@return RunConfig
function TrainRunContext:get_run_config() return self.run_config end

return TrainRunContext
