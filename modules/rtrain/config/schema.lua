-- rtrain/config/schema.lua: builds config classes from a name and a list of fields, each with a default and a check.
--
-- Two kinds of fields are known and refused: `absent` (Ray has it, this version does not) raises code 'unsupported'
-- unless the value is the default; `removed` (Ray refuses it too) raises code 'config', as unknown names do. All checks
-- run when the config is made.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local show = require 'base.shown'

local schema = {}

-- The base class of all configs.
local Config = class('Config')

schema.show = show

local function refuse_unknown(self, given)
  local known, names = {}, {}
  for _, field in ipairs(self._fields) do
    known[field[1]] = field
    if not field.removed then names[#names + 1] = field[1] end
  end
  for name in next, given do
    local field = known[name]
    if field and field.removed then
      errors.raise('config', ('%s.%s is not there any more: %s'):format(self.__name, name, field.removed))
    end
  end
  args.options(given, names, self.__name, 'config')
end

local function same(a, b)
  return a == b or (type(a) == 'table' and next(a) == nil and class.of(a) == nil and b == nil)
end

local function check_field(self, field, value)
  local name = ('%s.%s'):format(self.__name, field[1])
  if same(value, field.default) then return end
  if field.absent then
    errors.raise('unsupported', ('%s = %s: %s'):format(name, show(value), field.absent))
  end
  if field.check then
    local problem, code = field.check(value)
    if problem then errors.raise(code or 'config', ('%s = %s: %s'):format(name, show(value), problem)) end
  end
end

---Takes the fields from a table, fills in the defaults and checks each.
---@param given? table
function Config:init(given)
  if given ~= nil and type(given) ~= 'table' then
    errors.raise('config', ('%s takes one table of fields, got %s'):format(self.__name, show(given)))
  end
  given = given or {}
  refuse_unknown(self, given)
  self._given = {}
  for _, field in ipairs(self._fields) do
    local value = given[field[1]]
    self._given[field[1]] = value ~= nil
    if value == nil then value = field.default end
    check_field(self, field, value)
    self[field[1]] = value
  end
  if self._validate then self:_validate() end
end

---Returns the fields in order as plain data, for the run's record. Leaves out nil, functions, objects, and fields with
---in_record = false.
---@return table map
function Config:to_table()
  local out = ordered.new()
  for _, field in ipairs(self._fields) do
    local value = self[field[1]]
    if class.is(value, Config) then
      out[field[1]] = value:to_table()
    elseif type(value) ~= 'function' and type(value) ~= 'userdata' and field.in_record ~= false then
      out[field[1]] = value
    end
  end
  return out
end

---Returns the same without the fields that have their default value, except the fields named in `always`.
---@param always table<string, boolean>
---@return table map
function Config:to_short_table(always)
  local out = self:to_table()
  for _, field in ipairs(self._fields) do
    if not always[field[1]] and same(self[field[1]], field.default) then out[field[1]] = nil end
  end
  return out
end

-- Returns whether the caller gave the field a value, even if that is the default.
function Config:_was_given(name) return self._given[name] end

---Returns a config of the same class with some fields replaced, and checks it.
---@param changes table
---@return table config
function Config:with(changes)
  local given = {}
  for _, field in ipairs(self._fields) do
    local value = self[field[1]]
    if changes[field[1]] ~= nil then value = changes[field[1]] end
    given[field[1]] = value
  end
  local new = class.of(self)(given)
  for _, field in ipairs(self._fields) do
    new._given[field[1]] = self:_was_given(field[1]) or changes[field[1]] ~= nil
  end
  return new
end

---Creates a config class.
---@param name string
---@param fields table[] {name, default=, check=function(value) → problem, code, absent=reason, removed=reason, in_record=}
---@return table class
function schema.define(name, fields)
  local new = Config:extend(name)
  new._fields = fields
  return new
end

---Returns the value as a config of that class; a plain table is taken as its fields.
---@param value any
---@param wanted table config class
---@param what string names the field in messages
---@return table config
function schema.coerce(value, wanted, what)
  if value == nil then return wanted {} end
  if class.is(value, wanted) then return value end
  if type(value) == 'table' and class.of(value) == nil then return wanted(value) end
  local found = class.of(value)
  errors.raise('config', ('%s: expected a %s, got %s'):format(what, wanted.__name, found and found.__name or show(value)))
end

local function is_integer(value)
  return type(value) == 'number' and value == math.floor(value) and math.abs(value) < 2 ^ 53
end

-- The checks below take a value, or return a function that takes one. They return the error in it as text, or nil.

---Returns a check for an integer of at least `least`.
---@param least integer
---@param most? integer
---@return fun(value: any): string?
function schema.integer(least, most)
  return function(value)
    if not is_integer(value) then return 'expected an integer' end
    if value < least then return ('must be at least %d'):format(least) end
    if most and value > most then return ('must be at most %d'):format(most) end
  end
end

---Checks for a finite number above 0.
---@param value any
---@return string? problem
function schema.positive(value)
  if type(value) ~= 'number' or value ~= value or value <= 0 or value == math.huge then
    return 'expected a number above 0'
  end
end

---Checks for true or false.
---@param value any
---@return string? problem
function schema.boolean(value)
  if type(value) ~= 'boolean' then return 'expected true or false' end
end

---Checks for a function.
---@param value any
---@return string? problem
function schema.callback(value)
  if type(value) ~= 'function' then return 'expected a function' end
end

---Checks for a string that is not empty.
---@param value any
---@return string? problem
function schema.string(value)
  if type(value) ~= 'string' or value == '' then return 'expected a string' end
end

---Returns a check for one of these strings.
---@param ... string
---@return fun(value: any): string?
function schema.one_of(...)
  local names = {...}
  return function(value)
    for _, name in ipairs(names) do
      if value == name then return nil end
    end
    local hint = errors.suggestion(tostring(value), names):match '^: did you mean.*'
    return ("expected '%s'%s"):format(table.concat(names, "' or '"), hint or '')
  end
end

return schema
