-- rtrain/backends/backend_tasks.lua: runs, in a worker, the functions that its trainer's Backend executes on it.

local closure = require 'base._closure'
local errors = require 'base.errors'

local backend_tasks = {}

local MAX_BYTES = 256 * 1024

-- Runs the function and returns its result in the form that the script expects.
local function run(bytes)
  local ok, value = xpcall(function()
    local task = closure.load(bytes)
    local packed = closure.dump {value = (task.fn(unpack(task.args, 1, task.count)))}
    if #packed > MAX_BYTES then
      errors.raise('argument', ('the value that it returned has %d bytes when serialized, the limit is %d'):format(#packed,
        MAX_BYTES))
    end
    return packed
  end, errors.wrap)
  if ok then return {ok = true, value = value} end
  return {ok = false, code = value.code, message = tostring(value)}
end

---Runs the functions that the Backend executes on this worker, until the Backend's function of that name returns.
---@param host table rtrain._worker
---@param backend? {stages: table<string, boolean>, timeout_s: number, call_here: function?}
---@param stage string 'on_start'
---Raises the error of the Backend's function.
function backend_tasks.stage(host, backend, stage)
  if not backend or not backend.stages[stage] then return end
  if backend.call_here then return backend.call_here(stage) end
  local result
  repeat
    -- The script may execute several functions one after the other, and each may take timeout_s.
    local answer = host.ask_script('backend', {stage = stage, result = result}, 2 * backend.timeout_s + 60,
      'BackendConfig.timeout_s')
    if answer.task then result = run(answer.task) end
  until answer.go
end

return backend_tasks
