-- torch/utils/checkpoint.lua: torch.utils.checkpoint: saves memory by recomputing activations in the backward pass.

local args = require 'base.args'
local errors = require 'base.errors'
local torch = require 'torch'

local OPTIONS = {'preserve_rng_state', 'use_reentrant', 'determinism_check', 'context_fn', 'debug', 'early_stop'}

-- A plan of train.compile calls fn at this place in each call.
local function at_each_call(what, fn)
  require('torch._C').recording.effect('checkpoint: ' .. what, fn, nil, nil, 'random')
end

-- Returns what will have the state of random numbers before the forward pass.
local function kept_rng_state()
  local rng = {}
  at_each_call('the state of random numbers is kept', function() rng.forward = torch.get_rng_state() end)
  return rng
end

-- Calls fn with the random numbers of the forward pass, and restores the generator.
local function with_rng_state(rng, fn)
  if not rng then return fn() end
  at_each_call('random numbers of the forward begin', function()
    rng.backward = torch.get_rng_state()
    torch.set_rng_state(rng.forward)
  end)
  local results = {pcall(fn)}
  at_each_call('random numbers of the forward end', function() torch.set_rng_state(rng.backward) end)
  if not results[1] then error(results[2], 0) end
end

-- Returns the autocast settings of the forward pass, by device.
local function autocast_state()
  local out = {}
  for _, device in ipairs(torch.cuda.is_available() and {'cpu', 'cuda'} or {'cpu'}) do
    out[#out + 1] = {device = device, enabled = torch.is_autocast_enabled(device),
                     dtype = torch.get_autocast_dtype(device)}
  end
  return out
end

local function with_autocast(state, fn)
  for _, of in ipairs(state) do
    local inner = fn
    fn = function() return torch.autocast(of.device, {dtype = of.dtype, enabled = of.enabled}, inner) end
  end
  return fn()
end

-- Runs the segment again and collects the tensors that its operations save, in order.
local function recompute(segment)
  local saved = {}
  local function pack(x)
    saved[#saved + 1] = x:detach()
    return #saved
  end
  local function unused() errors.raise('internal', 'checkpoint: backward inside the recomputation') end
  local function run()
    torch.autograd.graph.saved_tensors_hooks(pack, unused, segment.fn, unpack(segment.args, 1, segment.args.n))
  end
  with_rng_state(segment.rng, function() with_autocast(segment.autocast, function() torch.enable_grad(run) end) end)
  if #saved ~= segment.count then
    errors.raise('argument', ('checkpoint: the function saved %d tensors for backward, and %d when it was run again: '
      .. 'it must do the same each time'):format(segment.count, #saved))
  end
  return saved
end

local function check_same(segment, index, x)
  local wanted = segment.shapes[index]
  local got = ('%s %s'):format(x.dtype, tostring(x.shape))
  if wanted == got then return end
  errors.raise('argument', ('checkpoint: saved tensor %d was %s, and %s when the function was run again: it must do '
    .. 'the same each time'):format(index - 1, wanted, got))
end

-- Returns hooks that keep only a number for each saved tensor; the first access recomputes all of them.
local function hooks_of(segment, check)
  local function pack(x)
    segment.count = segment.count + 1
    if check then segment.shapes[segment.count] = ('%s %s'):format(x.dtype, tostring(x.shape)) end
    return segment.count
  end
  local function unpack_index(index)
    local saved = segment.saved
    if not saved or saved[index] == nil then
      saved = recompute(segment)
      segment.saved = saved
    end
    local x = saved[index]
    saved[index] = nil
    if check then check_same(segment, index, x) end
    return x
  end
  return pack, unpack_index
end

local function check_options(options)
  if options.use_reentrant then
    errors.raise('unsupported', 'checkpoint: use_reentrant=true is not in this version: leave it out')
  end
  if options.context_fn ~= nil or options.debug then
    errors.raise('unsupported', 'checkpoint: context_fn and debug are not in this version')
  end
  args.one_of('checkpoint: determinism_check', options.determinism_check or 'default', {'default', 'none'})
end

local checkpoint = {}

---Calls fn without keeping its activations: backward recomputes them, with the same random numbers and
---autocast. fn must do the same each time. PyTorch equivalent: torch.utils.checkpoint.checkpoint with use_reentrant=False (Chen
---et al. 2016).
---@param fn fun(...): ... a function or module
---@param ... any arguments of fn, then {preserve_rng_state = true, determinism_check = 'default'|'none'}
---@return any ... the results of fn
---
---```lua
---local torch = require 'torch'
---local block = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
---local x = torch.ones(2, 4, {requires_grad = true})
---torch.utils.checkpoint.checkpoint(block, x):sum():backward()
---local again = x.grad:clone()
---x.grad = nil
---block(x):sum():backward()
---assert(x.grad:equal(again))
---```
function checkpoint.checkpoint(fn, ...)
  local options, count = args.trailing('checkpoint', OPTIONS, ...)
  check_options(options)
  local given = {n = count, ...}
  if not torch.is_grad_enabled() then return fn(unpack(given, 1, count)) end
  local segment = {fn = fn, args = given, count = 0, shapes = {}, autocast = autocast_state()}
  if options.preserve_rng_state ~= false then segment.rng = kept_rng_state() end
  local pack, unpack_index = hooks_of(segment, options.determinism_check ~= 'none')
  return torch.autograd.graph.saved_tensors_hooks(pack, unpack_index, fn, unpack(given, 1, count))
end

---Calls the functions one after the other in `segments` checkpointed groups; the last group keeps its activations.
---@param functions nn.Sequential|function[]
---@param segments integer
---@param input any
---@param options? table as of checkpoint
---@return any output
function checkpoint.checkpoint_sequential(functions, segments, input, options)
  local count = #functions
  if type(segments) ~= 'number' or segments < 1 or segments > count then
    errors.raise('argument', ('checkpoint_sequential: segments must lie between 1 and %d, got %s'):format(count,
      tostring(segments)))
  end
  local size = math.floor(count / segments)
  local function run(first, last)
    return function(x)
      for i = first, last do x = functions[i](x) end
      return x
    end
  end
  local first = 1
  for _ = 1, segments - 1 do
    input = checkpoint.checkpoint(run(first, first + size - 1), input, options)
    first = first + size
  end
  return run(first, count)(input)
end

return require 'base.namespace'('torch.utils.checkpoint', nil, checkpoint)
