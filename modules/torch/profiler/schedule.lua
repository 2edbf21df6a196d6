-- torch/profiler/schedule.lua: chooses the steps of a loop that a profile records.

local args = require 'base.args'
local errors = require 'base.errors'

local ProfilerAction = require 'base.namespace'('torch.profiler.ProfilerAction', {},
  {NONE = 'NONE', WARMUP = 'WARMUP', RECORD = 'RECORD', RECORD_AND_SAVE = 'RECORD_AND_SAVE'})

local PARAMETERS = {'wait', 'warmup', 'active', 'repeat_', 'skip_first', 'skip_first_wait'}
local LEAST = {active = 1}

local function check(options)
  for _, name in ipairs(PARAMETERS) do
    local value = options[name]
    local is_needed = name == 'wait' or name == 'warmup' or name == 'active'
    local least = LEAST[name] or 0
    if value == nil and is_needed then
      errors.raise('argument', ('torch.profiler.schedule: %s is missing: a number of steps'):format(name))
    end
    if value ~= nil and (type(value) ~= 'number' or value < least or value ~= math.floor(value)) then
      errors.raise('argument', ('torch.profiler.schedule: %s: expected a whole number of steps, %d or more, got %s'):format(
        name, least, tostring(value)))
    end
  end
end

---Returns a schedule: `skip_first` steps are skipped, then in turn `wait` steps are skipped, `warmup` steps warm up the
---tracing, `active` steps are recorded; `repeat_` times, or to the end. PyTorch equivalent: torch.profiler.schedule.
---@param options {wait: integer, warmup: integer, active: integer, repeat_: integer?, skip_first: integer?}
---  also `skip_first_wait`: 1 omits the first `wait`
---@return fun(step: integer): string schedule returns a step's ProfilerAction
---
---```lua
---local torch = require 'torch'
---local action = torch.profiler.ProfilerAction
---local of = torch.profiler.schedule{wait = 1, warmup = 1, active = 2, repeat_ = 1}
---assert(of(0) == action.NONE and of(1) == action.WARMUP and of(2) == action.RECORD)
---assert(of(3) == action.RECORD_AND_SAVE and of(4) == action.NONE)
---```
local function schedule(options)
  options = args.options(options, PARAMETERS, 'torch.profiler.schedule')
  check(options)
  local wait, warmup, active = options.wait, options.warmup, options.active
  local cycles, skip_first = options.repeat_ or 0, options.skip_first or 0
  local length = wait + warmup + active
  return function(step)
    if step < skip_first then return ProfilerAction.NONE end
    step = step - skip_first
    if (options.skip_first_wait or 0) ~= 0 then step = step + wait end
    if cycles > 0 and step >= cycles * length then return ProfilerAction.NONE end
    local place = step % length
    if place < wait then return ProfilerAction.NONE end
    if place < wait + warmup then return ProfilerAction.WARMUP end
    return place < length - 1 and ProfilerAction.RECORD or ProfilerAction.RECORD_AND_SAVE
  end
end

return {schedule = schedule, ProfilerAction = ProfilerAction}
