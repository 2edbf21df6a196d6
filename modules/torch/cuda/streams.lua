-- torch/cuda/streams.lua: torch.cuda.Stream, and the current stream of this thread.

local args = require 'base.args'
local class = require 'base.class'
local engine = require 'torch.cuda.engine'
local errors = require 'base.errors'
local events = require 'torch.cuda.events'

local streams = {}

---A queue of a device's work: a stream executes its work in order, different streams overlap. PyTorch equivalent:
---torch.cuda.Stream. Arguments: device (default: the current device), {priority = 0}: -1 and lower numbers run first.
---
---```lua
---local torch = require 'torch'
---if torch.cuda.is_available() then
---  local side = torch.cuda.Stream()
---  local x = torch.cuda.stream(side, function() return torch.ones(2):to('cuda', {non_blocking = true}) end)
---  torch.cuda.current_stream():wait_stream(side)
---  x:record_stream(torch.cuda.current_stream())
---  assert(x:to('cpu')[1]:item() == 1)
---end
---```
---@class torch.cuda.Stream
---@field device torch.device
---@field device_index integer from 0
---@field stream_id integer LibTorch's number for it, 0 for a device's default stream
---@overload fun(device?: integer|string, options?: {priority: integer}): torch.cuda.Stream
local Stream = class 'Stream'
streams.Stream = Stream

local signature = args.signature('torch.cuda.Stream', {{'device'}, {'priority', 0}})

local function put(self, device, id)
  self.device_index, self.stream_id, self.device = device, id, ('cuda:%d'):format(device)
end

local function stream_of(device, id)
  local self = setmetatable({}, Stream)
  put(self, device, id)
  return self
end

local function check(name, stream)
  if not class.is(stream, Stream) then
    errors.raise('argument', ('torch.cuda.%s: expected a torch.cuda.Stream, got %s'):format(name, type(stream)))
  end
  return stream
end

function Stream:init(...)
  local a = signature:bind(...)
  if type(a.priority) ~= 'number' or a.priority ~= math.floor(a.priority) then
    errors.raise('argument', ('torch.cuda.Stream: priority: expected an integer, got %s'):format(tostring(a.priority)))
  end
  local C = engine.functions('Stream', 'cuda_streams')
  put(self, C.new(engine.index_of('Stream', a.device), a.priority))
end

-- Calls an engine function with the numbers of this stream.
local function call(self, name, ...)
  return engine.functions('Stream.' .. name, 'cuda_streams')[name](self.device_index, self.stream_id, ...)
end

---Waits until the device has finished all work of the stream.
function Stream:synchronize() call(self, 'synchronize') end

---@return boolean done whether the device has finished all work of the stream
function Stream:query() return call(self, 'query') end

---Makes later work of this stream wait until the device has reached the event. Returns at once.
---@param event torch.cuda.Event
function Stream:wait_event(event) event:wait(self) end

---Makes later work of this stream wait until the present work of the other stream is finished. Returns at
---once.
---@param stream torch.cuda.Stream
function Stream:wait_stream(stream) self:wait_event(check('Stream.wait_stream', stream):record_event()) end

---Marks this point of the stream's work.
---@param event? torch.cuda.Event default: a new event
---@return torch.cuda.Event event
function Stream:record_event(event)
  event = event or events.Event()
  event:record(self)
  return event
end

---@return integer handle the address of the cudaStream_t, for libraries
function Stream:cuda_stream() return call(self, 'native_handle') end

function Stream.__eq(a, b) return a.device_index == b.device_index and a.stream_id == b.stream_id end

function Stream:__tostring() return ('torch.cuda.Stream(%s, %d)'):format(self.device, self.stream_id) end

---Returns the stream to which this thread gives a device's work.
---@param device? integer|string default: the current device
---@return torch.cuda.Stream
function streams.current_stream(device)
  local C = engine.functions('current_stream', 'cuda_streams')
  return stream_of(C.current_stream(engine.index_of('current_stream', device)))
end

---Returns the stream of a device that is used by default.
---@param device? integer|string default: the current device
---@return torch.cuda.Stream
function streams.default_stream(device)
  local C = engine.functions('default_stream', 'cuda_streams')
  return stream_of(C.default_stream(engine.index_of('default_stream', device)))
end

---Makes a stream the current stream of its device in this thread, and its device the current device.
---torch.cuda.stream(s, fn) does it for one call.
---@param stream torch.cuda.Stream
function streams.set_stream(stream)
  check('set_stream', stream)
  engine.functions('set_stream', 'cuda_streams').set_stream(stream.device_index, stream.stream_id)
end

local function restore_and_return(before, ok, ...)
  for i = #before, 1, -1 do streams.set_stream(before[i]) end
  if not ok then error((...), 0) end
  return ...
end

---Calls a function whose work goes to this stream. Afterwards device and stream are as before, also after an error.
---PyTorch equivalent: the context manager torch.cuda.stream.
---@param stream? torch.cuda.Stream if nil, the function is only called
---@param fn fun(...): ...
---@param ... any arguments of fn
---@return any ... the results of fn
---
---```lua
---local torch = require 'torch'
---assert(torch.cuda.stream(nil, function(a, b) return a + b end, 1, 2) == 3)
---```
function streams.stream(stream, fn, ...)
  if type(fn) ~= 'function' then errors.raise('argument', 'torch.cuda.stream: expected a function, got ' .. type(fn)) end
  if stream == nil then return fn(...) end
  check('stream', stream)
  local before = {streams.current_stream()}
  if before[1].device_index ~= stream.device_index then before[2] = streams.current_stream(stream.device_index) end
  streams.set_stream(stream)
  return restore_and_return(before, xpcall(fn, errors.wrap, ...))
end

---Tells the allocator that a stream uses this tensor, which was made for another stream: its memory is not reused
---before the stream has reached this point. PyTorch equivalent: Tensor.record_stream.
---@param tensor torch.Tensor on a GPU
---@param stream torch.cuda.Stream
function streams.record_stream(tensor, stream)
  check('record_stream', stream)
  local C = engine.functions('record_stream', 'cuda_streams')
  if not tensor.is_cuda then
    errors.raise('argument', ("record_stream: the tensor is on '%s': only memory of a GPU is used by streams"):format(
      tensor.device))
  end
  C.record(tensor, stream.device_index, stream.stream_id)
end

return streams
