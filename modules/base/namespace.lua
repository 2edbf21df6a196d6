-- base/namespace.lua: a table that loads the files of its fields at their first use and raises an error for unknown
-- names.

local args = require 'base.args'

---@class NamespaceParts
---@field files? table[] lists of a file's module name and the fields that its table gives
---@field modules? table<string, string> field → module that is its value
---@field call? function called when the namespace is called; it gets the arguments without the namespace
---@field absent? table names that this version does not have, as in args.no_such

-- Returns field → {module, field}; without a field the module itself.
local function places_of(parts)
  local place_of = {}
  for name, module in next, parts.modules or {} do place_of[name] = {module} end
  for _, entry in ipairs(parts.files or {}) do
    for i = 2, #entry do place_of[entry[i]] = {entry[1], entry[i]} end
  end
  return place_of
end

local function names_of(self, place_of)
  local names = {}
  for name in next, place_of do names[#names + 1] = name end
  for name in next, self do
    if not place_of[name] then names[#names + 1] = tostring(name) end
  end
  table.sort(names)
  return names
end

---@param owner string its name in messages: 'torch.nn'
---@param parts? NamespaceParts parts that are loaded at their first use
---@param fields? table the initial fields
---@return table namespace the table of fields; an unknown name is an error
local function namespace(owner, parts, fields)
  parts = parts or {}
  local place_of = places_of(parts)
  local call = parts.call
  return setmetatable(fields or {}, {
    __tostring = function() return ("module '%s'"):format(owner) end,
    __call = call and function(_, ...) return call(...) end,
    __function = call,
    -- For documentation and completion.
    __names = function(self) return names_of(self, place_of) end,
    -- Returns the module of a name, and its operator, without loading LibTorch.
    __place = function(name) return place_of[name] and place_of[name][1] end,
    __operators = function(name)
      local place = place_of[name]
      return place and place[1] == 'torch' and place[2] or nil
    end,
    __index = function(self, name)
      if type(name) ~= 'string' then return nil end
      local place = place_of[name]
      if not place then args.no_such(owner, name, names_of(self, place_of), parts.absent) end
      local found = require(place[1])
      if place[2] then found = found[place[2]] end
      rawset(self, name, found)
      return found
    end,
  })
end

return namespace
