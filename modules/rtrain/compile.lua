-- rtrain/compile.lua: train.compile: a training step that is recorded once and then runs without Lua.

local args = require 'base.args'
local Compiled = require 'torch.compile.compiled'
local errors = require 'base.errors'
local hooks = require 'torch.optim.hooks'
local virtual_ranks = require 'torch.distributed.virtual_ranks'

---@class rtrain.CompiledStep: torch.compile.Compiled
---@field state string 'warming up', 'compiled' or 'eager'
---@field reason? string why it is 'eager'
local CompiledStep = Compiled:extend 'CompiledStep'

local OPTIONS = {'mode', 'dynamic', 'fullgraph', 'fast_math'}

function CompiledStep:init(step_fn, options)
  local is_callable = type(step_fn) == 'function' or (getmetatable(step_fn) or {}).__call
  if not is_callable then errors.raise('argument', 'train.compile: expected the step, a function, got ' .. type(step_fn)) end
  options = Compiled.check_options(options, OPTIONS, 'train.compile')
  args.one_of('train.compile: mode', options.mode or 'default', {'default', 'reduce-overhead'})
  Compiled.init(self, step_fn, 'train.compile', options)
end

-- With virtual_workers optimizers step in the last batch of a step alone.
function CompiledStep:_part() return virtual_ranks.part() end

function CompiledStep:_call_refusal()
  if hooks.is_watching() then return 'rtrain check looks at each step of an optimizer' end
end

---Records a training step and then runs its operators without Lua and without autograd: forward, backward and the
---optimizer's step are one list, with the same numbers as before. PyTorch's equivalent is torch.compile, which takes the
---forward alone. It returns a function that is called like the step. Its first call runs normally, its second and third are
---recorded; if both did the same, later calls run the list.
---
---* A call runs the list if what it took as given still holds: sizes, strides, dtypes and other values of the arguments;
---  grad mode and autocast; variables and plain tables around the step, fields and training flags of modules, requires_grad;
---  options of optimizers, but for numbers, which may change at any time. Other arguments get lists of their own, at most
---  eight.
---* DistributedDataParallel, `fully_shard` on CPUs, and collectives in the step are parts of the list, in the same order on
---  every rank.
---* On a GPU, with `RTRAIN_COMPILE=gpu`, kernels of the list are compiled while it runs without them; their sums have
---  other last digits.
---* Random numbers are those that the step would draw. Parameters, gradients, buffers and states of optimizers are as after
---  the step. The results have no history, as those of `train.graph`.
---* With ScalingConfig.virtual_workers the first, the last and the other batches of a step get lists of their own.
---* Other effects in Lua (printing, reports) happen only while the step runs itself: in the first three calls.
---
---The step stays as it is, with `state`, `reason` and a warning that say why, if it reads a number of a tensor (`item()`,
---`tolist()`), has tensors on a GPU (without `RTRAIN_COMPILE=gpu`) or on several, sizes that depend on numbers (boolean
---masks), or a collective that it does not wait for, or if its calls differ, as when it uses a counter of Lua. Environment:
---`RTRAIN_COMPILE=0` runs all steps eagerly; `RTRAIN_COMPILE_CHECK=1` runs the list and the step in each call and names the
---first operator that differs.
---@param step_fn fun(...: any): ... forward, backward and the optimizer's step
---@param options? {mode: string, dynamic: boolean, fullgraph: boolean, fast_math: boolean} mode: 'default' or
---  'reduce-overhead', which makes one CUDA graph of a plan on a GPU; fullgraph = true: a step that cannot be recorded
---  raises code 'unsupported'; fast_math = true: numbers may differ from the step's in their last digits; dynamic = true:
---  lists for 64 sets of arguments are kept, and a new one takes the place of that which was not used for longest
---@return rtrain.CompiledStep step callable; `state`, `reason`, `explain()`, `reset()`
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local model = torch.nn.Linear(4, 1)
---local optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.01})
---local step = train.compile(function(x, y)
---  optimizer:zero_grad()
---  local loss = torch.nn.functional.mse_loss(model(x), y)
---  loss:backward()
---  optimizer:step()
---  return loss
---end)
---local x, y = torch.randn(8, 4), torch.randn(8, 1)
---local first = step(x, y):item()
---for _ = 1, 9 do step(x, y) end
---assert(step(x, y):item() < first and step.state == 'compiled')
---```
local function compile(step_fn, options) return CompiledStep(step_fn, options) end

return {compile = compile, CompiledStep = CompiledStep}
