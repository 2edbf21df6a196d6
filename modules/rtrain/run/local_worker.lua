-- rtrain/run/local_worker.lua: local mode: the process that called fit() runs the train function itself.
--
-- It talks to the controller as a worker process does, over a channel of its own, so that reports, checkpoints, retries and
-- the store are the same. The train function is called as it is, not a copy of it: what it changes outside of itself stays
-- changed, which is what one wants for looking into it.

local closure = require 'base._closure'
local errors = require 'base.errors'
local worker = require 'rtrain.worker'

local local_worker = {}

-- Each attempt begins with the config as it was given.
local function fresh(config) return closure.load(closure.dump(config)) end

-- What ends the attempt from outside is raised at any line between these two, once.
local function run_armed(endpoint, attempt, pump)
  endpoint:arm()
  local ok, value = xpcall(worker.run, errors.wrap, attempt, pump)
  endpoint:disarm()
  return ok, value
end

---Runs the train function once, for one attempt. Its errors are the controller's to judge.
---@param fd integer of the event 'local_worker'
---@param job table what the worker runs
---@param pump function takes the run's events; called while the train function waits, and after each report
---@param is_joined? boolean the controller is another process
function local_worker.serve(fd, job, pump, is_joined)
  local has_endpoint, endpoint
  -- What the display and callbacks print is not the train function's.
  local function pump_apart()
    if not has_endpoint then return pump() end
    endpoint:pause_output()
    local ok, problem = xpcall(pump, errors.wrap)
    endpoint:resume_output()
    if not ok then error(problem, 0) end
  end
  has_endpoint, endpoint = pcall(require('rtrain._local').join, fd, pump_apart, is_joined)
  if not has_endpoint then return end  -- the run is being ended: the controller knows why
  local attempt = {
    kind = job.kind, train_loop_per_worker = job.train_loop_per_worker, train_loop_config = fresh(job.train_loop_config),
    datasets = job.worker_datasets, validation_config = job.validation_config, gpus = job.gpus,
    on_nan = job.run_config.failure_config.on_nan, flags = job.flags, metadata = job.metadata,
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
