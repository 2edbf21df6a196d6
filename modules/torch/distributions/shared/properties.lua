-- torch/distributions/shared/properties.lua: fields of an instance that a function computes when they are read, as
-- properties in Python.

local torch = require 'torch'

local properties = {}

-- The object that a class holds in place of the field's value.
local Property = {__name = 'property'}
properties.Property = Property

---Returns a property that is computed at each access.
---@param get fun(self: table): any
---@return table property to put into a class that has `__index = properties.index`
---
---```lua
---local class, properties = require 'base.class', require 'torch.distributions.shared.properties'
---local Circle = class('Circle')
---Circle.__index = properties.index
---Circle.area = properties.property(function(self) return 3 * self.radius ^ 2 end)
---local circle = Circle()
---circle.radius = 2
---assert(circle.area == 12)
---```
function properties.property(get) return setmetatable({_get = get}, Property) end

---Returns a property that is computed once, with gradients, and then kept. PyTorch equivalent:
---torch.distributions.utils.lazy_property.
---@param get fun(self: table): any
---@return table property
function properties.lazy_property(get) return setmetatable({_get = get, _is_lazy = true}, Property) end

---Adds fields to a class that are read from an object which its instances hold.
---@param of table class
---@param object string name of the field with this object
---@param names string[]
function properties.delegate(of, object, names)
  for _, name in ipairs(names) do
    of[name] = properties.property(function(self) return self[object][name] end)
  end
end

---Returns whether the class computes the field once and the field has not been read or set yet.
---@param self table
---@param name string
---@return boolean
function properties.is_pending(self, name)
  if rawget(self, name) ~= nil then return false end
  local value = getmetatable(self)[name]
  return type(value) == 'table' and rawget(value, '_is_lazy') == true
end

---The `__index` metamethod of classes with such properties.
---@param self table
---@param name any
---@return any
function properties.index(self, name)
  local value = getmetatable(self)[name]
  local get = type(value) == 'table' and rawget(value, '_get')
  if not get then return value end
  if not rawget(value, '_is_lazy') then return get(self) end
  local made = torch.enable_grad(get, self)
  rawset(self, name, made)
  return made
end

return properties
