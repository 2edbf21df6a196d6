-- rtrain/repl/reload.lua: `:reload`: reads the modules of a folder again into the existing tables of the session.

local host = require 'rtrain._host'

-- Returns the names of the modules that were loaded before the first line: Lua's own libraries, and modules of rtrain.
local function names_before()
  local names = {}
  for name in next, package.loaded do names[name] = true end
  return names
end

-- Returns name → file of the modules that were loaded from the folder.
local function modules_of(folder, before)
  local names, path_of = {}, {}
  for name in next, package.loaded do
    local path = not before[name] and not host.module_text(name)
      and package.searchpath(name, ('%s/?.lua;%s/?/init.lua'):format(folder, folder))
    if path then names[#names + 1], path_of[name] = name, path end
  end
  table.sort(names)
  return names, path_of
end

-- Replaces the contents of the old table by those of the new one, so that existing references, also of objects to their
-- class, see the new code.
local function renewed(old, new)
  if type(old) ~= 'table' or type(new) ~= 'table' then return new end
  for key in next, old do rawset(old, key, nil) end
  for key, value in next, new do rawset(old, key, rawequal(value, new) and old or value) end
  return setmetatable(old, getmetatable(new))
end

-- Returns a searcher that runs before all others, so that a module that requires another one gets its renewed table.
local function searcher(path_of, old)
  return function(name)
    if not path_of[name] then return nil end
    local chunk, problem = loadfile(path_of[name])
    if not chunk then error(problem, 0) end
    return function(...)
      local new = chunk(...)
      return renewed(old[name], new == nil and true or new)
    end
  end
end

-- Replaces globals that held a function or another value of a module by the new value.
local function renew_globals(old)
  for name, before in next, old do
    for key, value in next, _G do
      if rawequal(value, before) and before ~= true then rawset(_G, key, package.loaded[name]) end
    end
  end
end

---Returns the function that `:reload` calls, for a session that begins now.
---@param folder string
---@return fun(): string[] reload returns the names of the modules that were read again; if one raises an error, it
---  and the later ones are unchanged
return function(folder)
  local before = names_before()
  return function()
    local names, path_of = modules_of(folder, before)
    local old = {}
    for _, name in ipairs(names) do
      old[name], package.loaded[name] = package.loaded[name], nil
    end
    table.insert(package.loaders, 1, searcher(path_of, old))
    local done, problem = pcall(function()
      for _, name in ipairs(names) do require(name) end
    end)
    table.remove(package.loaders, 1)
    for _, name in ipairs(names) do
      if package.loaded[name] == nil then package.loaded[name] = old[name] end
    end
    renew_globals(old)
    if not done then error(problem, 0) end
    return names
  end
end
