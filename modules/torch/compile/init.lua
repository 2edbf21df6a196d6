-- torch/compile/init.lua: torch.compile: a model or a function whose operators are recorded once, for calls without
-- gradients.

local args = require 'base.args'
local class = require 'base.class'
local Compiled = require 'torch.compile.compiled'
local errors = require 'base.errors'
local Module = require('torch.nn').Module
local show = require 'base.shown'
local torch = require 'torch'
local warnings = require 'base.warnings'

---@class torch.CompiledFunction: torch.compile.Compiled
---@field state string 'warming up', 'compiled' or 'eager'
---@field reason? string why it is 'eager'
local CompiledFunction = Compiled:extend 'CompiledFunction'

function CompiledFunction.__call(self, ...)
  if not torch.is_grad_enabled() then return Compiled.__call(self, ...) end
  warnings.warn 'torch.compile: a call with gradients runs eagerly: train.compile takes a whole training step'
  return self._fn(...)
end

---A model whose forward is recorded. The model itself is its child `_orig_mod`, as in PyTorch; a name that the wrapper
---lacks is the model's.
---PyTorch equivalent: torch._dynamo.OptimizedModule.
---@class torch.OptimizedModule: nn.Module
local OptimizedModule = Module:extend 'OptimizedModule'
OptimizedModule._is_wrapper = true  -- errors name the model's modules without the wrapper

function OptimizedModule.__index(self, name)
  local value = Module.__index(self, name)
  if value ~= nil then return value end
  local model = rawget(self, '_fields')._orig_mod
  return model and model[name]
end

function OptimizedModule:init(model, options)
  self._orig_mod = model
  self._compiled = CompiledFunction(function(...) return self._orig_mod(...) end, 'torch.compile', options)
end

function OptimizedModule:forward(...) return self._compiled(...) end

---Returns what the plans hold, as text: the operators that they call and how often.
---@return string
function OptimizedModule:explain() return self._compiled:explain() end

---Discards all plans. Call it after layers were replaced.
function OptimizedModule:reset() self._compiled:reset() end

local OPTIONS = {'fullgraph', 'dynamic', 'backend', 'mode', 'options', 'disable'}
local MODES = {'default', 'reduce-overhead', 'max-autotune', 'max-autotune-no-cudagraphs'}

local function check_options(options)
  options = Compiled.check_options(options, OPTIONS, 'torch.compile')
  args.one_of('torch.compile: mode', options.mode or 'default', MODES)
  args.one_of('torch.compile: backend', options.backend or 'inductor', {'inductor', 'eager'})
  if options.options then
    errors.raise('argument', 'torch.compile: options are those of a compiler, and here is none: leave them out')
  end
  return options
end

---Records the operators of a model, or of a function, and then runs them without Lua, with the same numbers: for calls
---without gradients, in `torch.no_grad` or `torch.inference_mode`. It returns a module (a function) that is called like
---the given one. Its first call in such a mode runs normally, the next two are recorded, and later calls run the list. No
---compiler is needed. Calls with gradients run eagerly: `train.compile` takes a whole training step.
---
---* A call runs the list if sizes, strides and dtypes of its arguments, training flags and modes are as in the recording.
---  Others get lists of their own, at most eight. Parameters may be changed in place or loaded.
---* The results are new tensors. Hooks of modules and other effects in Lua happen only while the model runs itself.
---* A model that reads a number of a tensor, or whose calls differ, stays as it is, with a warning that says why.
---
---PyTorch equivalent: torch.compile.
---@param model nn.Module|function
---@param options? {fullgraph: boolean, dynamic: boolean, mode: string, backend: string, disable: boolean} fullgraph = true: a
---  model that cannot be recorded raises code 'unsupported'; disable = true or backend = 'eager' returns the model itself;
---  mode = 'reduce-overhead': on a GPU the list becomes one CUDA graph; dynamic = true keeps 64 lists, and a new one takes the
---  place of that which was not used for longest
---@return torch.OptimizedModule|torch.CompiledFunction
---
---```lua
---local torch = require 'torch'
---local net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)):eval()
---local fast, x = torch.compile(net), torch.randn(3, 4)
---torch.no_grad(function()
---  for _ = 1, 5 do assert(torch.equal(fast(x), net(x))) end
---end)
---assert(fast:explain():match 'torch.compile%(compiled%)')
---```
local function compile(model, options)
  options = check_options(options)
  local is_module = class.is(model, Module)
  if not is_module and type(model) ~= 'function' then
    errors.raise('argument', 'torch.compile: expected a model or a function, got ' .. show(model))
  end
  if options.disable or options.backend == 'eager' then return model end
  if is_module then return OptimizedModule(model, options) end
  return CompiledFunction(model, 'torch.compile', options)
end

return {compile = compile, OptimizedModule = OptimizedModule, CompiledFunction = CompiledFunction}
