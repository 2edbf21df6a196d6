-- rtrain/launch/run_name.lua: the default name of a run: `<script>-<date>-<4 hex>`, in a job `<script>-<job id>`.

local random_hex = require 'base.random_hex'

local run_name = {}

-- Limits in bytes: with a date and digits these parts form the name of a run, which is a folder and in a sweep a tag.
local MOST_OF_SCRIPT, MOST_OF_JOB = 80, 60

-- Returns the text with only the characters that a run's name may have.
local function part(text) return (text:gsub('[^%w_.-]', '_')) end

---@param script string path of the script
---@return string base its name, as a part of a run's name, cut to a limit
---
---```lua
---local run_name = require 'rtrain.launch.run_name'
---assert(run_name.base 'work/my train.lua' == 'my_train' and #run_name.base(('x'):rep(250) .. '.lua') == 80)
---```
function run_name.base(script)
  -- The names rtrain.db… are reserved for the store's own files.
  local base = part((script:match '([^/]+)$' or 'run'):gsub('%.lua$', '')):gsub('^[.-]+', ''):gsub('^rtrain%.db', 'rtrain_db')
  return base == '' and 'run' or base:sub(1, MOST_OF_SCRIPT)
end

---@param script string path of the script
---@return string name
function run_name.make(script) return ('%s-%s-%s'):format(run_name.base(script), os.date '%Y%m%d', random_hex(2)) end

---Returns the name in a job of a scheduler: the same when the job is started again. The first step and the first run of
---a script have only the job's name: `train-123`, then `train-123.1` in step 1 and `train-123-2` for a second run.
---@param script string path of the script
---@param allocation Allocation with `job_id`
---@param index integer number of this run among the script's runs without a name, from 1
---@return string name
function run_name.of_job(script, allocation, index)
  -- Slurm numbers the steps of a requeued job from 0 again; the step ids of mpirun are new each time.
  local is_later_step = allocation.engine == 'slurm' and allocation.step_id ~= '0'
  local job = is_later_step and ('%s.%s'):format(allocation.job_id, allocation.step_id) or allocation.job_id
  local name = ('%s-%s'):format(run_name.base(script), part(job):sub(1, MOST_OF_JOB))
  return index > 1 and ('%s-%d'):format(name, index) or name
end

return run_name
