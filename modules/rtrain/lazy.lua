-- rtrain/lazy.lua: a module whose files are read when the first of their names is used.

local args = require 'rtrain.args'

local lazy = {}

---@class LazyParts
---@field files? table[] lists of a file's module name and the fields that its table gives
---@field modules? table<string, string> field → module that is its value
---@field later? table names that later versions bring, as in args.no_such

-- Field → {module, field}; without a field the module itself.
local function index_of(parts)
  local place_of, names = {}, {}
  for name, module in next, parts.modules or {} do
    place_of[name] = {module}
    names[#names + 1] = name
  end
  for _, entry in ipairs(parts.files or {}) do
    for i = 2, #entry do
      place_of[entry[i]] = {entry[1], entry[i]}
      names[#names + 1] = entry[i]
    end
  end
  table.sort(names)
  return place_of, names
end

---@param owner string the module's name in messages: 'torch.nn'
---@param parts LazyParts
---@return table module its fields are filled in as they are used; an unknown one is an error
function lazy.module(owner, parts)
  local place_of, names = index_of(parts)
  return setmetatable({}, {
    __index = function(self, name)
      if type(name) ~= 'string' then return nil end
      local place = place_of[name]
      if not place then args.no_such(owner, name, names, parts.later) end
      local found = require(place[1])
      if place[2] then found = found[place[2]] end
      rawset(self, name, found)
      return found
    end,
  })
end

return lazy
