-- base/member_names.lua: lists the names of the members of a Lua object.

local class = require 'base.class'
local ordered = require 'base.ordered'

local function add_names(names, from)
  for name in next, from do
    if type(name) == 'string' and name:sub(1, 1) ~= '_' then names[#names + 1] = name end
  end
end

---Returns the object's own fields, then the methods of its class. A class whose objects keep their fields elsewhere
---defines `__own_names`, which takes the object and returns two lists: its names, and the names to show.
---@param object table|userdata
---@return string[] names
---@return string[] listed the names of the object's contents
return function(object)
  local names, of = {}, class.of(object) or class.is_class(object) and object or nil
  if of == nil then
    names = ordered.names_of(object)
    return names, names
  end
  local listed
  if of.__own_names and of ~= object then names, listed = of.__own_names(object) end
  while of do
    add_names(names, of)
    of = rawget(of, '__base')
  end
  table.sort(names)
  return names, listed or {}
end
