-- rtrain/run/joined.lua: fit() in a process of a rank above 0 that a launcher (torchrun, Slurm, …) has started.
--
-- The process of rank 0 is the controller: it keeps the run, shows it and writes the store. This process runs the train
-- function in each attempt, and ends with the run. If it is on another node than rank 0, it connects to the agent
-- there.

local failure = require 'rtrain.results.failure'
local local_worker = require 'rtrain.run.local_worker'
local Result = require 'rtrain.results.result'

local joined = {}

-- Reads the result from the store, if possible: the store may be why the run failed.
local function result_of(ended, job)
  local ok, result = pcall(Result.from_path, ended.path)
  if not ok then result = Result {path = ended.path, best_checkpoints = {}} end
  result.error = ended.error and (result.error or failure.make(ended.error)) or nil
  result.config = job.train_loop_config
  return result
end

-- Ends this process because the process of the controller has ended without this fit().
local function leave(rank, exit_code)
  io.stderr:write(('rtrain: rank %d: the job is over, with exit code %d\n'):format(rank, exit_code))
  os.exit(exit_code)
end

---Trains as that rank, and returns the run's Result.
---@param job table job of launch.fit, with `place` and `worker_datasets`
---@return Result
function joined.fit(job)
  local place = job.place
  local run = require('rtrain._local').job {
    socket = place.socket, rank = place.rank, local_rank = place.local_rank, is_remote = place.is_remote, fit = job.fit,
    timeout_s = place.timeout_s}
  while true do
    local fd, ended, exit_code = run:next()
    if exit_code then leave(place.rank, exit_code) end
    if not fd then return result_of(ended, job) end
    local_worker.serve(fd, job, function() end, true)
  end
end

return joined
