-- torch/cuda/events.lua: torch.cuda.Event.

local args = require 'base.args'
local class = require 'base.class'
local engine = require 'torch.cuda.engine'
local errors = require 'base.errors'

---A mark in the work of a stream, to wait for it, or to measure the time between two marks. PyTorch equivalent:
---torch.cuda.Event. Arguments: {enable_timing = false, blocking = false, interprocess = false}. blocking: a waiting
---thread sleeps instead of using a core; interprocess = true is refused.
---
---```lua
---local torch = require 'torch'
---if torch.cuda.is_available() then
---  local first, last = torch.cuda.Event{enable_timing = true}, torch.cuda.Event{enable_timing = true}
---  first:record()
---  torch.zeros(1024):to('cuda', {non_blocking = true})
---  last:record()
---  last:synchronize()
---  assert(first:elapsed_time(last) >= 0)
---end
---```
---@class torch.cuda.Event
---@overload fun(options?: {enable_timing: boolean, blocking: boolean}): torch.cuda.Event
local Event = class 'Event'

local signature = args.signature('torch.cuda.Event', {{'enable_timing', false}, {'blocking', false}, {'interprocess', false}})

function Event:init(...)
  local a = signature:bind(...)
  for _, name in ipairs{'enable_timing', 'blocking', 'interprocess'} do
    if type(a[name]) ~= 'boolean' then
      errors.raise('argument', ('torch.cuda.Event: %s: expected a boolean, got %s'):format(name, tostring(a[name])))
    end
  end
  if a.interprocess then
    errors.raise('unsupported', 'torch.cuda.Event: interprocess = true: processes do not share memory of a GPU here')
  end
  self._event = engine.functions('Event', 'cuda_events').new(a.enable_timing, a.blocking)
end

local function of(name, event)
  if not class.is(event, Event) then
    errors.raise('argument', ('torch.cuda.Event.%s: expected a torch.cuda.Event, got %s'):format(name, type(event)))
  end
  return event._event
end

-- Returns the device and the number of a stream, without the class Stream, whose record_event makes events.
local function numbers(name, stream)
  if stream == nil then
    return engine.functions('current_stream', 'cuda_streams').current_stream(engine.index_of('current_stream'))
  end
  if type(stream) ~= 'table' or rawget(stream, 'stream_id') == nil then
    errors.raise('argument', ('torch.cuda.Event.%s: expected a torch.cuda.Stream, got %s'):format(name, type(stream)))
  end
  return stream.device_index, stream.stream_id
end

---Marks this point of a stream's work; an earlier mark of the event is dropped.
---@param stream? torch.cuda.Stream default: the current stream
function Event:record(stream) of('record', self):record(numbers('record', stream)) end

---Makes later work of the stream wait until the device has reached the event. Returns at once. An event that was never
---recorded delays no work.
---@param stream? torch.cuda.Stream default: the current stream
function Event:wait(stream) of('wait', self):wait(numbers('wait', stream)) end

---@return boolean done whether the device has finished all work that was in the stream when the event was recorded
function Event:query() return of('query', self):query() end

---Waits until the device has reached the event.
function Event:synchronize() of('synchronize', self):synchronize() end

---Returns the milliseconds between this event and a later one. Both need enable_timing, and the device must have
---reached both.
---@param end_event torch.cuda.Event
---@return number milliseconds
function Event:elapsed_time(end_event) return of('elapsed_time', self):elapsed_time(of('elapsed_time', end_event)) end

return {Event = Event}
