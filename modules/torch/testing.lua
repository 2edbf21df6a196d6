-- torch/testing.lua: torch.testing: compares the results of a test with the expected values.

local args = require 'base.args'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local aten = require 'torch.functions.aten'
local C = require 'torch._C'

local testing = {}

-- Relative and absolute tolerance of each dtype; other dtypes are compared exactly.
local TOLERANCES = {float16 = {1e-3, 1e-5}, bfloat16 = {1.6e-2, 1e-5}, float32 = {1.3e-6, 1e-5}, float64 = {1e-7, 1e-7},
                    complex32 = {1e-3, 1e-5}, complex64 = {1.3e-6, 1e-5}, complex128 = {1e-7, 1e-7}}

local OPTIONS = {'rtol', 'atol', 'equal_nan', 'check_device', 'check_dtype', 'check_layout', 'check_stride', 'msg'}

local function fail(state, text)
  if state.path ~= '' then text = ('%s\n\nThe failure occurred for item %s'):format(text, state.path) end
  local msg = state.options.msg
  errors.raise('user', type(msg) == 'function' and msg(text) or msg or text)
end

-- Returns the given tolerances, or those of the less precise of both dtypes.
local function tolerances(options, a, b)
  if options.rtol then return options.rtol, options.atol end
  local x, y = TOLERANCES[a] or {0, 0}, TOLERANCES[b] or {0, 0}
  return math.max(x[1], y[1]), math.max(x[2], y[2])
end

local function check_attributes(state, actual, expected)
  local options = state.options
  local function same(name, a, b)
    if a ~= b then
      fail(state, ("The values for attribute '%s' do not match: %s != %s."):format(name, tostring(a), tostring(b)))
    end
  end
  same('shape', actual.shape, expected.shape)
  if options.check_layout ~= false then same('layout', actual.layout, expected.layout) end
  if options.check_device ~= false then same('device', actual.device, expected.device) end
  if options.check_dtype ~= false then same('dtype', 'torch.' .. actual.dtype, 'torch.' .. expected.dtype) end
  if options.check_stride then same('stride()', actual:stride(), expected:stride()) end
end

local function position(flat_index, shape)
  local out = {}
  for i = #shape, 1, -1 do
    out[i] = ('%d'):format(flat_index % shape[i])
    flat_index = math.floor(flat_index / shape[i])
  end
  return ('(%s%s)'):format(table.concat(out, ', '), #out == 1 and ',' or '')
end

local function allowed(tolerance)
  return tolerance > 0 and (' (up to %s allowed)'):format(tostring(tolerance)) or ''
end

local function greatest(kind, difference, tolerance)
  local value, index = difference:reshape(-1):max(0)
  return ('Greatest %s difference: %s at index %s%s'):format(kind, tostring(value:item()),
    position(tonumber(index:item()), difference.shape), allowed(tolerance))
end

-- Converts tensors to a dtype in which differences can be computed.
local function comparable(actual, expected)
  if actual.layout ~= 'strided' then actual = actual:to_dense() end
  if expected.layout ~= 'strided' then expected = expected:to_dense() end
  local dtype = aten.promote_types(actual.dtype, expected.dtype)
  if not TOLERANCES[dtype] then dtype = dtype:match '^float8' and 'float32' or 'int64' end
  return actual:detach():to('cpu', dtype), expected:detach():to('cpu', dtype)
end

-- Describes the differences where `close` is false.
local function difference_text(a, b, close, rtol, atol)
  local difference = (a - b):abs():masked_fill(close, 0)
  local relative = (difference / b:abs()):masked_fill(close, 0)
  if a:dim() == 0 then
    return ('Absolute difference: %s%s\nRelative difference: %s%s'):format(tostring(difference:item()), allowed(atol),
      tostring(relative:item()), allowed(rtol))
  end
  local bad = aten.logical_not(close):sum():item()
  return ('Mismatched elements: %d / %d (%.1f%%)\n%s\n%s'):format(bad, a:numel(), 100 * bad / a:numel(),
    greatest('absolute', difference, atol), greatest('relative', relative, rtol))
end

local function compare_tensors(state, actual, expected)
  check_attributes(state, actual, expected)
  local rtol, atol = tolerances(state.options, actual.dtype, expected.dtype)
  local a, b = comparable(actual, expected)
  local close = aten.isclose(a, b, rtol, atol, state.options.equal_nan or false)
  if close:all():item() then return end
  local kind = rtol == 0 and atol == 0 and 'equal' or 'close'
  local title = ('Tensor-likes are not %s!\n\n'):format(kind)
  if a:dim() == 0 then
    title = ('Scalars are not %s!\n\nExpected %s but got %s.\n'):format(kind, tostring(expected:item()),
      tostring(actual:item()))
  end
  fail(state, title .. difference_text(a, b, close, rtol, atol))
end

local function is_number(value)
  return type(value) == 'number' or type(value) == 'boolean' or type(value) == 'cdata'
end

local compare

local function compare_tables(state, actual, expected)
  local path = state.path
  for _, key in ipairs(ordered.keys_of(expected)) do
    state.path = ('%s[%s]'):format(path, type(key) == 'string' and ("'%s'"):format(key) or tostring(key))
    if actual[key] == nil then fail(state, 'It is missing.') end
    compare(state, actual[key], expected[key])
  end
  for _, key in ipairs(ordered.keys_of(actual)) do
    state.path = ('%s[%s]'):format(path, tostring(key))
    if expected[key] == nil then fail(state, 'It is not expected.') end
  end
  state.path = path
end

function compare(state, actual, expected)
  if is_number(actual) and is_number(expected) then
    return compare_tensors(state, C.tensor(actual, {dtype = type(actual) == 'number' and 'float64' or nil}),
      C.tensor(expected, {dtype = type(expected) == 'number' and 'float64' or nil}))
  end
  if C.is_tensor(actual) and C.is_tensor(expected) then return compare_tensors(state, actual, expected) end
  if type(actual) == 'table' and type(expected) == 'table' then return compare_tables(state, actual, expected) end
  if type(actual) == 'string' and actual == expected then return end
  fail(state, ('%s and %s cannot be equal: expected %s, got %s.'):format(type(actual), type(expected),
    tostring(expected), tostring(actual)))
end

---Raises code 'user' unless both values are close: |actual - expected| ≤ atol + rtol · |expected|, with PyTorch's
---tolerances for their dtypes. Tables are compared item by item. PyTorch equivalent: torch.testing.assert_close.
---@param actual any a tensor, a number, a boolean, a string, or a table of these
---@param expected any
---@param options? table {rtol, atol, equal_nan = false, check_device = true, check_dtype = true, check_layout = true,
---  check_stride = false, msg}: rtol and atol must be given together; msg is a text or function(text) → text
---
---```lua
---local torch = require 'torch'
---torch.testing.assert_close(torch.ones(2) * 3, torch.tensor{3, 3})
---local ok, err = pcall(torch.testing.assert_close, torch.tensor{1, 2}, torch.tensor{1, 3})
---assert(not ok and err.message:find('Mismatched elements: 1 / 2', 1, true))
---```
function testing.assert_close(actual, expected, options)
  options = args.options(options, OPTIONS, 'assert_close')
  if (options.rtol == nil) ~= (options.atol == nil) then
    errors.raise('argument', 'assert_close: rtol and atol go together')
  end
  compare({options = options, path = ''}, actual, expected)
end

return require 'base.namespace'('torch.testing', nil, testing)
