-- rtrain/data/ingest/maker.lua: the main function of an ingest worker, which makes blocks of rows for a rank.
--
-- The rank sends stages, each a function as of torch._C.data.Pool, and requests for them. The results of a request are one
-- stream, and those of a stage come in the order of its requests. Of each stage no more than its limit waits to be used by
-- the rank, so that a stage that nobody uses for a while does not stop the others.
--
-- From the rank: {kind = 'stage', stage, fn, limit_bytes}, {kind = 'request', stage, job, request, skip} (its first `skip`
-- results are there already), {kind = 'taken', stage} for each result, {kind = 'close', stage}.
-- To the rank: {kind = 'result', stage, job, value}, {kind = 'end' …}, {kind = 'error', code, message, traceback …}, all
-- with `busy_s`, the time that this worker did not wait.

local class = require 'base.class'
local closure = require 'base._closure'
local errors = require 'base.errors'
local monotonic = require('base._system').monotonic

local maker = {}

-- Results of a stage that wait, however small: each may hold a descriptor of the system.
local MOST_WAITING = 16

-- The rank takes what was sent, or its end closes the channel.
local SEND_TIMEOUT_S, RECEIVE_TIMEOUT_S = 1e6, 3600

-- Arguments: what the rank sent.
local Stage = class('Stage')

function Stage:init(message)
  self.id, self._dumped, self._limit_bytes = message.stage, message.fn, message.limit_bytes
  self._requests, self._waiting, self._waiting_bytes = {}, {}, 0
end

---A request.
---@param message table
function Stage:add(message) self._requests[#self._requests + 1] = message end

---The oldest result was taken.
function Stage:taken() self._waiting_bytes = self._waiting_bytes - table.remove(self._waiting, 1) end

---A result was sent.
---@param bytes integer
function Stage:sent(bytes)
  self._waiting[#self._waiting + 1], self._waiting_bytes = bytes, self._waiting_bytes + bytes
end

---Whether a result may be made now.
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

---The next message for the rank.
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

-- All stages of a rank. Arguments: channel.
local Maker = class('Maker')

function Maker:init(channel) self._channel, self._stages, self._next, self._busy_s = channel, {}, 1, 0 end

local function find(self, id)
  for i, stage in ipairs(self._stages) do
    if stage.id == id then return stage, i end
  end
end

-- A stage may be closed while messages about it are on their way.
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

-- Stages take turns.
local function ready(self)
  for i = 0, #self._stages - 1 do
    local place = (self._next - 1 + i) % #self._stages + 1
    if self._stages[place]:is_ready() then
      self._next = place + 1
      return self._stages[place]
    end
  end
end

-- Reads what has come, and waits while there is nothing to do. False: the rank has closed the channel.
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

---Makes what the rank asks for until it closes the channel.
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
