-- base/errors/hint.lua: completes Lua's own messages with the existing keys, the intended name, or the method to call.

local base_shown = require 'base.shown'
local bytecode = require 'base.errors.bytecode'
local class = require 'base.class'
local errors = require 'base.errors'
local frame = require 'base.errors.frame'
local member_names = require 'base.member_names'
local ordered = require 'base.ordered'
local unset_globals = require 'base.errors.unset_globals'

local error_hint = {}

-- Number of listed keys, if no similar key exists.
local MAX_KEYS = 12
-- Bytes of a shown text, and number of inspected frames.
local MAX_TEXT, MAX_FRAMES = 40, 20

-- Returns "config has no 'lr': it has batch_size, epochs".
local function absent_text(object, text, name)
  local of = class.of(object)
  if name == 'module' and of and of.named_parameters then
    return ("%s has no 'module': with one worker prepare_model gives the model itself; train.torch.unwrap(model) is it with "
      .. 'any number of workers'):format(text)
  end
  local names, listed = member_names(object)
  local near = errors.suggestion(name, names)
  if near == '' or not near:find 'did you mean' then
    table.sort(listed)
    near = #listed == 0 and '' or ': it has ' .. table.concat(listed, ', ', 1, math.min(#listed, MAX_KEYS)) ..
      (#listed > MAX_KEYS and ', …' or '')
  end
  return ("%s has no '%s'%s"):format(text, name, near)
end

-- For a field or method that is nil: names the fields of its object.
local function of_field(level, name)
  local running = debug.getinfo(level + 1, 'fl')
  for _, owner in ipairs(bytecode.owners(running.func, running.currentline, name, frame.variables(level + 1), frame.field)) do
    local object, text = owner[1], owner[2]
    local is_table = type(object) == 'table' and (getmetatable(object) == nil or ordered.is(object))
    if is_table or class.of(object) then return absent_text(object, text, name) end
  end
end

-- For `for i = 1, config.epoch do`: finds the field on that line that is nil.
local function of_limit(level)
  local running = debug.getinfo(level + 1, 'fl')
  for _, owner in ipairs(bytecode.owners(running.func, running.currentline, nil, frame.variables(level + 1), frame.field)) do
    local object, text, _, name = unpack(owner)
    local is_table = type(object) == 'table' and (getmetatable(object) == nil or ordered.is(object))
    if is_table and rawget(object, name) == nil then return absent_text(object, text, name) end
  end
end

local function is_tensor(value)
  local engine = package.loaded['torch._C']
  return type(value) == 'userdata' and type(engine) == 'table' and engine.is_tensor(value)
end

local ROWS = 'the rows of a tensor are walked with for row in x:iter() do'

-- For a value that was called: explains a `for` over a tensor.
local function of_called_userdata(level)
  for _, variable in ipairs(frame.variables(level + 1)) do
    if variable[1] == '(for generator)' and is_tensor(variable[2]) then return ROWS end
  end
end

-- For unpack(batch): a loader yields x, y and not a list of them.
local function of_unpacked(level)
  local _, value = debug.getlocal(level + 1, 1)
  if is_tensor(value) then return 'of a tensor x:unbind() is a list; a loader gives several values: for x, y in loader do' end
end

-- For a value that was called: explains a `for` over a table.
local function of_called_table(level)
  for _, variable in ipairs(frame.variables(level + 1)) do
    if variable[1] == '(for generator)' and type(variable[2]) == 'table' then
      return #variable[2] > 0 and 'a list is walked with for i, value in ipairs(list) do'
        or 'a table is walked with for key, value in pairs(t) do'
    end
  end
end

-- For ipairs(x) and pairs(x).
local function of_walked(level)
  local _, value = debug.getlocal(level + 1, 1)
  if is_tensor(value) then return ROWS end
  local of = class.of(value)
  return of and ('a %s is walked by itself: for x, y in loader do, or loader:enumerate()'):format(of.__name)
end

-- {pattern of the message, fun(level, captures …): string?}
local HINTS = {
  {"field '(.-)' %(a nil value%)", of_field},
  {"method '(.-)' %(a nil value%)", of_field},
  {"^[^\n]*'for' %l+ [%l ]*must be a number", of_limit},
  {"global '(.-)' %(a nil value%)", function(_, name) return unset_globals.advice(name, {}) end},
  {'attempt to index a boolean value', function() return 'a == b is one boolean; tensors are compared by a:eq(b)' end},
  {'attempt to call a table value', of_called_table},
  {'attempt to call a userdata value', of_called_userdata},
  {"bad argument #1 to 'unpack' %(table expected, got userdata%)", of_unpacked},
  {"bad argument #1 to 'i?pairs' %(table expected, got userdata%)", of_walked},
  {'%(number expected, got userdata%)', function() return 'of a tensor with one element x:item() is a number' end},
  -- For operands of different types Lua calls no metamethod of <, so a tensor cannot raise this message itself.
  {'attempt to compare userdata with nil', function() return 'the right side is nil; tensors are compared by x:lt(y)' end},
  {'attempt to compare nil with userdata', function() return 'the left side is nil; tensors are compared by x:lt(y)' end},
  {'attempt to compare .*userdata', function()
    return 'tensors are compared elementwise: use x:lt(y) or x:gt(y)'
  end},
}

-- Lua's message lists every file that it searched.
local function absent_module(message)
  local start, name = message:match "^(.-)module '(.-)' not found:\n"
  if name == nil then return nil end
  local places = select(2, message:gsub('\n', ''))
  local near = errors.suggestion(name, {'torch', 'torch.nn', 'torch.optim', 'rtrain', 'rtrain.data', 'vision', 'text'})
  if not near:find 'did you mean' then near = '' end
  return ("%smodule '%s' not found%s (%d places were looked at: the script's folder, package.path and package.cpath; "
    .. 'LUA_PATH adds folders)'):format(start, name, near, places)
end

local function shown(value)
  if type(value) == 'string' and #value > MAX_TEXT then return base_shown(value:sub(1, MAX_TEXT) .. '…') end
  if is_tensor(value) then return 'a tensor' end
  local of = class.of(value)
  return of and 'a ' .. of.__name or base_shown(value)
end

-- Returns "Linear was given in_features = '6', out_features = 2" for a frame; nil for a call without arguments.
local function given_text(level)
  local running, values, self = debug.getinfo(level + 1, 'nu'), {}, nil
  for i = 1, running.nparams do
    local name, value = debug.getlocal(level + 1, i)
    if i == 1 and name == 'self' then
      self = class.of(value)
    else
      values[#values + 1] = ('%s = %s'):format(name, shown(value))
    end
  end
  for i = 1, running.isvararg and MAX_KEYS or 0 do
    local name, value = debug.getlocal(level + 1, -i)
    if name then values[#values + 1] = shown(value) end
  end
  local name = self and (running.name == nil or running.name == 'init') and self.__name or running.name
  if #values == 0 or name == nil then return nil end
  return ('%s was given %s'):format(name, table.concat(values, ', '))
end

-- For an error in a function of rtrain: shows the arguments of the function that the script called.
local function of_library(level)
  local text
  for at = level + 1, level + MAX_FRAMES do
    local running = debug.getinfo(at, 'fS')
    if running == nil or running.what ~= 'C' and frame.is_script(running.func) then return text end
    -- The frames that make objects and call methods are skipped.
    local is_plain = running.what ~= 'C' and running.source ~= '@rtrain://base/class.lua'
    if is_plain then text = given_text(at) or text end
  end
end

---@param level integer of lua_getstack, as the C function that calls this one counts: the frame in which the error
---  arose
---@param message string
---@return string? hint text to add to the message
---@return string? other a message to show instead of it
function error_hint.find(level, message)
  local other = absent_module(message)
  if other then return nil, other end
  -- The other hints inspect the script's code.
  if message:find '^rtrain://' then return (of_library(level + 2)) end
  for _, entry in ipairs(HINTS) do
    local captured = message:match(entry[1])
    if captured then return (entry[2](level + 2, captured)) end
  end
end

return error_hint
