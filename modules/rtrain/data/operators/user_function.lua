-- rtrain/data/operators/user_function.lua: UserFunction: the function of map, filter and similar methods: a Lua
-- function, a callable object, or a class (each thread makes an instance).

local class = require 'base.class'
local errors = require 'base.errors'
local worker = require 'torch.utils.data.worker'

-- Row numbers are smaller than this, so that the numbers of fragment and row fit into one number.
local ROWS = 2 ^ 32

---A user function with additional arguments. Arguments: fn: a function, a callable object, a class, or a table {init =
---function(self, …), call = function(self, value, …)}; {operator, fn_args, fn_kwargs, fn_constructor_args,
---fn_constructor_kwargs}.
---@class data.UserFunction
---@overload fun(fn: any, options: table): data.UserFunction
local UserFunction = class('UserFunction')

local function is_spec(fn) return type(fn) == 'table' and getmetatable(fn) == nil and type(fn.call) == 'function' end

local function is_callable(fn)
  if type(fn) == 'function' or class.is_class(fn) or is_spec(fn) then return true end
  local meta = getmetatable(fn)
  return type(meta) == 'table' and meta.__call ~= nil
end

local function check_list(operator, name, value)
  if value ~= nil and type(value) ~= 'table' then
    errors.raise('argument', ('%s: %s is a table, got a %s'):format(operator, name, type(value)))
  end
end

function UserFunction:init(fn, options)
  self.operator = options.operator
  if not is_callable(fn) then
    local hint = type(fn) == 'string' and ': expressions in text are not in this version' or ''
    errors.raise('argument', ('%s: expected a function, a class or {init = …, call = …}, got a %s%s'):format(
      self.operator, type(fn), hint))
  end
  for _, name in ipairs{'fn_args', 'fn_kwargs', 'fn_constructor_args', 'fn_constructor_kwargs'} do
    check_list(self.operator, name, options[name])
    self['_' .. name] = options[name]
  end
  if (options.fn_constructor_args or options.fn_constructor_kwargs) and not (class.is_class(fn) or is_spec(fn)) then
    errors.raise('argument', self.operator .. ': fn_constructor_args need a class or {init = …, call = …}')
  end
  self._fn = fn
end

local function with_keywords(list, keywords)
  local out = {}
  for i, value in ipairs(list or {}) do out[i] = value end
  if keywords then out[#out + 1] = keywords end
  return out
end

-- Returns the function that is called for each row or batch. Called once in each thread.
local function resolve(self)
  local fn, made = self._fn, with_keywords(self._fn_constructor_args, self._fn_constructor_kwargs)
  if class.is_class(fn) then
    local object = fn(unpack(made))
    if type(object.call) ~= 'function' then return object end
    return function(...) return object:call(...) end
  end
  if not is_spec(fn) then return fn end
  local object = setmetatable({}, {__index = fn})
  if fn.init then object:init(unpack(made)) end
  return function(...) return object:call(...) end
end

---Returns the function with a single parameter, the value.
---@return fun(value: any): any
function UserFunction:callable()
  if self._callable then return self._callable end
  local ok, fn = xpcall(resolve, errors.wrap, self)
  if not ok then
    fn.message = ('%s: making the object: %s'):format(self.operator, fn.message)
    error(fn, 0)
  end
  local extra = with_keywords(self._fn_args, self._fn_kwargs)
  if #extra > 0 then
    local plain = fn
    function fn(value) return plain(value, unpack(extra)) end
  end
  self._callable = fn
  return fn
end

---Returns the function's name for stats: its place in the script, 'train.lua:12'.
---@return string
function UserFunction:name()
  if type(self._fn) ~= 'function' then return class.is_class(self._fn) and self._fn.__name or 'object' end
  local info = debug.getinfo(self._fn, 'S')
  if info.what == 'C' then return 'function' end
  return ('%s:%d'):format(info.short_src:match '[^/]*$', info.linedefined)
end

local function finished(self, what, row, ok, ...)
  worker.finish()
  if ok then return ... end
  local err = ...
  err.message = ('%s: %s %d: %s'):format(self.operator, what, row, err.message)
  error(err, 0)
end

---Calls a function for the row at `row` of a fragment: random numbers of transforms depend only on seed, epoch, fragment and
---row. An error names operator and row, and keeps the function's traceback.
---@param position data.Position
---@param row integer
---@param fn fun(value: any): any
---@param value any
---@return any
function UserFunction:call_row(position, row, fn, value)
  worker.begin(position, position.number * ROWS + row)
  return finished(self, 'row', row, xpcall(fn, errors.wrap, value))
end

---Calls a function for a batch of rows.
---@param position data.Position
---@param rows torch.Tensor int64: the numbers of its rows in the fragment
---@param fn fun(): any
---@return any
function UserFunction:call_batch(position, rows, fn)
  worker.begin_batch(position, rows + position.number * ROWS)
  return finished(self, 'the batch from row', rows:numel() > 0 and rows[0]:item() or 0, xpcall(fn, errors.wrap))
end

return UserFunction
