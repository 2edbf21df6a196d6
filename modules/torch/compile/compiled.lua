-- torch/compile/compiled.lua: a function whose operators are recorded, and then run without Lua: the base of what
-- train.compile and torch.compile return.
--
-- policy.lua decides the action of a call, recording.lua records, and torch._C.recording has the plans.

local args = require 'base.args'
local arguments = require 'torch.compile.arguments'
local class = require 'base.class'
local CompilePolicy = require 'torch.compile.policy'
local engine = require 'torch._C'
local errors = require 'base.errors'
local hooks = require 'torch.optim.hooks'
local Recording = require 'torch.compile.recording'
local phases = require 'base.phases'
local PlanGraph = require 'torch.compile.plan_graph'
local virtual_ranks = require 'torch.distributed.virtual_ranks'
local warnings = require 'base.warnings'

-- Recordings that are kept for a plan: of a dynamic step there may be more.
local MOST_PENDING = 8

---@class torch.compile.Compiled
---@field state string 'warming up', 'compiled' or 'eager'
---@field reason? string why it is 'eager'
local Compiled = class 'Compiled'

---@param fn function
---@param name string of the function that compiles, for messages
---@param options {fullgraph: boolean, dynamic: boolean}
function Compiled:init(fn, name, options)
  self._fn, self._name, self._options = fn, name, options
  self._checks = os.getenv 'RTRAIN_COMPILE_CHECK' == '1'
  self:reset()
end

---Checks the options of train.compile and torch.compile, and returns them.
---@param options table|nil
---@param names string[] the valid ones
---@param what string the function
---@return table options
function Compiled.check_options(options, names, what)
  options = args.options(options, names, what)
  for _, name in ipairs{'dynamic', 'fullgraph', 'fast_math', 'disable'} do
    if options[name] ~= nil and type(options[name]) ~= 'boolean' then
      errors.raise('argument', ('%s: %s is a boolean, got %s'):format(what, name, type(options[name])))
    end
  end
  return options
end

---Discards all plans: the next call warms up again. Call it after the model has changed: layers replaced, buffers that
---are other tensors now.
function Compiled:reset()
  self._policy = CompilePolicy(self._options.dynamic)
  self._plans, self._pending = {}, {}
  if os.getenv 'RTRAIN_COMPILE' == '0' then self._policy:fail 'RTRAIN_COMPILE=0' end
  self:_tell()
end

function Compiled:_tell(note)
  self.state, self.reason = self._policy.state, self._policy.reason
  if not note then return end
  if self._options.fullgraph and self.state == 'eager' then
    errors.raise('unsupported', ('%s: fullgraph = true, but %s'):format(self._name, self.reason))
  end
  warnings.warn(('%s: %s'):format(self._name, note))
end

---Returns in which part of a step this call is: each part has plans of its own.
---@return string|nil part nil if there are none
function Compiled:_part() end

---Returns why this call can neither be recorded nor run a plan.
---@return string|nil refusal
function Compiled:_call_refusal() end

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

-- Returns the list with the entry in front. Those at its end were not used for longest.
local function with_first(list, entry, most)
  if list[1] == entry then return list end
  local out = {entry}
  for _, item in ipairs(list) do
    if item ~= entry and #out < most then out[#out + 1] = item end
  end
  return out
end

-- Returns the plan whose facts are those of this call.
local function find(self, modes, ...)
  for _, entry in ipairs(self._plans) do
    local tensors = entry.modes == modes and arguments.tensors_of_same(entry.shape, ...)
    local misfit = tensors and (entry.plan:misfit(tensors) or entry.recording.watch:change())
    if tensors and not misfit then
      self._plans = with_first(self._plans, entry, self._policy.most_plans)
      return entry, tensors
    end
    self._misfit = misfit or self._misfit
  end
end

-- Returns what has been recorded for such arguments and is not a plan yet.
local function pending(self, modes, ...)
  for _, entry in ipairs(self._pending) do
    local is_same = entry.modes == modes and not arguments.difference(entry.shape, ...)
    if is_same and not entry.recording.watch:module_change() then return entry end
  end
  return {modes = modes, shape = arguments.shape(...), count = 0}
end

local function facts_of(self, modes, is_anomaly, ...)
  forget_disconnected(self)
  local refusal = is_anomaly and 'anomaly detection looks at each result' or self:_call_refusal()
  local facts = {now = refusal, num_plans = #self._plans + #self._pending, is_held = virtual_ranks.is_held()}
  facts.entry, facts.tensors = find(self, modes, ...)
  facts.fits = facts.entry ~= nil
  if facts.fits then return facts end
  facts.entry = pending(self, modes, ...)
  facts.is_pending = facts.entry.count > 0
  return facts
end

local function eager(self, _, ...) return arguments.detached(self._fn(...)) end

local function without(list, entry)
  local out = {}
  for _, item in ipairs(list) do
    if item ~= entry then out[#out + 1] = item end
  end
  return out
end

-- Makes a plan of two equal recordings. `change`: of a variable, between them.
local function take(self, entry, recording, change)
  self._pending = with_first(self._pending, entry, MOST_PENDING)
  entry.count = entry.count + 1
  local difference = change or entry.recording and entry.recording:difference(recording)
  local has_plan, note = self._policy:recorded(entry.count, difference)
  entry.recording = recording
  if has_plan then
    entry.plan, recording.record = recording.record:plan(self._options.fast_math or false), nil
    self._plans = with_first(self._plans, entry, self._policy.most_plans)
    self._pending = without(self._pending, entry)
  end
  self:_tell(note)
end

local function recorded(self, entry, recording, change, ...)
  if recording.watch.has_new_state and self._policy:waits() then return arguments.detached(...) end
  if recording.refusal then
    local _, note = self._policy:fail(recording.refusal)
    self._plans, self._pending = {}, {}
    self:_tell(note)
  else
    take(self, entry, recording, change)
  end
  return arguments.detached(...)
end

local function record(self, facts, ...)
  local entry, recording = facts.entry, Recording()
  local given = {tensors = arguments.tensors(entry.shape, ...), before = entry.recording and entry.recording.record}
  local change = entry.recording and entry.recording.watch:variable_change()
  return recorded(self, entry, recording, change, recording:run(self._fn, given, ...))
end

-- Runs eagerly from here on, since a plan has failed before it changed anything.
local function give_up(self, entry, err, ...)
  pcall(entry.recording.watch.abandon, entry.recording.watch)  -- the error of the plan is the cause
  if entry.plan:changes_state() then error(err, 0) end
  local _, note = self._policy:fail('a plan failed: ' .. (type(err) == 'table' and err.message or tostring(err)))
  self._plans = {}
  self:_tell(note)
  return eager(self, nil, ...)
end

-- Ends the step as the optimizers would, which have not run.
local function end_step(optimizers)
  phases.leave(phases.enter(phases.OPTIMIZER))
  hooks.made(optimizers)
  engine.step_boundary()
end

local function outputs_of(self, entry, tensors)
  local rates = entry.recording.watch:rates()
  if self._options.mode ~= 'reduce-overhead' then return entry.plan:run(tensors, rates) end
  entry.graph = entry.graph or PlanGraph(entry.plan)
  return entry.graph:run(tensors, rates)
end

local function run(self, facts, ...)
  local entry = facts.entry
  local watch = entry.recording.watch
  watch:write_rates()
  local is_step = #watch.optimizers > 0
  local phase = is_step and phases.enter(phases.BACKWARD)
  local ok, out = pcall(outputs_of, self, entry, facts.tensors)
  if is_step then phases.leave(phase) end
  if not ok then return give_up(self, entry, out, ...) end
  watch:follow()
  if is_step then end_step(watch.optimizers) end
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
  return checked(self, entry, check, recording, recording:run(self._fn, given, ...))
end

local ACTIONS = {eager = eager, record = record, run = run}

local function call(self, ...)
  -- Inside another step that is recorded it is a part of that step; and the state 'eager' is final.
  if self._policy.state == 'eager' then return eager(self, nil, ...) end
  local modes, is_anomaly, is_recording = engine.recording.modes()
  if is_recording then return eager(self, nil, ...) end
  local part = self:_part()
  if part then modes = modes .. part end
  local facts = facts_of(self, modes, is_anomaly, ...)
  local action, note = self._policy:next(facts)
  if note then self:_tell(note) end
  if action == 'run' and self._checks then return run_checked(self, facts, ...) end
  return ACTIONS[action](self, facts, ...)
end

function Compiled.__call(self, ...) return hooks.holding_made(call, self, ...) end

function Compiled.__tostring(self)
  return ('%s(%s%s)'):format(self._name, self.state, self.reason and ': ' .. self.reason or '')
end

-- Regions that are listed of a plan.
local MOST_REGIONS = 8

-- The regions that save most.
local function explain_regions(regions, lines)
  table.sort(regions, function(a, b) return a.bytes_saved > b.bytes_saved end)
  for i = 1, math.min(#regions, MOST_REGIONS) do
    local region = regions[i]
    lines[#lines + 1] = ('  %s%s: %d operators, %.3g MB'):format(region.name, region.line ~= '' and ' at ' .. region.line or '',
      region.num_calls, region.bytes_saved / 1e6)
  end
  if #regions > MOST_REGIONS then lines[#lines + 1] = ('  and %d more'):format(#regions - MOST_REGIONS) end
end

local function explain_kernels(summary, lines)
  if summary.kernels == 0 then return end
  lines[#lines + 1] = ('  of the regions %d are for the GPU: %d have their kernel, launched %d times'):format(summary.kernels,
    summary.kernels_ready, summary.launches)
  if summary.kernel_refusal ~= '' then
    lines[#lines + 1] = '  a region whose operators are called instead: ' .. summary.kernel_refusal
  end
end

local function explain_calls(calls, lines)
  local names = {}
  for name in next, calls do names[#names + 1] = name end
  table.sort(names, function(a, b)
    if calls[a] ~= calls[b] then return calls[a] > calls[b] end
    return a < b
  end)
  for _, name in ipairs(names) do lines[#lines + 1] = ('  %4d  %s'):format(calls[name], name) end
end

local function explain_plan(entry, i, lines)
  local summary, count = entry.plan:summary(), 0
  for _, number in next, summary.calls do count = count + number end
  lines[#lines + 1] = ('plan %d: %d operators recorded, %d of them called; %d in %d regions, which save %.3g MB of memory '
    .. 'traffic; %d views need no call, the results of %d are not used'):format(i, summary.recorded, count,
    summary.region_calls, #summary.regions, summary.bytes_saved / 1e6, summary.views, summary.dropped)
  explain_regions(summary.regions, lines)
  explain_kernels(summary, lines)
  if entry.graph then lines[#lines + 1] = '  ' .. tostring(entry.graph) end
  explain_calls(summary.calls, lines)
end

---Returns what the plans hold, as text: the regions, with the line of the script that made their first operator and the
---memory traffic that they save, and the operators that are called, with how often.
---@return string
function Compiled:explain()
  local lines = {tostring(self)}
  if self._misfit then lines[2] = 'the last call that no plan fitted: ' .. self._misfit end
  for i, entry in ipairs(self._plans) do explain_plan(entry, i, lines) end
  return table.concat(lines, '\n')
end

return Compiled
