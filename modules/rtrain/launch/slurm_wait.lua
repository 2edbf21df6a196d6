-- rtrain/launch/slurm_wait.lua: `rtrain submit slurm --wait`: shows the output of a job until it has ended.

local errors = require 'base.errors'
local program = require 'rtrain.launch.submit.program'
local system = require 'base._system'

local slurm_wait = {}

local PAUSE = 'sleep 1'  -- between two reads
local PAUSE_TIMEOUT_S = 10
local PATIENCE_S = 600  -- limit without an answer of Slurm
local PART_BYTES = 65536

local function pause()
  local command = system.start_command(PAUSE)
  command:finish(PAUSE_TIMEOUT_S)
  command:release()
end

-- Shows the file's contents after that position, and returns its end. A job that has not begun has no file.
local function show(path, from)
  local file = io.open(path, 'rb')
  if file == nil then return from end
  file:seek('set', from)
  for part in function() return file:read(PART_BYTES) end do
    io.write(part)
    from = from + #part
  end
  file:close()
  io.flush()
  return from
end

-- Returns the exit code as a shell does: for a signal 128 plus its number. A job cancelled before it began has 0.
local function exit_code_of(job)
  local answer = program.run({'scontrol', 'show', 'job', job}, nil, 'wait where Slurm is installed')
  local state = answer:match 'JobState=(%S+)'
  local code, signal = answer:match 'ExitCode=(%d+):(%d+)'
  code, signal = tonumber(code), tonumber(signal)
  if state == nil or code == nil then
    errors.raise('environment', ('job %s has ended, and scontrol does not say how: %s'):format(job, answer))
  end
  if signal > 0 then return 128 + signal end
  return state ~= 'COMPLETED' and code == 0 and 1 or code
end

---Shows the job's output as it is written.
---@param job string
---@param path string the file of its output
---@param is_gone fun(job: string): boolean? returns nil if Slurm does not answer
---@return integer code exit code of the job
---Errors: 'environment' if Slurm does not answer for ten minutes, or has forgotten the job.
function slurm_wait.wait(job, path, is_gone)
  local from, answered = 0, system.monotonic()
  while true do
    local gone = is_gone(job)
    from = show(path, from)
    if gone then return exit_code_of(job) end
    if gone == false then answered = system.monotonic() end
    if system.monotonic() - answered > PATIENCE_S then
      errors.raise('environment', ('squeue has not told about job %s for %d s; the job may go on: squeue --job %s'):format(
        job, PATIENCE_S, job))
    end
    pause()
  end
end

return slurm_wait
