-- rtrain/run/sources.lua: collects the code of a run for its record: the script and the modules next to it, in their
-- present state.

local embedded = require 'rtrain._host'
local system = require 'base._system'

local MOST_BYTES = 1000 * 1000 -- largest size of a file

local sources = {}

local function read(path)
  local file = path and io.open(path, 'rb')
  if not file then return nil end
  local text = file:read(MOST_BYTES + 1) or ''
  file:close()
  return #text <= MOST_BYTES and text or nil
end

-- Returns the files of loaded modules below the folder, by name.
local function module_paths(folder)
  local own = {}
  for _, name in ipairs(embedded.module_names()) do own[name] = true end
  local names = {}
  for name in pairs(package.loaded) do
    if type(name) == 'string' and not own[name] then names[#names + 1] = name end
  end
  table.sort(names)
  local paths = {}
  for _, name in ipairs(names) do
    local found = package.searchpath(name, package.path)
    local path = found and system.absolute(found)
    if path and path:sub(1, #folder) == folder then paths[#paths + 1] = path end
  end
  return paths
end

---@param script string path of the script
---@param diff string git's diff since the commit, '' for none
---@return table list of {kind = 'script'|'module'|'diff', path, text}; paths relative to the script's folder
function sources.of(script, diff)
  script = system.absolute(script)
  local folder, name = script:match('^(.*/)([^/]*)$')
  local list = {}
  local function add(kind, path, text) if text then list[#list + 1] = {kind = kind, path = path, text = text} end end
  add('script', name, read(script))
  for _, path in ipairs(module_paths(folder)) do
    if path ~= script then add('module', path:sub(#folder + 1), read(path)) end
  end
  add('diff', '', diff ~= '' and diff or nil)
  return list
end

return sources
