-- rtrain/launch/site.lua: loads a site's own launcher: a Lua file that returns a table as described in rtrain.launch.

local errors = require 'base.errors'
local system = require 'base._system'

local site = {}

local FUNCTIONS = {'detect', 'allocation', 'render', 'submit'}

---Returns whether a launcher's name is the name of a file.
---@param name string
---@return boolean
function site.is_file(name) return name:find '%.lua$' ~= nil or name:find('/', 1, true) ~= nil end

local function refuse(path, text) errors.raise('config', ('launcher %s: %s'):format(path, text)) end

---Returns the launcher of a file, whose code gets its own absolute path as `...`.
---@param path string
---@return table launcher
---Errors: 'config' for a file that cannot be read, has an error, or returns something else.
function site.load(path)
  local chunk, problem = loadfile(path)
  if chunk == nil then refuse(path, problem) end
  local ok, launcher = xpcall(chunk, errors.wrap, system.absolute(path))
  if not ok then refuse(path, launcher.message) end
  if type(launcher) ~= 'table' then refuse(path, 'the file returns ' .. type(launcher) .. ', expected a table') end
  launcher.name = launcher.name or path:match '([^/]+)%.lua$' or path
  for _, name in ipairs(FUNCTIONS) do
    local kind = type(launcher[name])
    local is_needed = name == 'detect' or name == 'allocation'
    if kind ~= 'function' and (is_needed or kind ~= 'nil') then
      refuse(path, ('its %s is %s, expected a function'):format(name, kind))
    end
  end
  return launcher
end

return site
