-- rtrain/data/ingest/maker.lua: the main function of an ingest worker, which makes blocks of rows for a rank.
--
-- The rank sends stages, each with a function as for torch._C.data.Pool, and requests to the stages. The results of a
-- request form a stream, and a stage answers its requests in order. The unused results of a stage are limited, so that
-- a stage that the rank does not use for a while does not block the others.
--
-- From the rank: {kind = 'stage', stage, fn, limit_bytes}, {kind = 'request', stage, job, request, skip} (the rank
-- already has its first `skip` results), {kind = 'taken', stage} for each used result, {kind = 'close', stage}.
-- To the rank: {kind = 'result', stage, job, value}, {kind = 'end' …}, {kind = 'error', code, message, traceback …},
-- all with `busy_s`, the time in which this worker did not wait.

local class = require 'base.class'
local closure = require 'base._closure'
local errors = require 'base.errors'
local monotonic = require('base._system').monotonic

local maker = {}

-- Limit of a stage's waiting results, independent of their size: each may hold a file descriptor.
local MOST_WAITING = 16

-- Sending has practically no time limit: the rank takes the message, or closes the channel when it ends.
local SEND_TIMEOUT_S, RECEIVE_TIMEOUT_S = 1e6, 3600

-- Argument: the rank's message of kind 'stage'.
local Stage = class('Stage')

function Stage:init(message)
  self.id, self._dumped, self._limit_bytes = message.stage, message.fn, message.limit_bytes
  self._requests, self._waiting, self._waiting_bytes = {}, {}, 0
end

---Adds a request.
---@param message table
function Stage:add(message) self._requests[#self._requests + 1] = message end

---Called when the rank has used the oldest result.
function Stage:taken() self._waiting_bytes = self._waiting_bytes - table.remove(self._waiting, 1) end

---Called when a result was sent.
---@param bytes integer
function Stage:sent(bytes)
  self._waiting[#self._waiting + 1], self._waiting_bytes = bytes, self._waiting_bytes + bytes
end

---Returns whether a further result may be made.
---@return boolean
function Stage:is_ready()
  if not self._stream and not self._requests[1] then return false end
  return #self._waiting == 0 or (#self._waiting < MOST_WAITING and self._waiting_bytes < self._limit_bytes)
end

local function begin(self)
  self._current = table.remove(self._requests, 1)
  self._fn = self._fn or closure.load(self._dumped)
  self._skip, self._stream = self._current.skip, self._fn(self._current.request)
end

local function result(self)
  if not self._stream then begin(self) end
  while self._skip > 0 do
    self._skip = self._skip - 1
    self._stream()
  end
  return self._stream()
end

---Returns the next message for the rank.
---@return table
function Stage:make()
  local ok, value = xpcall(result, errors.wrap, self)
  local out = {stage = self.id, job = self._current.job}
  if ok and value ~= nil then
    out.kind, out.value = 'result', value
    return out
  end
  self._stream, self._current = nil, nil
  if ok then
    out.kind = 'end'
  else
    out.kind, out.code, out.message, out.traceback = 'error', value.code, tostring(value), value.traceback or ''
  end
  return out
end

-- All stages of a rank. Argument: channel.
local Maker = class('Maker')

function Maker:init(channel) self._channel, self._stages, self._next, self._busy_s = channel, {}, 1, 0 end

local function find(self, id)
  for i, stage in ipairs(self._stages) do
    if stage.id == id then return stage, i end
  end
end

-- Handles a message. Its stage may already be closed.
local function accept(self, message)
  local stage, place = find(self, message.stage)
  if message.kind == 'stage' then
    self._stages[#self._stages + 1] = Stage(message)
  elseif stage and message.kind == 'request' then
    stage:add(message)
  elseif stage and message.kind == 'taken' then
    stage:taken()
  elseif stage and message.kind == 'close' then
    table.remove(self._stages, place)
  end
end

-- Returns a stage that may make a result; stages take turns.
local function ready(self)
  for i = 0, #self._stages - 1 do
    local place = (self._next - 1 + i) % #self._stages + 1
    if self._stages[place]:is_ready() then
      self._next = place + 1
      return self._stages[place]
    end
  end
end

-- Reads the available messages, and waits while there is nothing to do. Returns false when the rank has closed the
-- channel.
local function listen(self)
  while true do
    local what, message = self._channel:receive(ready(self) and 0 or RECEIVE_TIMEOUT_S)
    if what == 'closed' then return false end
    if what == 'message' then
      accept(self, message)
    elseif ready(self) then
      return true
    end
  end
end

---Serves requests of the rank until it closes the channel.
function Maker:run()
  while listen(self) do
    local stage, start = ready(self), monotonic()
    local message = stage:make()
    message.busy_s = self._busy_s + monotonic() - start
    local bytes = self._channel:send(message, SEND_TIMEOUT_S)
    if bytes == nil then return end
    self._busy_s = self._busy_s + monotonic() - start
    if message.kind == 'result' then stage:sent(bytes) end
  end
end

---Serves a rank until it closes the channel.
---@param fd integer descriptor of the channel
function maker.main(fd)
  local data = require('torch._C').data
  data.enter_loader()
  Maker(data.Channel(fd)):run()
end

return maker
