-- torch/amp/autocast.lua: autocast: operators choose a lower precision automatically, and the settings for that.

local args = require 'base.args'
local C = require 'torch._C'
local errors = require 'base.errors'
local torch = require 'torch'
local warnings = require 'base.warnings'

local autocast = {}

-- A kind of device, 'cpu' or 'cuda', without a number.
local function check_device(name, device)
  if type(device) ~= 'string' then
    errors.raise('argument', ("%s: device_type is a string, 'cpu' or 'cuda', got %s"):format(name, type(device)))
  end
  if not autocast.is_autocast_available(device) then
    errors.raise('argument', ("%s: unsupported device_type '%s': 'cpu' or 'cuda'"):format(name, device))
  end
  return device
end

local function check_boolean(name, value)
  if type(value) ~= 'boolean' then
    errors.raise('argument', ('%s: expected true or false, got %s'):format(name, tostring(value)))
  end
end

---Returns whether there is autocast for a kind of device. PyTorch equivalent: torch.amp.is_autocast_available.
---@param device_type string
---@return boolean
function autocast.is_autocast_available(device_type) return device_type == 'cpu' or device_type == 'cuda' end

---Returns whether operators on that kind of device choose their precision now. PyTorch equivalent:
---torch.is_autocast_enabled.
---@param device_type? string default 'cuda', as in Python
---@return boolean
function autocast.is_autocast_enabled(device_type)
  return C.is_autocast_enabled(check_device('is_autocast_enabled', device_type or 'cuda'))
end

---Turns autocast on or off; `torch.autocast` does it for one function. PyTorch equivalent: torch.set_autocast_enabled.
---@param device_type string
---@param enabled boolean
function autocast.set_autocast_enabled(device_type, enabled)
  check_boolean('set_autocast_enabled', enabled)
  C.set_autocast_enabled(check_device('set_autocast_enabled', device_type), enabled)
end

---Returns the precision that autocast chooses: 'bfloat16' on the CPU, 'float16' on CUDA unless set. PyTorch equivalent:
---torch.get_autocast_dtype.
---@param device_type string
---@return string dtype
function autocast.get_autocast_dtype(device_type)
  return C.get_autocast_dtype(check_device('get_autocast_dtype', device_type))
end

---Sets the precision that autocast chooses. PyTorch equivalent: torch.set_autocast_dtype.
---@param device_type string
---@param dtype string
function autocast.set_autocast_dtype(device_type, dtype)
  C.set_autocast_dtype(check_device('set_autocast_dtype', device_type), dtype)
end

---Returns whether casts of weights are kept until the outermost autocast ends. PyTorch equivalent:
---torch.is_autocast_cache_enabled.
---@return boolean
function autocast.is_autocast_cache_enabled() return C.is_autocast_cache_enabled() end

---Turns this cache on or off. PyTorch equivalent: torch.set_autocast_cache_enabled.
---@param enabled boolean
function autocast.set_autocast_cache_enabled(enabled)
  check_boolean('set_autocast_cache_enabled', enabled)
  C.set_autocast_cache_enabled(enabled)
end

---Drops the kept casts of weights. PyTorch equivalent: torch.clear_autocast_cache.
function autocast.clear_autocast_cache() C.clear_autocast_cache() end

-- Returns whether autocast supports the request; warns if not, as in Python.
local function is_possible(device, dtype)
  if device == 'cuda' then
    if torch.cuda.is_available() then return true end
    warnings.warn('autocast: CUDA is not available: autocast is disabled')
    return false
  end
  if dtype == 'bfloat16' or dtype == 'float16' then return true end
  warnings.warn(('autocast: on the CPU its dtypes are bfloat16 and float16, not %s: autocast is disabled'):format(dtype))
  return false
end

local SIGNATURE = args.signature('autocast', {'device_type', {'dtype'}, {'enabled', true}, {'cache_enabled'}})

---Runs a function in which matrix products, convolutions and similar operators compute in a lower precision, and sums,
---losses and similar operators in float32; the parameters keep their dtype. Call backward outside of it. Modes may be
---nested and end with the function, also if it raises an error. Arguments: device_type ('cpu' or 'cuda'), {dtype
---(default bfloat16 on the CPU, float16 on CUDA), enabled = true, cache_enabled}, the function. PyTorch equivalent:
---torch.autocast, torch.amp.autocast.
---
---```lua
---local torch = require 'torch'
---local layer, x = torch.nn.Linear(4, 2), torch.ones(1, 4)
---local y = torch.autocast('cpu', {dtype = 'bfloat16'}, function() return layer(x) end)
---assert(y.dtype == 'bfloat16' and layer(x).dtype == 'float32')
---y:sum():backward()
---assert(layer.weight.grad.dtype == 'float32')
---```
---@param ... any see above; the last one is the function
---@return any ... the results of the function
function autocast.autocast(...)
  local count = select('#', ...)
  local fn = count > 0 and (select(count, ...)) or nil
  if type(fn) ~= 'function' then
    errors.raise('argument', 'autocast: the last argument is the function to run: torch.autocast(\'cpu\', function() … end)')
  end
  local given = {...}
  local bound = SIGNATURE:bind(unpack(given, 1, count - 1))
  local device = check_device('autocast', bound.device_type)
  local dtype = bound.dtype or C.get_autocast_dtype(device)
  if type(dtype) ~= 'string' then errors.raise('argument', ('autocast: dtype is a dtype, got %s'):format(tostring(dtype))) end
  check_boolean('autocast: enabled', bound.enabled)
  local enabled = bound.enabled and is_possible(device, dtype)
  local cache = bound.cache_enabled
  if cache == nil then cache = C.is_autocast_cache_enabled() end
  return C._autocast(device, dtype, enabled, cache, fn)
end

local OPTIONS = {'device_type', 'cast_inputs'}

local function cast(value, device, dtype)
  if torch.is_tensor(value) then
    local eligible = value:is_floating_point() and value.device:match '^%a+' == device and value.dtype ~= 'float64'
    return eligible and value:to(dtype) or value
  end
  if type(value) ~= 'table' or getmetatable(value) ~= nil then return value end
  local out = {}
  -- Only copies values: the order is irrelevant.
  for key, item in next, value do out[key] = cast(item, device, dtype) end
  return out
end

---Returns a `forward(ctx, …)` of a torch.autograd.Function for use under autocast. With cast_inputs its floating-point
---arguments are cast to that dtype, and it runs with autocast off. PyTorch equivalent: torch.amp.custom_fwd.
---
---```lua
---local torch = require 'torch'
---local Product = torch.autograd.Function:extend 'Product'
---Product.forward = torch.amp.custom_fwd(function(ctx, a, b)
---  ctx:save_for_backward(a, b)
---  return a:mm(b)
---end, {device_type = 'cpu', cast_inputs = 'float32'})
---Product.backward = torch.amp.custom_bwd(function(ctx, grad)
---  local a, b = unpack(ctx.saved_tensors)
---  return grad:mm(b.T), a.T:mm(grad)
---end, {device_type = 'cpu'})
---local a = torch.ones(2, 2, {requires_grad = true})
---local y = torch.autocast('cpu', function() return Product.apply(a:mm(a), a) end)
---assert(y.dtype == 'float32')
---y:sum():backward()
---```
---@param forward fun(ctx: torch.autograd.FunctionCtx, ...: any): any
---@param options {device_type: string, cast_inputs: string}
---@return fun(ctx: torch.autograd.FunctionCtx, ...: any): any
function autocast.custom_fwd(forward, options)
  options = args.options(options, OPTIONS, 'custom_fwd')
  local device, dtype = check_device('custom_fwd', options.device_type), options.cast_inputs
  return function(ctx, ...)
    local enabled = C.is_autocast_enabled(device)
    ctx._dtype, ctx._fwd_used_autocast = C.get_autocast_dtype(device), enabled and dtype == nil
    if not enabled or dtype == nil then return forward(ctx, ...) end
    local given, count = {...}, select('#', ...)
    for i = 1, count do given[i] = cast(given[i], device, dtype) end
    return autocast.autocast(device, {enabled = false}, function() return forward(ctx, unpack(given, 1, count)) end)
  end
end

---Returns the `backward(ctx, …)` for a forward of custom_fwd: it runs in the autocast mode of forward. PyTorch
---equivalent: torch.amp.custom_bwd.
---@param backward fun(ctx: torch.autograd.FunctionCtx, ...: any): any
---@param options {device_type: string}
---@return fun(ctx: torch.autograd.FunctionCtx, ...: any): any
function autocast.custom_bwd(backward, options)
  options = args.options(options, {'device_type'}, 'custom_bwd')
  local device = check_device('custom_bwd', options.device_type)
  return function(ctx, ...)
    local given, count = {...}, select('#', ...)
    return autocast.autocast(device, {enabled = ctx._fwd_used_autocast, dtype = ctx._dtype}, function()
      return backward(ctx, unpack(given, 1, count))
    end)
  end
end

return autocast
