-- rtrain/compile/init.lua: train.compile: records a training step, and runs the recorded operators without Lua.
--
-- policy.lua decides the action of a call, recording.lua records, and torch._C.recording has the plans.

local args = require 'base.args'
local arguments = require 'rtrain.graph.arguments'
local class = require 'base.class'
local CompilePolicy = require 'rtrain.compile.policy'
local engine = require 'torch._C'
local errors = require 'base.errors'
local hooks = require 'torch.optim.hooks'
local Recording = require 'rtrain.compile.recording'
local phases = require 'base.phases'
local torch = require 'torch'
local warnings = require 'base.warnings'

---@class rtrain.CompiledStep
---@field state string 'warming up', 'compiled' or 'eager'
---@field reason? string why it is 'eager'
local CompiledStep = class 'CompiledStep'

local OPTIONS = {'mode', 'dynamic', 'fullgraph', 'fast_math'}

local function check_options(options)
  options = args.options(options, OPTIONS, 'train.compile')
  args.one_of('train.compile: mode', options.mode or 'default', {'default', 'reduce-overhead'})
  for _, name in ipairs{'dynamic', 'fullgraph', 'fast_math'} do
    if options[name] ~= nil and type(options[name]) ~= 'boolean' then
      errors.raise('argument', ('train.compile: %s is a boolean, got %s'):format(name, type(options[name])))
    end
  end
  return options
end

function CompiledStep:init(step_fn, options)
  local is_callable = type(step_fn) == 'function' or (getmetatable(step_fn) or {}).__call
  if not is_callable then errors.raise('argument', 'train.compile: expected the step, a function, got ' .. type(step_fn)) end
  self._step, self._options = step_fn, check_options(options)
  self._checks = os.getenv 'RTRAIN_COMPILE_CHECK' == '1'
  self:reset()
end

---Discards all plans: the next call warms up again. Call it after the model has changed: layers replaced, buffers that
---are other tensors now.
function CompiledStep:reset()
  self._policy = CompilePolicy()
  self._plans, self._pending = {}, {}
  if os.getenv 'RTRAIN_COMPILE' == '0' then self._policy:fail 'RTRAIN_COMPILE=0' end
  self:_tell()
end

function CompiledStep:_tell(note)
  self.state, self.reason = self._policy.state, self._policy.reason
  if not note then return end
  if self._options.fullgraph and self.state == 'eager' then
    errors.raise('unsupported', 'train.compile: fullgraph = true, but ' .. self.reason)
  end
  warnings.warn('train.compile: ' .. note)
end

-- Returns the modes on which the recorded operators depend, as one string that needs no concatenation.
local MODES = {}
local function modes_now()
  local autocast = torch.is_autocast_enabled('cpu') and torch.get_autocast_dtype('cpu') or 'none'
  local dtype = torch.get_default_dtype()
  local of_dtype = MODES[dtype] or {}
  MODES[dtype] = of_dtype
  local modes = of_dtype[autocast]
  if not modes then
    modes = {[true] = ('grad, autocast %s, %s'):format(autocast, dtype),
             [false] = ('no_grad, autocast %s, %s'):format(autocast, dtype)}
    of_dtype[autocast] = modes
  end
  return modes[torch.is_grad_enabled()]
end

local function call_refusal()
  if torch.is_anomaly_enabled() then return 'anomaly detection looks at each result' end
  if torch.is_inference_mode_enabled() then return 'it is called in inference mode' end
  if hooks.is_watching() then return 'rtrain check looks at each step of an optimizer' end
end

local function is_of(entry, modes, ...) return entry.modes == modes and not arguments.difference(entry.shape, ...) end

local function connected(list)
  local out = {}
  for _, entry in ipairs(list) do
    if not entry.recording.watch:is_disconnected() then out[#out + 1] = entry end
  end
  return out
end

-- After a loss of ranks nothing that was recorded before it is used again.
local function forget_disconnected(self)
  local any = self._plans[1] or self._pending[1]
  if not any or not any.recording.watch:is_disconnected() then return end
  self._plans, self._pending = connected(self._plans), connected(self._pending)
end

-- Returns the plan whose facts are those of this call.
local function find(self, modes, ...)
  for _, entry in ipairs(self._plans) do
    if is_of(entry, modes, ...) and not entry.recording.watch:change() then
      local tensors = arguments.tensors(entry.shape, ...)
      local misfit = entry.plan:misfit(tensors)
      if not misfit then return entry, tensors end
      self._misfit = misfit
    end
  end
end

-- Returns what has been recorded for such arguments and is not a plan yet.
local function pending(self, modes, ...)
  for _, entry in ipairs(self._pending) do
    if is_of(entry, modes, ...) then return entry end
  end
  return {modes = modes, shape = arguments.shape(...), count = 0}
end

local function facts_of(self, ...)
  local modes = modes_now()
  forget_disconnected(self)
  local facts = {now = call_refusal(), num_plans = #self._plans + #self._pending}
  facts.entry, facts.tensors = find(self, modes, ...)
  facts.fits = facts.entry ~= nil
  if facts.fits then return facts end
  facts.entry = pending(self, modes, ...)
  facts.is_pending = facts.entry.count > 0
  return facts
end

local function eager(self, _, ...) return arguments.detached(self._step(...)) end

local function without(list, entry)
  local out = {}
  for _, item in ipairs(list) do
    if item ~= entry then out[#out + 1] = item end
  end
  return out
end

-- Makes a plan of two equal recordings.
local function take(self, entry, recording)
  if entry.count == 0 then self._pending[#self._pending + 1] = entry end
  entry.count = entry.count + 1
  local difference = entry.recording and entry.recording:difference(recording)
  local has_plan, note = self._policy:recorded(entry.count, difference)
  entry.recording = recording
  if has_plan then
    entry.plan, recording.record = recording.record:plan(), nil
    self._plans[#self._plans + 1], self._pending = entry, without(self._pending, entry)
  end
  self:_tell(note)
end

local function recorded(self, entry, recording, ...)
  if recording.refusal then
    local _, note = self._policy:fail(recording.refusal)
    self._plans, self._pending = {}, {}
    self:_tell(note)
  else
    take(self, entry, recording)
  end
  return arguments.detached(...)
end

local function record(self, facts, ...)
  local entry, recording = facts.entry, Recording()
  local given = {tensors = arguments.tensors(entry.shape, ...), before = entry.recording and entry.recording.record}
  return recorded(self, entry, recording, recording:run(self._step, given, ...))
end

-- Runs eagerly from here on, since a plan has failed before it changed anything.
local function give_up(self, entry, err, ...)
  if entry.plan:changes_state() then error(err, 0) end
  local _, note = self._policy:fail('a plan failed: ' .. (type(err) == 'table' and err.message or tostring(err)))
  self._plans = {}
  self:_tell(note)
  return eager(self, nil, ...)
end

-- Ends the step as the optimizers would, which have not run.
local function end_step()
  phases.leave(phases.enter(phases.OPTIMIZER))
  engine.step_boundary()
end

local function run(self, facts, ...)
  local entry = facts.entry
  local watch = entry.recording.watch
  watch:write_rates()
  local phase = phases.enter(phases.BACKWARD)
  local ok, out = pcall(entry.plan.run, entry.plan, facts.tensors, watch:rates())
  phases.leave(phase)
  if not ok then return give_up(self, entry, out, ...) end
  if #watch.optimizers > 0 then end_step() end
  return entry.recording:results_of(out)
end

local function checked(self, entry, check, recording, ...)
  local difference = recording.refusal or check:difference(recording.record, recording.watch:rates())
  if difference then
    local _, note = self._policy:fail('RTRAIN_COMPILE_CHECK: ' .. difference)
    self._plans = {}
    self:_tell(note)
  end
  return arguments.detached(...)
end

-- Runs the step, and the plan on copies: the step's results count.
local function run_checked(self, facts, ...)
  local entry, recording = facts.entry, Recording()
  entry.recording.watch:write_rates()
  local check = entry.plan:check(facts.tensors)
  local given = {tensors = facts.tensors, before = entry.plan, keeps_results = true}
  return checked(self, entry, check, recording, recording:run(self._step, given, ...))
end

local ACTIONS = {eager = eager, record = record, run = run}

function CompiledStep.__call(self, ...)
  -- Inside another step that is recorded it is a part of that step; and the state 'eager' is final.
  if self._policy.state == 'eager' or engine.recording.is_recording() then return eager(self, nil, ...) end
  local facts = facts_of(self, ...)
  local action, note = self._policy:next(facts)
  if note then self:_tell(note) end
  if action == 'run' and self._checks then return run_checked(self, facts, ...) end
  return ACTIONS[action](self, facts, ...)
end

function CompiledStep.__tostring(self)
  return ('train.compile(%s%s)'):format(self.state, self.reason and ': ' .. self.reason or '')
end

local function explain_plan(entry, i, lines)
  local summary, names, count = entry.plan:summary(), {}, 0
  for name, number in next, summary.calls do
    names[#names + 1] = name
    count = count + number
  end
  table.sort(names, function(a, b)
    if summary.calls[a] ~= summary.calls[b] then return summary.calls[a] > summary.calls[b] end
    return a < b
  end)
  lines[#lines + 1] = ('plan %d: %d operators recorded, %d of them called; %d in %d regions, which save %.3g MB of memory '
    .. 'traffic; %d views need no call, the results of %d are not used'):format(i, summary.recorded, count,
    summary.region_calls, summary.regions, summary.bytes_saved / 1e6, summary.views, summary.dropped)
  for _, name in ipairs(names) do lines[#lines + 1] = ('  %4d  %s'):format(summary.calls[name], name) end
end

---Returns what the plans hold, as text: the operators that they call and how often.
---@return string
function CompiledStep:explain()
  local lines = {tostring(self)}
  if self._misfit then lines[2] = 'the last call that no plan fitted: ' .. self._misfit end
  for i, entry in ipairs(self._plans) do explain_plan(entry, i, lines) end
  return table.concat(lines, '\n')
end

---Records a training step and then runs its operators without Lua and without autograd: forward, backward and the
---optimizer's step are one list, with the same numbers as before. PyTorch's equivalent is torch.compile, which takes the
---forward alone. It returns a function that is called like the step. Its first call runs normally, its second and third are
---recorded; if both did the same, later calls run the list.
---
---* A call runs the list if what it took as given still holds: sizes, strides, dtypes and other values of the arguments;
---  grad mode and autocast; options of optimizers, training flags of modules, requires_grad. Other arguments get lists of
---  their own, at most eight. Learning rates of Adam, AdamW and SGD may change at any time.
---* DistributedDataParallel and collectives in the step are parts of the list, in the same order on every rank.
---* Random numbers are those that the step would draw. Parameters, gradients, buffers and states of optimizers are as after
---  the step. The results have no history, as those of `train.graph`.
---* Other effects in Lua (counting, printing, reports) happen only while the step runs itself: in the first three calls.
---
---The step stays as it is, with `state`, `reason` and a warning that say why, if it reads a number of a tensor (`item()`,
---`tolist()`), has tensors on a GPU, sizes that depend on numbers (boolean masks), or a collective that it does not wait for,
---or if its calls differ, as when it uses a counter of Lua. Environment: `RTRAIN_COMPILE=0` runs all steps eagerly;
---`RTRAIN_COMPILE_CHECK=1` runs the list and the step in each call and names the first operator that differs.
---@param step_fn fun(...: any): ... forward, backward and the optimizer's step
---@param options? {mode: string, dynamic: boolean, fullgraph: boolean, fast_math: boolean} mode: 'default' or
---  'reduce-overhead', which is the same on a CPU; fullgraph = true: a step that cannot be recorded raises code
---  'unsupported'; dynamic and fast_math change nothing yet
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
