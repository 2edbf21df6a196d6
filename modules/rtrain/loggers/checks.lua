-- rtrain/loggers/checks.lua: checks of the loggers' options: each returns what is wrong with a value, or nil.

local checks = {}

---@param value any
---@return string? problem
function checks.text(value)
  if type(value) ~= 'string' or value == '' then return 'expected a string' end
end

---@param value any an http or https URL
---@return string? problem
function checks.url(value)
  if type(value) ~= 'string' or not value:find '^https?://[^/]' then
    return 'expected the URL of a server: http://HOST:PORT'
  end
end

---@param value any a table of strings by name
---@return string? problem
function checks.texts(value)
  local problem = 'expected a table of strings by name'
  if type(value) ~= 'table' then return problem end
  for name, text in next, value do
    if type(name) ~= 'string' or type(text) ~= 'string' then return problem end
  end
end

---@param value any
---@return string? problem
function checks.boolean(value)
  if type(value) ~= 'boolean' then return 'expected true or false' end
end

return checks
