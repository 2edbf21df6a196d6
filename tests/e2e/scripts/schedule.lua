-- Passes sequences of events to schedulers of train.tune and prints their decisions: arg[1] is a file of JSON lines,
-- each {scheduler, options, events}; an event is [trial], [trial, time, value] or [trial, "end", time, value]. Events
-- of a trial that was stopped are skipped.
local schedulers = require('rtrain').tune.schedulers
local system = require 'base._system'

local take = {
  [1] = function(scheduler, event)
    scheduler:on_trial_add(event[1], {})
    return scheduler.bracket_of and scheduler:bracket_of(event[1]) or 0
  end,
  [3] = function(scheduler, event)
    return scheduler:on_trial_result(event[1], {training_iteration = event[2], loss = event[3]}).action
  end,
  [4] = function(scheduler, event)
    scheduler:on_trial_complete(event[1], {training_iteration = event[3], loss = event[4]})
    return 'ENDED'
  end,
}

for line in io.lines(arg[1]) do
  local case = system.from_json(line)
  local scheduler = schedulers[case.scheduler](case.options)
  scheduler:set_search_properties('loss', case.mode, case.seed)
  local out, stopped = {}, {}
  for i, event in ipairs(case.events) do
    local is_left_out = stopped[event[1]]
    out[i] = is_left_out and 'LEFT OUT' or take[#event](scheduler, event)
    if out[i] == 'STOP' then stopped[event[1]] = true end
  end
  print(system.to_json(out))
end
