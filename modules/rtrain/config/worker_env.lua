-- rtrain/config/worker_env.lua: environment variables of the workers, in the two spellings of RunConfig.

local errors = require 'base.errors'

local worker_env = {}

---Returns the error in a map of variables as text, or nil.
---@param value any
---@return string? problem
function worker_env.problem(value)
  if type(value) ~= 'table' then return 'expected a table name → value' end
  for name, item in next, value do
    if type(name) ~= 'string' or name == '' or name:find '[=%z]' then
      return ("%s is not a name of a variable"):format(type(name) == 'string' and ("'%s'"):format(name) or tostring(name))
    end
    if type(item) ~= 'string' and type(item) ~= 'number' or type(item) == 'string' and item:find '%z' then
      return ('%s is a %s, expected a string'):format(name, type(item))
    end
  end
end

---Returns the error in Ray's spelling, {env_vars = {…}}, as text, or nil.
---@param value any
---@return string? problem
function worker_env.runtime_problem(value)
  if type(value) ~= 'table' then return 'expected a table {env_vars = {name = value}}' end
  for name in next, value do
    if name ~= 'env_vars' then
      return ("unknown field '%s'%s: workers run this executable on this machine, only env_vars applies"):format(
        tostring(name), errors.suggestion(tostring(name), {'env_vars'}))
    end
  end
  return worker_env.problem(value.env_vars)
end

---Returns the variables of a RunConfig, as strings. A value of worker_env takes precedence over worker_runtime_env.
---@param run_config RunConfig
---@return table<string, string>
function worker_env.of(run_config)
  local out = {}
  for name, value in next, (run_config.worker_runtime_env or {}).env_vars or {} do out[name] = tostring(value) end
  for name, value in next, run_config.worker_env or {} do out[name] = tostring(value) end
  return out
end

return worker_env
