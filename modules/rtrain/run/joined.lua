-- rtrain/run/joined.lua: fit() in a process of a rank above 0 that another launcher (torchrun) has started.
--
-- The process of rank 0 is the controller: it keeps the run, shows it and writes the store. This one runs the train function
-- in each attempt, and ends as the run does.

local failure = require 'rtrain.run.failure'
local local_worker = require 'rtrain.run.local_worker'
local Result = require 'rtrain.result'

local joined = {}

-- The store has the whole of it; it may be what the run failed at.
local function result_of(ended, job)
  local ok, result = pcall(Result.from_path, ended.path)
  if not ok then result = Result {path = ended.path, best_checkpoints = {}} end
  result.error = ended.error and (result.error or failure.make(ended.error)) or nil
  result.config = job.train_loop_config
  return result
end

---Trains as that rank, and returns the run's Result.
---@param job table what launch.fit makes of the trainer, with `place` and `worker_datasets`
---@return Result
function joined.fit(job)
  local rank_zero = require('rtrain._local').job {
    socket = job.place.socket, rank = job.place.rank, fit = job.fit, timeout_s = job.place.timeout_s}
  while true do
    local fd, ended = rank_zero:next()
    if not fd then return result_of(ended, job) end
    local_worker.serve(fd, job, function() end, true)
  end
end

return joined
