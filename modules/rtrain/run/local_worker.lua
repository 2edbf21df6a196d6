-- rtrain/run/local_worker.lua: local mode: the process that called fit() runs the train function itself.
--
-- It communicates with the controller as a worker process does, over a separate channel, so reports, checkpoints,
-- retries and the store work in the same way. The train function is called directly, without a copy: its changes of
-- outer variables persist, which is useful for debugging.

local closure = require 'base._closure'
local errors = require 'base.errors'
local worker = require 'rtrain.worker'

local local_worker = {}

-- Each attempt begins with a copy of the original config.
local function fresh(config) return closure.load(closure.dump(config)) end

-- Between arm and disarm, an event that ends the attempt is raised once, at any line.
local function run_armed(endpoint, attempt, pump)
  endpoint:arm()
  local ok, value = xpcall(worker.run, errors.wrap, attempt, pump)
  endpoint:disarm()
  return ok, value
end

---Runs the train function for one attempt. The controller decides about its errors.
---@param fd integer descriptor from the event 'local_worker'
---@param job table the worker's job
---@param pump function handles the run's events; called while the train function waits, and after each report
---@param is_joined? boolean whether the controller is another process
function local_worker.serve(fd, job, pump, is_joined)
  local has_endpoint, endpoint
  -- The output of the display and of callbacks does not belong to the train function.
  local function pump_apart()
    if not has_endpoint then return pump() end
    endpoint:pause_output()
    local ok, problem = xpcall(pump, errors.wrap)
    endpoint:resume_output()
    if not ok then error(problem, 0) end
  end
  has_endpoint, endpoint = pcall(require('rtrain._local').join, fd, pump_apart, is_joined)
  if not has_endpoint then return end  -- the run is ending; the controller knows the reason
  local attempt = {
    kind = job.kind, train_loop_per_worker = job.train_loop_per_worker, train_loop_config = fresh(job.train_loop_config),
    datasets = job.worker_datasets, validation_config = job.validation_config, gpus = job.gpus,
    on_nan = job.run_config.failure_config.on_nan, verify_replicas = job.run_config.failure_config.verify_replicas,
    virtual_workers = job.scaling_config.virtual_workers, num_threads = job.scaling_config:num_threads(),
    flags = job.flags, metadata = job.metadata,
    resume_from_checkpoint = job.resume_from_checkpoint,
    set_cuda_device = job.torch_config.set_cuda_device,
    initialization_hook = job.initialization_hook,
    backend = job.workers_backend and {
      stages = job.workers_backend.stages,
      call_here = function(stage) job.backend_hooks:call_here(require('rtrain._worker').context().attempt, stage) end,
    },
  }
  local disarmed, ok, value = pcall(run_armed, endpoint, attempt, pump_apart)
  if not disarmed then ok, value = false, errors.wrap(ok) end
  if ok then ok, value = xpcall(endpoint.finish, errors.wrap, endpoint, value) end
  if not ok then endpoint:fail(value) end
  local ended, problem = xpcall(worker.finish, errors.wrap)
  if ok and not ended then endpoint:fail(problem) end
  endpoint:leave()
end

return local_worker
