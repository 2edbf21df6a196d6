-- rtrain/callbacks/run_context.lua: TrainRunContext: the description of a run that callbacks receive.

local class = require 'base.class'
local ordered = require 'base.ordered'

---The description of a run that callbacks receive: its id and the effective configs, with the flags of `rtrain run`
---applied. Ray equivalent: ray.train.v2's TrainRunContext.
---@class TrainRunContext
---@field run_id string
---@field run_config RunConfig with the effective name of the run
---@field train_loop_config? table
---@field scaling_config ScalingConfig
---@field backend_config TorchConfig|BackendConfig
---@field datasets table<string, any> name → dataset, as they were passed to the trainer
---@field dataset_config DataConfig
local TrainRunContext = class('TrainRunContext')

---@param run_id string
---@param job table the effective configs of the trainer
---@param place {storage_path: string, name: string, notice: fun(text: string)} for train.loggers
function TrainRunContext:init(run_id, job, place)
  self._place = place
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
