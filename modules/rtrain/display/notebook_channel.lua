-- rtrain/display/notebook_channel.lua: the connection to the notebook whose cells this process runs, if there is one.

local class = require 'base.class'
local errors = require 'base.errors'
local system = require 'base._system'

local MAX_BYTES = 16 * 2 ^ 20  -- of a message

---@class NotebookChannel
---@field services table functions of host/cli/train/notebook.cpp
local Channel = class('NotebookChannel')

---@param socket integer
---@param services table
function Channel:init(socket, services)
  self._socket, self.services = socket, services
  self._cell, self._displays = 0, 0
end

---Sends a message. Of one that is too long nothing is sent.
---@param message table plain data
function Channel:send(message)
  local line = system.to_json(message)
  if #line > MAX_BYTES then
    errors.raise('argument', ('what a notebook is to show has %d bytes, at most %d are sent'):format(#line, MAX_BYTES))
  end
  system.write(self._socket, line .. '\n')
end

---Shows a value in the output of the cell that runs, after all that it has printed.
---@param bundle table<string, string> text or base64 for each MIME type, with 'text/plain'
---@param display_id? string of an output that `update` may replace
function Channel:display(bundle, display_id)
  io.stdout:flush()
  self:send{type = 'display', data = bundle, display_id = display_id}
  -- Without an answer a later print could be seen before the picture: they travel on different ways.
  self.services.receive(self._socket)
end

---Replaces an output.
---@param bundle table<string, string>
---@param display_id string
function Channel:update(bundle, display_id) self:send{type = 'update', data = bundle, display_id = display_id} end

---Returns an id for another output.
---@return string
function Channel:new_display_id()
  self._displays = self._displays + 1
  return ('rtrain-%d-%d'):format(system.now_ms(), self._displays)
end

---Returns the pixels of a PNG, or the bytes of another file, as messages carry them.
---@param bytes string
---@return string
function Channel:base64(bytes) return self.services.base64(bytes) end

local current

local channel = {}

---Connects this process.
---@param socket integer
---@param services table
---@return NotebookChannel
function channel.open(socket, services)
  current = Channel(socket, services)
  return current
end

---@return NotebookChannel? nil outside of a notebook
function channel.current() return current end

return channel
