-- torch/nn/list.lua: the common base of Sequential, ModuleList and ParameterList.
--
-- Lists keep their items at the integer keys 1…n of the table itself, so that `#list`, `ipairs(list)` and `list[i]`
-- work. Before anything traverses the module, the items are registered under the names '0', '1', … of state_dict
-- (`_item_names`).

local class = require 'base.class'
local errors = require 'base.errors'
local list_length = require 'base.list_length'
local Module = require('torch.nn.module').Module

local List = Module:extend('List')

function List.__new(of)
  local object = Module.__new(of)
  rawset(object, '_item_names', {})
  return object
end

function List.__index(self, name)
  if name == 0 then
    errors.raise('argument', ('%s counts from 1: the first item is [1]'):format(class.of(self).__name))
  end
  return Module.__index(self, name)
end

-- Returns the value to store; a subclass may refuse it. The index, if any, is for the message.
function List:_checked(value) return value end

local function put(self, index, name, value)
  value = self:_checked(value, index)
  Module.__newindex(self, name, value)
  rawset(self, index, value)
  self._item_names[index] = name
end

function List.__newindex(self, name, value)
  if type(name) ~= 'number' then return Module.__newindex(self, name, value) end
  if name ~= #self + 1 then
    errors.raise('argument', ('%s has %d items: index %s is not one of them, nor the next'):format(
      class.of(self).__name, #self, tostring(name)))
  end
  put(self, name, tostring(#self), value)
end

---Adds an item under a separate name.
---@param name string
---@param value any
function List:_append_named(name, value) put(self, #self + 1, name, value) end

---Replaces the item with this name.
---@param name string
---@param value any
function List:_set(name, value)
  self:_sync()
  for index, other in ipairs(self._item_names) do
    if other == name then return put(self, index, name, value) end
  end
  errors.raise('argument', ("%s has no item '%s'"):format(class.of(self).__name, name))
end

-- Registers items that were replaced by plain assignment, which a table cannot intercept.
function List:_sync()
  local names = self._item_names
  for index = 1, math.max(#names, #self) do
    local value, name = rawget(self, index), names[index] or tostring(index - 1)
    if value == nil then
      self:_forget(name)
      names[index] = nil
    elseif self._fields[name] ~= value then
      put(self, index, name, value)
    end
  end
end

-- Returns the items as a plain list.
local function items_of(list)
  local out = {}
  for i = 1, #list do out[i] = rawget(list, i) end
  return out
end

-- Replaces all items; the names are renumbered from 0, as after `del` in Python.
local function refill(self, items)
  self:_sync()
  for index, name in ipairs(self._item_names) do
    self:_forget(name)
    rawset(self, index, nil)
  end
  rawset(self, '_item_names', {})
  for index, value in ipairs(items) do put(self, index, tostring(index - 1), value) end
end

local function check_index(self, index, last)
  if type(index) == 'number' and index >= 1 and index <= last and index % 1 == 0 then return end
  errors.raise('argument', ('%s has %d items, counted from 1: there is no index %s'):format(class.of(self).__name, #self,
    tostring(index)))
end

---Adds an item at the end.
---@param item any
---@return nn.Module self
function List:append(item)
  self[#self + 1] = item
  return self
end

---Adds all items of a list. On the class: `Class:extend('Name')` makes a subclass.
---@param items any[]|string
---@return nn.Module self
function List:extend(items)
  if class.is_class(self) then return class.extend(self, items) end
  if type(items) ~= 'table' then
    errors.raise('argument', ('%s:extend: expected a list, got %s'):format(class.of(self).__name, type(items)))
  end
  if not class.of(items) then list_length(class.of(self).__name, items) end
  for _, item in ipairs(items_of(items)) do self:append(item) end
  return self
end

---Inserts an item before the one at the index.
---@param index integer from 1; the number of items + 1 appends
---@param item any
---@return nn.Module self
function List:insert(index, item)
  check_index(self, index, #self + 1)
  local items = items_of(self)
  table.insert(items, index, self:_checked(item))
  refill(self, items)
  return self
end

---Removes an item and returns it.
---@param index? integer from 1; default: the last
---@return any item
function List:pop(index)
  index = index or #self
  check_index(self, index, #self)
  local items = items_of(self)
  local item = table.remove(items, index)
  refill(self, items)
  return item
end

---Returns the items first … last in a list of the same class: Python's `list[a:b]`.
---@param first? integer from 1, negative from the end; default 1
---@param last? integer inclusive; default the last
---@return nn.Module
function List:slice(first, last)
  self:_sync()
  local count, new = #self, class.of(self).__new(class.of(self))
  first, last = first or 1, last or count
  if first < 0 then first = first + count + 1 end
  if last < 0 then last = last + count + 1 end
  for i = math.max(first, 1), math.min(last, count) do new:_append_named(self:_name_in_slice(i, #new), self[i]) end
  return new
end

-- Returns the name of item i in a slice that already has `taken` items.
function List:_name_in_slice(_, taken) return tostring(taken) end

---@return integer
function List:len() return #self end

return List
