-- torch/distributed/fsdp/recorded_group.lua: a group of sharded parameters in a step that train.compile records.
--
-- A plan runs no hooks of modules. What publishes, gathers and frees parameters is therefore an effect of the recording,
-- which the plan calls again. Its tensors keep what uses the parameters on its side of it. Gradients are reduced by
-- operators and collectives, which are recorded as such.

local C = require 'torch._C'
local capture = require 'torch.cuda.capture'
local class = require 'base.class'

---@class fsdp.RecordedGroup: torch.compile.Participant
local RecordedGroup = class 'RecordedGroup'

-- What a plan takes as given of a group before the step.
local GIVEN = {'memory', 'is_unsharded', 'reduces', 'all_reduces', 'divides_by', 'reshard_after_forward',
               'keeps_after_backward', 'forward_prefetch', 'backward_prefetch', 'next', 'previous'}

---@param group fsdp.ParameterGroup before the first effect of the step
function RecordedGroup:init(group)
  self._group, self._given = group, {}
  for _, name in ipairs(GIVEN) do self._given[name] = group[name] end
end

---Called when the recording is complete.
function RecordedGroup:settle() self._next, self._previous = self._group.next, self._group.previous end

---Returns what the plan takes as given and has changed.
---@return string|nil change
function RecordedGroup:change()
  for _, name in ipairs(GIVEN) do
    if self._group[name] ~= self._given[name] then return ('%s of a module under fully_shard has changed'):format(name) end
  end
  if not self._group:is_current() then return 'a module under fully_shard has other parameters now' end
end

---Called when the plan has run: leaves the order of the groups as the step does.
function RecordedGroup:follow() self._group.next, self._group.previous = self._next, self._previous end

---Called after an error in the plan.
function RecordedGroup:abandon() self._group:abandon() end

local function add(tensors, groups, name)
  for _, group in ipairs(groups) do
    for _, entry in ipairs(group.entries) do tensors[#tensors + 1] = entry[name] end
  end
  return tensors
end

-- Makes an effect of the call in a recording.
local function record(what, groups, writes_rows, fn, ...)
  for _, group in ipairs(groups) do capture.current:add_participant(group, RecordedGroup) end
  local arguments, count = {...}, select('#', ...)
  local changed, read = add({}, groups, 'whole'), {}
  add(writes_rows and changed or read, groups, 'shard')
  C.recording.effect('fully_shard: ' .. what, function() fn(unpack(arguments, 1, count)) end, changed, read, 'closed')
end

---Calls fn(…), which gives these groups' whole parameters other memory or numbers.
---@param what string for users
---@param groups fsdp.ParameterGroup[]
---@param fn function
---@param ... any
function RecordedGroup.call(what, groups, fn, ...)
  if not capture.current then return fn(...) end
  record(what, groups, false, fn, ...)
end

---Calls fn(…), in which ranks wait until these groups' rows are written, or read.
---@param groups fsdp.ParameterGroup[]
---@param fn function
---@param ... any
function RecordedGroup.fence(groups, fn, ...)
  if not capture.current then return fn(...) end
  record('ranks wait', groups, true, fn, ...)
end

---Calls fn(group), which makes the memory of the whole parameters.
---@param fn fun(group: fsdp.ParameterGroup)
---@param group fsdp.ParameterGroup
function RecordedGroup.make(fn, group)
  if not capture.current then return fn(group) end
  C.recording.effect('fully_shard: memory is made', function() fn(group) end)
end

return RecordedGroup
