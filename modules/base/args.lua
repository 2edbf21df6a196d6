-- base/args.lua: binds arguments by Python's calling convention: positional arguments, then one trailing table of
-- keywords.
--
-- A table counts as keywords if it is the last argument, has no metatable and only string keys. Unknown, missing and
-- duplicate arguments raise an error at the caller's line.

local errors = require 'base.errors'

local args = {}

local function unknown(key, allowed, name, code, what)
  local hint = errors.suggestion(tostring(key), allowed)
  if #allowed == 0 then hint = ': it takes none' end
  errors.raise(code, ("%s: unknown %s '%s'%s"):format(name, what, tostring(key), hint))
end

---Raises an error that `owner` has no such name, with the most similar of `names`. The code is 'unsupported' for a name
---that PyTorch or Ray has and this version lacks.
---@param owner string
---@param name any
---@param names string[]
---@param absent? table<string, string|boolean> name → an alternative to use, or true
function args.no_such(owner, name, names, absent)
  local instead = absent and absent[name]
  if instead then
    errors.raise('unsupported', ('%s.%s is not in this version%s'):format(owner, name,
      instead == true and '' or ': ' .. instead))
  end
  local hint = errors.suggestion(tostring(name), names)
  errors.raise('argument', ("%s has no '%s'%s"):format(owner, tostring(name), hint))
end

---Checks a value that must be one of a few names.
---@param owner string the function and parameter, for the message: 'mse_loss: reduction'
---@param value any
---@param names string[]
---@return string value
function args.one_of(owner, value, names)
  for _, name in ipairs(names) do
    if value == name then return value end
  end
  local hint = errors.suggestion(tostring(value), names)
  errors.raise('argument', ("%s cannot be '%s'%s"):format(owner, tostring(value), hint))
end

-- Returns the first key of `given`, in sorted order, that `known` lacks, so that the message is the same on every rank.
local function first_unknown(given, known)
  local bad
  for key in next, given do
    if not known[key] and (bad == nil or tostring(key) < tostring(bad)) then bad = key end
  end
  return bad
end

local function set_of(names)
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

-- Returns 'number', 'a Checkpoint'.
local function object_text(value)
  local of = require('base.class').of(value)
  return of and 'a ' .. of.__name or type(value)
end

-- Guesses the option of a string, as in `f(x, torch.int64)`: dtypes and devices are strings.
local function option_of(text)
  if text == 'cpu' or text == 'meta' or text:find '^cuda' then return 'device' end
  return (text == 'bool' or text:find 'int%d' or text:find 'float%d' or text:find '^complex') and 'dtype' or nil
end

-- Describes a value in the place of the options, and the option that it may be: "a Checkpoint: write {checkpoint = …}".
local function misplaced(value, allowed)
  local is_text, of = type(value) == 'string', require('base.class').of(value)
  local what = is_text and ("string '%s'"):format(value) or object_text(value)
  for _, name in ipairs(allowed) do
    if is_text and name == option_of(value) then return ("%s: write {%s = '%s'}"):format(what, name, value) end
    if of and name:gsub('_', '') == of.__name:lower() then return ('%s: write {%s = …}'):format(what, name) end
  end
  return what
end

---Checks a table of keyword arguments.
---@param given? table the arguments of the caller
---@param allowed string[] the names it may hold
---@param name string the function or class, for the message
---@param code? string error code (default 'argument')
---@return table given the same table, or a new empty one if it is nil
function args.options(given, allowed, name, code)
  if given == nil then return {} end
  code = code or 'argument'
  if type(given) ~= 'table' or getmetatable(given) ~= nil then
    errors.raise(code, ('%s: expected a table of options, got %s'):format(name, misplaced(given, allowed)))
  end
  local bad = first_unknown(given, set_of(allowed))
  if bad ~= nil then
    if type(bad) == 'number' then
      errors.raise(code, ('%s: expected named fields {name = value}, got a list'):format(name))
    end
    unknown(bad, allowed, name, code, code == 'config' and 'field' or 'option')
  end
  return given
end

---Returns whether a value is a table of keywords: no metatable, not empty, only string keys.
---@param value any
---@return boolean
function args.is_keywords(value)
  if type(value) ~= 'table' or getmetatable(value) ~= nil or next(value) == nil then return false end
  for key in next, value do
    if type(key) ~= 'string' then return false end
  end
  return true
end

---Splits arguments into keywords and `count` positional ones: a table that follows them is the table of keywords.
---@param count integer
---@param ... any
---@return table keywords empty if there are no keywords
---@return any ... the positional arguments
function args.split(count, ...)
  local given = select('#', ...)
  local last = given > 0 and (select(given, ...)) or nil
  if given > count and (args.is_keywords(last) or (type(last) == 'table' and next(last) == nil)) then
    local list = {...}
    return last, unpack(list, 1, count)
  end
  if given > count then
    errors.raise('argument', ('expected at most %d arguments and a table of options, got %d'):format(count, given))
  end
  return {}, ...
end

---Reads the table of keywords after any number of arguments. The caller passes those arguments to another function.
---@param name string the function, for the message
---@param allowed string[] the names they may hold
---@param ... any
---@return table keywords empty if there are no keywords
---@return integer count number of arguments before them
---
---```lua
---local args = require 'base.args'
---local options, count = args.trailing('run', {'times'}, print, 'a', {times = 2})
---assert(options.times == 2 and count == 2)
---```
function args.trailing(name, allowed, ...)
  local count = select('#', ...)
  local last = count > 0 and select(count, ...) or nil
  if not args.is_keywords(last) then return {}, count end
  return args.options(last, allowed, name), count - 1
end

local Signature = {}
Signature.__index = Signature

---Declares the parameters of a function or class. Each is a name (required) or {name, default} (optional, default
---may be nil).
---@param name string the function, for messages
---@param parameters (string|table)[]
---@return table signature with `:bind(...)`
---
---```lua
---local args = require 'base.args'
---local scale = args.signature('scale', {'x', {'by', 2}})
---local a = scale:bind(10, {by = 3})
---assert(a.x == 10 and a.by == 3)
---```
function args.signature(name, parameters)
  local names, required, defaults, known = {}, {}, {}, {}
  for i, parameter in ipairs(parameters) do
    local optional = type(parameter) == 'table'
    names[i] = optional and parameter[1] or parameter
    required[i] = not optional
    if optional then defaults[names[i]] = parameter[2] end
    known[names[i]] = true
  end
  return setmetatable({name = name, names = names, required = required, defaults = defaults, known = known}, Signature)
end

---Returns the signature with which a function binds its arguments, found among its upvalues; nil if it has no
---signature. For documentation.
---@param fn function
---@return table|nil signature
function args.signature_of(fn)
  fn = require('base.class').definition(fn)
  for i = 1, math.huge do
    local name, value = debug.getupvalue(fn, i)
    if name == nil then return nil end
    if type(value) == 'table' and getmetatable(value) == Signature then return value end
    -- Used by base.plain_call.
    if name == 'bind' and type(value) == 'function' then return args.signature_of(value) end
  end
end

local function add_keywords(self, bound, keywords, positional)
  local bad = first_unknown(keywords, self.known)
  if bad ~= nil then unknown(bad, self.names, self.name, 'argument', 'argument') end
  for i, name in ipairs(self.names) do
    local value = keywords[name]
    if value ~= nil then
      if i <= positional then
        errors.raise('argument', ("%s: argument '%s' is given twice: as number %d and by name"):format(
          self.name, name, i))
      end
      bound[name] = value
    end
  end
end

-- An empty table at the end is a required parameter if one is missing, else it counts as keywords: {generator =
-- maybe_nil}.
local function ends_with_keywords(self, count, last)
  if args.is_keywords(last) then return true end
  return type(last) == 'table' and getmetatable(last) == nil and next(last) == nil and not self.required[count]
end

---Matches arguments with the parameters. A `nil` is replaced by the default.
---@param ... any
---@return table bound parameter name → value
function Signature:bind(...)
  local count, given = select('#', ...), {...}
  local keywords
  if count > 0 and ends_with_keywords(self, count, given[count]) then
    keywords = given[count]
    count = count - 1
  end
  if count > #self.names then
    errors.raise('argument', ('%s: expected at most %d arguments, got %d'):format(self.name, #self.names, count))
  end
  local bound = {}
  for i = 1, count do bound[self.names[i]] = given[i] end
  if keywords then add_keywords(self, bound, keywords, count) end
  for i, name in ipairs(self.names) do
    if bound[name] == nil then
      if self.required[i] then errors.raise('argument', ("%s: missing argument '%s'"):format(self.name, name)) end
      bound[name] = self.defaults[name]
    end
  end
  return bound
end

---Returns a function `defined(name, parameters, fn)` that puts functions with declared parameters into `fields`: each
---call is bound to the parameters, and `fn` gets the table of them.
---@param fields table
---@return fun(name: string, parameters: (string|table)[], fn: fun(bound: table): any)
---
---```lua
---local args = require 'base.args'
---local fields = {}
---args.definer(fields)('scale', {'x', {'by', 2}}, function(p) return p.x * p.by end)
---assert(fields.scale(4) == 8 and fields.scale(4, {by = 3}) == 12)
---```
function args.definer(fields)
  return function(name, parameters, fn)
    fields[name] = require 'base.plain_call'(args.signature(name, parameters), fn)
  end
end

return args
