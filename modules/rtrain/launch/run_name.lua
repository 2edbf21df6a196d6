-- rtrain/launch/run_name.lua: the name of a run that was given none: `<script>-<date>-<4 hex>`, in a job `<script>-<job id>`.

local random_hex = require 'base.random_hex'

local run_name = {}

-- Bytes: with a date and digits they are the name of a run, and so of a folder, and in a sweep a tag.
local MOST_OF_SCRIPT, MOST_OF_JOB = 80, 60

-- What stands in a run's name of another text.
local function part(text) return (text:gsub('[^%w_.-]', '_')) end

---@param script string path of the script
---@return string base its name, as a part of a run's name: a long one is cut off
---
---```lua
---local run_name = require 'rtrain.launch.run_name'
---assert(run_name.base 'work/my train.lua' == 'my_train' and #run_name.base(('x'):rep(250) .. '.lua') == 80)
---```
function run_name.base(script)
  -- The store's own files are called rtrain.db…
  local base = part((script:match '([^/]+)$' or 'run'):gsub('%.lua$', '')):gsub('^[.-]+', ''):gsub('^rtrain%.db', 'rtrain_db')
  return base == '' and 'run' or base:sub(1, MOST_OF_SCRIPT)
end

---@param script string path of the script
---@return string name
function run_name.make(script) return ('%s-%s-%s'):format(run_name.base(script), os.date '%Y%m%d', random_hex(2)) end

---The name in a job that a scheduler runs: the same when it starts the job again. The first step and the first run of a
---script have the job's name alone: `train-123`, then `train-123.1` in step 1 and `train-123-2` for a second run.
---@param script string path of the script
---@param allocation Allocation with `job_id`
---@param index integer which of the script's runs without a name it is, from 1
---@return string name
function run_name.of_job(script, allocation, index)
  -- Slurm numbers the steps of a job from 0 again when it is requeued; what mpirun calls its starts is new each time.
  local is_later_step = allocation.engine == 'slurm' and allocation.step_id ~= '0'
  local job = is_later_step and ('%s.%s'):format(allocation.job_id, allocation.step_id) or allocation.job_id
  local name = ('%s-%s'):format(run_name.base(script), part(job):sub(1, MOST_OF_JOB))
  return index > 1 and ('%s-%d'):format(name, index) or name
end

return run_name
