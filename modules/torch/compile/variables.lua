-- torch/compile/variables.lua: the numbers, booleans and strings that the script has around a step: variables that the step
-- and the script's functions below it use, fields of plain tables in them, fields of modules.
--
-- A plan has the numbers of its recording, so a plan fits as long as these are as they were. Fields of other objects are
-- not looked at.

local bytecode = require 'base.errors.bytecode'
local capture = require 'torch.cuda.capture'
local class = require 'base.class'

local PLAIN = {number = true, boolean = true, string = true}
local LIBRARY = '@rtrain://'
-- Of variables that are compared, and of entries of tables that are looked at, which may be data.
local MOST_FACTS, MOST_ENTRIES = 256, 4096

local function is_library(fn)
  if type(fn) ~= 'function' then return false end  -- an object that can be called
  local info = debug.getinfo(fn, 'S')
  return info.what == 'C' or info.source:sub(1, #LIBRARY) == LIBRARY
end

local function is_private(key) return type(key) == 'string' and key:sub(1, 1) == '_' end

local Variables = class 'Variables'

-- Modules of the library and of Lua, whose fields are not the script's.
local LIBRARIES = {torch = true, rtrain = true, vision = true, text = true}
local LUAS = {'_G', 'string', 'table', 'math', 'os', 'io', 'package', 'debug', 'coroutine', 'jit', 'bit', 'ffi'}

local function foreign_modules()
  local out = {}
  for name, module in next, package.loaded do
    if LIBRARIES[name:match '^[^.]+'] then out[module] = true end
  end
  for _, name in ipairs(LUAS) do
    if package.loaded[name] then out[package.loaded[name]] = true end
  end
  return out
end

---@param fn function the step
function Variables:init(fn)
  self._upvalues, self._fields, self._of_modules = {}, {}, {}
  self._seen, self._num_entries, self._num_assignments = foreign_modules(), 0, capture.num_assignments
  self:_look_at(fn, '')
end

function Variables:_has_room() return #self._upvalues + #self._fields < MOST_FACTS and self._num_entries < MOST_ENTRIES end

function Variables:_add_field(of, key, name)
  self._fields[#self._fields + 1] = {of = of, key = key, name = name, value = rawget(of, key)}
end

function Variables:_look_at_globals(fn)
  local env = getfenv(fn)
  for _, read in ipairs(bytecode.globals(fn).read) do
    local name, value = read[1], rawget(env, read[1])
    if PLAIN[type(value)] and self:_has_room() then
      self:_add_field(env, name, 'the global variable ' .. name)
    else
      self:_look_at(value, name)
    end
  end
end

function Variables:_look_at_function(fn)
  if is_library(fn) then return end
  self:_look_at_globals(fn)
  for i = 1, math.huge do
    local name, value = debug.getupvalue(fn, i)
    if name == nil or not self:_has_room() then return end
    if PLAIN[type(value)] then
      self._upvalues[#self._upvalues + 1] = {fn = fn, index = i, name = 'the variable ' .. name, value = value}
    else
      self:_look_at(value, name)
    end
  end
end

function Variables:_look_at_table(of, name)
  for key, value in next, of do
    self._num_entries = self._num_entries + 1
    if not self:_has_room() then return end
    local own_name = type(key) == 'string' and name .. '.' .. key or ('%s[%s]'):format(name, tostring(key))
    if PLAIN[type(value)] then
      self:_add_field(of, key, 'the variable ' .. own_name)
    else
      self:_look_at(value, own_name)
    end
  end
end

function Variables:_look_at(value, name)
  local is_function = type(value) == 'function'
  local is_plain_table = type(value) == 'table' and getmetatable(value) == nil
  if not is_function and not is_plain_table or self._seen[value] then return end
  self._seen[value] = true
  if is_function then return self:_look_at_function(value) end
  self:_look_at_table(value, name)
end

---Adds the fields of a module that the step calls, and what its forward uses. Of the library's modules some fields are
---private.
---@param module nn.Module
function Variables:add_module(module)
  if self._seen[module] then return end
  self._seen[module] = true
  local forward, fields, of_modules = class.definition(module.forward), rawget(module, '_fields'), self._of_modules
  self:_look_at(forward, '')
  for key, value in next, fields do
    if PLAIN[type(value)] and (not is_private(key) or not is_library(forward)) then
      local name = ('%s of a %s'):format(tostring(key), class.of(module).__name)
      of_modules[#of_modules + 1] = {of = fields, key = key, name = name, value = value}
    end
  end
end

local function text_of(value) return type(value) == 'string' and ("'%s'"):format(value) or tostring(value) end

local function change_of(fact, now)
  -- NaN differs from itself.
  if now == fact.value or now ~= now and fact.value ~= fact.value then return nil end
  return ('%s was %s and is %s'):format(fact.name, text_of(fact.value), text_of(now))
end

local function changed_field(facts)
  for _, fact in ipairs(facts) do
    local change = change_of(fact, rawget(fact.of, fact.key))
    if change then return change end
  end
end

---Returns which variable has another value now.
---@return string|nil change
function Variables:change()
  for _, fact in ipairs(self._upvalues) do
    local _, now = debug.getupvalue(fact.fn, fact.index)
    local change = change_of(fact, now)
    if change then return change end
  end
  local change = changed_field(self._fields)
  if change or self._num_assignments == capture.num_assignments then return change end
  change = changed_field(self._of_modules)
  if not change then self._num_assignments = capture.num_assignments end
  return change
end

return Variables
