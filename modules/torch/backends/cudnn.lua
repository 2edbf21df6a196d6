-- torch/backends/cudnn.lua: torch.backends.cudnn: how convolutions and recurrent networks use cuDNN.

local args = require 'base.args'
local errors = require 'base.errors'
local switches = require 'torch.backends.switches'

local cudnn = {}

local function functions() return require('torch._C').backends end

---Returns cuDNN's version, 91900 for 9.19.0; nil if LibTorch has no cuDNN. PyTorch equivalent:
---torch.backends.cudnn.version.
---@return integer|nil
function cudnn.version() return functions().cudnn_version() end

---Returns whether this LibTorch has cuDNN. PyTorch equivalent: torch.backends.cudnn.is_available.
---@return boolean
function cudnn.is_available() return cudnn.version() ~= nil end

local FLAGS = {'enabled', 'benchmark', 'benchmark_limit', 'deterministic', 'allow_tf32'}

local function set_all(values)
  for _, name in ipairs(FLAGS) do
    if values[name] ~= nil then cudnn[name] = values[name] end
  end
end

local function restore_and_return(before, ok, ...)
  set_all(before)
  if not ok then error((...), 0) end
  return ...
end

---Calls fn with these settings; afterwards they are as before. PyTorch equivalent: the context manager
---torch.backends.cudnn.flags.
---@param options {enabled: boolean, benchmark: boolean, benchmark_limit: integer, deterministic: boolean, allow_tf32: boolean}
---@param fn fun(...): ...
---@param ... any arguments of fn
---@return any ... the results of fn
---
---```lua
---local torch = require 'torch'
---local inside = torch.backends.cudnn.flags({benchmark = true}, function() return torch.backends.cudnn.benchmark end)
---assert(inside and not torch.backends.cudnn.benchmark)
---```
function cudnn.flags(options, fn, ...)
  options = args.options(options, FLAGS, 'torch.backends.cudnn.flags')
  if type(fn) ~= 'function' then
    errors.raise('argument', 'torch.backends.cudnn.flags: expected a function, got ' .. type(fn))
  end
  local before = {}
  for _, name in ipairs(FLAGS) do before[name] = cudnn[name] end
  set_all(options)
  return restore_and_return(before, xpcall(fn, errors.wrap, ...))
end

return switches.switches('torch.backends.cudnn', cudnn, {
  enabled = switches.switch 'cudnn.enabled',
  benchmark = switches.switch 'cudnn.benchmark',
  deterministic = switches.switch 'cudnn.deterministic',
  allow_tf32 = switches.switch 'cudnn.allow_tf32',
  benchmark_limit = {function() return functions().benchmark_limit() end,
                     function(value) functions().set_benchmark_limit(value) end},
})
