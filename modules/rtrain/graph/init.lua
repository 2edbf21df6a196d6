-- rtrain/graph/init.lua: train.graph: captures a training step as one CUDA graph.
--
-- policy.lua decides the action of a call, arguments.lua checks its arguments, torch.cuda.capture the modules and
-- optimizers in the step, and torch.cuda.graphs captures.

local args = require 'base.args'
local arguments = require 'torch.compile.arguments'
local class = require 'base.class'
local GraphPolicy = require 'rtrain.graph.policy'
local errors = require 'base.errors'
local hooks = require 'torch.optim.hooks'
local torch = require 'torch'
local virtual_ranks = require 'torch.distributed.virtual_ranks'
local warnings = require 'base.warnings'

---@class rtrain.Graph
---@field state string 'warming up', 'captured' or 'eager'
---@field reason? string why it is 'eager'
local Graph = class 'Graph'

local OPTIONS = {'warmup', 'pool', 'capture_error_mode'}

local function check_options(options)
  options = args.options(options, OPTIONS, 'train.graph')
  local warmup = options.warmup == nil and 3 or options.warmup
  if type(warmup) ~= 'number' or warmup < 1 or warmup % 1 ~= 0 then
    errors.raise('argument', ('train.graph: warmup is a positive integer, got %s'):format(tostring(warmup)))
  end
  local mode = options.capture_error_mode or 'thread_local'
  args.one_of('train.graph: capture_error_mode', mode, {'global', 'thread_local', 'relaxed'})
  return {warmup = warmup, pool = options.pool, capture_error_mode = mode}
end

function Graph:init(step_fn, options)
  local is_callable = type(step_fn) == 'function' or (getmetatable(step_fn) or {}).__call
  if not is_callable then errors.raise('argument', 'train.graph: expected the step, a function, got ' .. type(step_fn)) end
  self._step, self._options = step_fn, check_options(options)
  self:reset()
end

---Discards the graph and all decisions: the next call warms up again. Call it after the model has changed: layers
---frozen, parameters cast or replaced.
function Graph:reset()
  self._policy = GraphPolicy(self._options.warmup)
  self._shape, self._modes, self._graph = nil, nil, nil
  self._record = require('torch.cuda.capture').Capture()
  self:_tell()
end

function Graph:_tell(note)
  self.state, self.reason = self._policy.state, self._policy.reason
  if note then warnings.warn('train.graph: ' .. note) end
end

-- Returns the modes on which an operator's kernels also depend.
local function modes_now()
  local grad, autocast = torch.is_grad_enabled() and 'grad' or 'no_grad', 'no autocast'
  if torch.is_autocast_enabled('cuda') then autocast = 'autocast to ' .. torch.get_autocast_dtype('cuda') end
  return grad .. ', ' .. autocast
end

local function difference(self, modes, ...)
  if not self._shape then return nil end
  if modes ~= self._modes then return ('it was captured with %s and is called with %s'):format(self._modes, modes) end
  return arguments.difference(self._shape, ...)
end

local function device_refusal(shape)
  if torch.cuda.is_available() then return arguments.refusal(shape) end
  local _, reason = require('base._system').cuda()
  return 'no CUDA device: ' .. reason
end

local function virtual_refusal()
  if not virtual_ranks.get() then return nil end
  return 'ScalingConfig.virtual_workers: a graph repeats what the device does, and which batch of a step is the last one '
    .. 'is known on the host'
end

local function call_refusal()
  if torch.is_anomaly_enabled() then return 'anomaly detection looks at each result on the host' end
  if torch.is_inference_mode_enabled() then return 'it is called in inference mode' end
end

-- Returns the facts about this call. The next calls are compared with a call that differs, until there is a graph.
local function facts_of(self, ...)
  local modes = modes_now()
  local facts = {now = call_refusal(), difference = difference(self, modes, ...), has_ddp = self._record.has_ddp,
                 never = self._record.refusal or virtual_refusal(), change = self._graph and self._record:change()}
  if not self._shape or facts.difference and self.state == 'warming up' then
    self._shape, self._modes = arguments.shape(...), modes
    facts.never = facts.never or device_refusal(self._shape)
  end
  return facts
end

local function eager(self, ...) return arguments.detached(self._step(...)) end

local function finish_warmup(ok, ...)
  if not ok then error((...), 0) end
  return arguments.detached(...)
end

-- Runs a warm-up call on the stream of the capture, where libraries set up their state.
local function warm(self, ...)
  local on_side_stream = require('torch.cuda.graphs')._on_side_stream
  return finish_warmup(on_side_stream(self._record.watch, self._record, self._step, ...))
end

local HOST_HINT = ' (what waits for the device cannot be captured: item(), tolist(), cpu(), printing a tensor, boolean masks: '
  .. 'return the tensor and read it outside)'

local function reason_of(err)
  local text = type(err) == 'table' and err.message or tostring(err)
  text = text:gsub('\nCUDA kernel errors might be.*', ''):gsub('\nSearch for .*', '')
  return text .. (text:lower():find 'captur' and HOST_HINT or '')
end

-- Clears autocast's cached casts: a capture would take old casts for inputs, and later code would take the graph's
-- casts for values.
local function without_casts(fn, ...)
  torch.clear_autocast_cache()
  return fn(...)
end

local function packed(...) return {n = select('#', ...), ...} end

local function capture(self, ...)
  local cuda, options, record = torch.cuda, self._options, self._record
  local values, tensors = arguments.static(self._shape, ...)
  local graph = cuda.CUDAGraph()
  graph._capture = record
  record:write_rates()
  local out = packed(without_casts(xpcall, cuda.graph, errors.wrap, graph, {pool = options.pool,
    capture_error_mode = options.capture_error_mode}, self._step, unpack(values, 1, values.n)))
  torch.clear_autocast_cache()
  if not out[1] then return false, out[2] end
  self._graph, self._inputs = graph, tensors
  self._outputs = packed(arguments.detached(unpack(out, 2, out.n)))
  self._policy:captured()
  return true
end

local function replay(self, ...)
  for i, tensor in ipairs(arguments.tensors(self._shape, ...)) do self._inputs[i]:copy_(tensor) end
  self._graph:replay()
  hooks.made(self._record.optimizers)
  return unpack(self._outputs, 1, self._outputs.n)
end

local function capture_and_replay(self, ...)
  local ok, err = capture(self, ...)
  if ok then
    self:_tell()
    return replay(self, ...)
  end
  self._record:abandon()
  local _, note = self._policy:fail(reason_of(err))
  self:_tell(note)
  return eager(self, ...)
end

local ACTIONS = {eager = eager, warm = warm, capture = capture_and_replay, replay = replay}

local function call(self, ...)
  local capturing = require 'torch.cuda.capture'
  -- Inside another graph's step it is a part of that graph; and the state 'eager' is final.
  if capturing.is_capturing() or self._policy.state == 'eager' then return eager(self, ...) end
  local action, note = self._policy:next(facts_of(self, ...))
  if action == 'warm' and self._graph then self._graph = nil end
  self:_tell(note)
  return ACTIONS[action](self, ...)
end

function Graph.__call(self, ...) return hooks.holding_made(call, self, ...) end

function Graph.__tostring(self)
  return ('train.graph(%s%s)'):format(self.state, self.reason and ': ' .. self.reason or '')
end

---Makes a training step one CUDA graph: returns a function that is called like the step. Its first `warmup` calls (11
---with a DistributedDataParallel inside) run normally, on a side stream; then the step's GPU work is captured, and
---every later call launches it as a whole: the same kernels on the same memory, without the Lua between them.
---
---* The arguments' tensors are copied into the graph's own. A call runs without the graph, with a warning, if its
---  arguments differ in anything but the numbers of their tensors (another shape, dtype or device, another number or
---  string), or if its grad mode or autocast differs: use `drop_last` for equal batches. Other values that the step
---  reads from Lua keep their captured value, and other effects in Lua (counting, printing, reports) happen only in the
---  first calls.
---* The results are the graph's own tensors, without a history: the next call overwrites them; `clone()` them to keep
---  them.
---* Put forward, backward, `optimizer:step()` and `zero_grad()` into the step. Adam, AdamW, SGD, Adagrad, Adadelta,
---  Adamax, RMSprop, Rprop and Muon can be inside, and learning-rate schedules can run outside of it: each replay reads
---  the rate. Other changes of options (`betas` by OneCycleLR's cycle_momentum), or a loaded state, cause a new warm-up
---  and capture.
---* A GradScaler can be inside with Adam, AdamW, SGD or Adagrad, autocast too. Random numbers are new in each replay.
---* Once there is a graph, zero_grad outside of the step zeroes gradients on the GPU in place.
---
---If no graph is possible, the step runs normally and the reason is reported once, as `state`, `reason` and a warning:
---with ScalingConfig.virtual_workers, on the CPU, with arguments on the CPU, if the step waits for the GPU (`item()`), with
---other optimizers, or with gradients over Gloo. A call under anomaly detection runs without the graph.
---@param step_fn fun(...: any): ... forward, backward and the optimizer's step
---@param options? {warmup: integer, pool: table, capture_error_mode: string} warmup = 3; pool: memory that several graphs share
---  (torch.cuda.graph_pool_handle); capture_error_mode = 'thread_local'
---@return rtrain.Graph step callable; `state`, `reason`, `reset()`
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local device = torch.cuda.is_available() and 'cuda' or 'cpu'
---local model = torch.nn.Linear(4, 1):to(device)
---local optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.01})
---local step = train.graph(function(x, y)
---  optimizer:zero_grad()
---  local loss = torch.nn.functional.mse_loss(model(x), y)
---  loss:backward()
---  optimizer:step()
---  return loss
---end)
---local x, y = torch.randn(8, 4):to(device), torch.randn(8, 1):to(device)
---local first = step(x, y):item()
---for _ = 1, 9 do step(x, y) end
---assert(step(x, y):item() < first)
---assert(step.state == (device == 'cpu' and 'eager' or 'captured'))
---```
local function graph(step_fn, options) return Graph(step_fn, options) end

return {graph = graph, Graph = Graph}
