-- rtrain/project/requires.lua: finds the files of the modules that a script requires, from its text, without running
-- it.

local errors = require 'base.errors'
local host = require 'rtrain._host'
local read_file = require 'base.read_file'
local system = require 'base._system'

local requires = {}

local function read(path)
  local text, reason = read_file(path)
  return text or errors.raise('usage', ('bundle: cannot read %s'):format(reason))
end

-- Returns the names in require 'a', require("b"), in the order of the text.
local function names_in(text)
  local names = {}
  for _, name in text:gmatch '%f[%w_]require%s*%(?%s*(["\'])([%w_%.%-/]+)%1' do names[#names + 1] = name end
  return names
end

---Returns the modules that a script and its modules require and that rtrain does not have, each once. A name that is
---only known at run time (`require(name)`) is not found.
---@param script string path of the script
---@return {name: string, path: string, place: string}[] modules place: path at which `require` finds it below the
---  script's folder
---
---```lua
---local requires = require 'rtrain.project.requires'
---local path = os.tmpname()
---local file = assert(io.open(path, 'w'))
---file:write "local torch = require 'torch'"
---file:close()
---assert(#requires.of(path) == 0) -- torch is inside rtrain
---os.remove(path)
---```
function requires.of(script)
  script = system.absolute(script)
  local folder = script:match '^(.*)/[^/]*$'
  local search = ('%s/?.lua;%s/?/init.lua;%s'):format(folder, folder, package.path)
  local own = {}
  for _, name in ipairs(host.module_names()) do own[name] = true end
  local found, modules, texts = {}, {}, {read(script)}
  while #texts > 0 do
    for _, name in ipairs(names_in(table.remove(texts, 1))) do
      local path = not own[name] and not found[name] and package.searchpath(name, search)
      if path then
        found[name] = true
        local place = name:gsub('%.', '/') .. (path:match '/init%.lua$' and '/init.lua' or '.lua')
        modules[#modules + 1] = {name = name, path = system.absolute(path), place = place}
        texts[#texts + 1] = read(path)
      end
    end
  end
  return modules
end

return requires
