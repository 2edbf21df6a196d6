-- base/class.lua: classes with single inheritance, for nn.Module, Dataset, the configs and others.
--
-- A class is the metatable of its instances, and all classes share one metatable (class.meta), so that a user's class
-- is sent to workers as an ordinary table, a library class by name. Calling a class makes an instance through its
-- `__new` (which the base defines) and then calls `init`, which a subclass may define; deeper classes call
-- Base.init(self, …). Classes made with `{userdata = true}` have userdata instances, because LuaJIT supports `__len`
-- and `__gc` only for userdata.

local class = {}

-- The metatable of every class: class methods are defined here.
class.meta = {__name = 'class'}
local meta = class.meta

local function inherit_metamethods(new, base)
  for _, name in ipairs{'__index', '__newindex', '__call', '__tostring', '__len', '__gc', '__eq', '__lt', '__le',
                        '__add', '__mul', '__concat', '__pack', '__new'} do
    local value = rawget(base, name)
    if value ~= base then rawset(new, name, value) end
  end
end

-- Class → finaliser of its instances. LuaJIT raises the error of a finaliser in whatever code is allocating at that
-- moment.
local finalisers = setmetatable({}, {__mode = 'k'})

local function finaliser(of)
  if of.__gc and not finalisers[of] then
    finalisers[of] = function(self) pcall(of.__gc, self) end
  end
  return finalisers[of]
end

-- Returns a userdata instance whose fields are in a table (of class C) behind its own metatable.
local function new_userdata(of)
  local object = newproxy(true)
  local fields = setmetatable({}, of)
  local object_meta = getmetatable(object)
  object_meta.__index, object_meta.__newindex = fields, fields
  local item = of.__item
  if item then
    object_meta.__index = function(self, key)
      if type(key) == 'number' then return item(self, key) end
      return fields[key]
    end
  end
  object_meta.__fields = fields
  object_meta.__class = of
  for _, name in ipairs{'__len', '__call', '__tostring'} do object_meta[name] = of[name] end
  object_meta.__gc = finaliser(of)
  object_meta.__pack = of.__pack or class.pack
  return object
end

-- Checked method in a class → the original function.
local unchecked = setmetatable({}, {__mode = 'k'})

local function source_of(fn) return debug.getinfo(fn, 'S').source end

-- Returns whether a class checks the self of its methods: public methods of rtrain's classes, and methods of a script's
-- class that its base names in `__checked_methods`. rtrain's own forward is not checked, since it is called for each
-- sample; a wrong self raises an error in its body.
local function is_to_check(of, name, value)
  if type(value) ~= 'function' or type(name) ~= 'string' or name:sub(1, 1) == '_' then return false end
  if debug.getlocal(value, 1) ~= 'self' then return false end
  if source_of(value):sub(1, 10) == '@rtrain://' then return name ~= 'init' and name ~= 'forward' end
  local names = of.__checked_methods
  return names ~= nil and names[name] == true
end

-- Returns whether the object's class has a method of that name: a class may call another class's method with its own
-- object.
local function has_method(object, name)
  local of = class.of(object)
  while of do
    if rawget(of, name) ~= nil then return true end
    of = rawget(of, '__base')
  end
  return false
end

-- Returns whether a class may be the self: in `extend`, and in the methods named in `__class_methods`.
local function is_class_method(of, name)
  local names = of.__class_methods
  return name == 'extend' or names ~= nil and names[name] == true
end

local function check_self(name, self)
  if has_method(self, name) then return end
  if class.is_class(self) then
    if is_class_method(self, name) then return end
    require('base.errors').raise('argument', ("%s is a class: make one, local object = %s(…), and call object:%s(…)"):format(
      self.__name, self.__name, name))
  end
  require('base.errors').raise('argument', ("'%s' is a method: write object:%s(...)"):format(name, name))
end

---Returns the method with a check of its first argument: a method that was called with a dot gets another object, or
---none.
---@param name string
---@param method fun(self: any, ...: any): any
---@param of? table the class whose method it is; any object of this class passes the check
---@return function
function class.checked(name, method, of)
  local function call(self, ...)
    if of == nil or getmetatable(self) ~= of then check_self(name, self) end
    return method(self, ...)
  end
  unchecked[call] = method
  return call
end

local checked_source = source_of(class.checked)

-- Returns the method of a check that was received from another process.
local function method_of_check(fn)
  if source_of(fn) ~= checked_source then return nil end
  for i = 1, math.huge do
    local name, value = debug.getupvalue(fn, i)
    if name == nil then return nil end
    if name == 'method' and type(value) == 'function' then return value end
  end
end

---Returns the original function of a method that checks its self; returns any other function unchanged.
---@param fn function
---@return function
function class.definition(fn) return unchecked[fn] or method_of_check(fn) or fn end

function meta.__newindex(of, name, value)
  local method = unchecked[value] or value  -- also when it is stored under another name
  rawset(of, name, is_to_check(of, name, method) and class.checked(name, method, of) or value)
end

local function new_table(of) return setmetatable({}, of) end

---Makes a class.
---@param name string shown by print(instance)
---@param base? table the class it extends
---@param options? {userdata: boolean} instances are userdata, with `#` and a finaliser; a method `__item` then answers
---  `object[i]`
---@return table class
---
---```lua
---local class = require 'base.class'
---local Animal = class('Animal')
---function Animal:init(name) self.name = name end
---local Dog = Animal:extend('Dog')
---function Dog:speak() return self.name .. ': woof' end
---assert(Dog('Rex'):speak() == 'Rex: woof' and class.is(Dog('Rex'), Animal))
---```
function class.new(name, base, options)
  if type(name) ~= 'string' then
    require('base.errors').raise('argument', "a class needs a name: Base:extend('Name')")
  end
  local new = {__name = name, __base = base}
  if base then inherit_metamethods(new, base) end
  if rawget(new, '__index') == nil then new.__index = new end
  if rawget(new, '__tostring') == nil then new.__tostring = class.describe end
  if rawget(new, '__new') == nil then new.__new = options and options.userdata and new_userdata or new_table end
  return setmetatable(new, meta)
end

-- `object.__class__` and `Class.__name__` work as in Python; an instance first looks in its class.
function meta.__index(of, key)
  if key == '__class__' then return of end
  if key == '__name__' then return rawget(of, '__name') end
  local base = rawget(of, '__base')
  if base ~= nil then
    local value = base[key]
    if value ~= nil then return value end
  end
  if key == 'extend' then return class.extend end
  return nil
end

function meta.__call(of, ...)
  local object = of.__new(of)
  local init = of.init
  if init then init(object, ...) end
  return object
end

function meta.__tostring(of) return 'class ' .. rawget(of, '__name') end

---Returns a class that inherits from Base: `Base:extend('Name')`.
---@param base table
---@param name string
---@return table class
function class.extend(base, name) return class.new(name, base) end

---Returns the class of an instance, or nil.
---@param object any
---@return table? class
function class.of(object)
  local kind = type(object)
  if kind ~= 'table' and kind ~= 'userdata' then return nil end
  local found = getmetatable(object)
  if type(found) ~= 'table' then return nil end
  if getmetatable(found) == meta then return found end
  return rawget(found, '__class')
end

---Returns whether the value is a class.
---@param value any
---@return boolean
function class.is_class(value) return type(value) == 'table' and getmetatable(value) == meta end

---Returns whether the object is an instance of the class or of a class that extends it: Python's isinstance. The
---object's class is `object.__class__`, with the name `object.__class__.__name__`.
---@param object any
---@param wanted table class
---@return boolean
---Errors: 'argument' if `wanted` is not a class.
---
---```lua
---local class, nn = require 'base.class', require 'torch'.nn
---local layer = nn.Conv2d(1, 8, 3)
---assert(class.is(layer, nn.Module) and not class.is(layer, nn.Linear))
---assert(layer.__class__ == nn.Conv2d and layer.__class__.__name__ == 'Conv2d')
---```
function class.is(object, wanted)
  if not class.is_class(wanted) then
    require('base.errors').raise('argument', ('class.is: expected a class, got %s'):format(type(wanted)))
  end
  local found = class.of(object)
  while found do
    if found == wanted then return true end
    found = rawget(found, '__base')
  end
  return false
end

---Returns the printed form of an instance whose class has no `__tostring`.
---@param object any
---@return string
function class.describe(object) return class.of(object).__name end

---Returns the form in which a userdata instance is sent: its class and a plain table of its fields.
---@param object any
---@return string module, string name, table state the receiver rebuilds it by `require(module)[name](state)`
function class.pack(object)
  local fields = {}
  -- The order of fields is irrelevant: the receiver only sets them.
  for key, value in next, getmetatable(object).__fields do fields[key] = value end
  return 'base.class', 'unpack', {class = class.of(object), fields = fields}
end

---Rebuilds an instance from a result of `pack`.
---@param state {class: table, fields: table}
---@return any object
function class.unpack(state)
  local object = state.class.__new(state.class)
  for key, value in next, state.fields do object[key] = value end
  return object
end

return setmetatable(class, {__call = function(_, ...) return class.new(...) end})
