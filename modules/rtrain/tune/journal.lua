-- rtrain/tune/journal.lua: Journal: the decisions and events of a sweep, one line of JSON each, in an append-only file.
--
-- Samplers and schedulers are pure: the same events in the same order lead to the same decisions. So this file suffices
-- to continue a sweep whose processes were killed. An incomplete last line is dropped. After a power failure the file
-- is complete at least up to the last trial that ended; later reports are made again by the trials.

local class = require 'base.class'
local errors = require 'base.errors'
local read_file = require 'base.read_file'
local system = require 'base._system'
local tune = require 'rtrain._tune'

local Journal = class('Journal')

---@param path string the file; its folder must exist
function Journal:init(path)
  self.path = path
end

---Returns the events in the file, in order.
---@return table[]
---Raises code 'environment' for a line that is not JSON.
function Journal:read()
  local text = read_file(self.path)
  if text == nil then return {} end
  local events, whole = {}, text:match '^(.*\n)' or ''
  for line in whole:gmatch '([^\n]*)\n' do
    local ok, event = pcall(system.from_json, line)
    if not ok then
      errors.raise('environment', ('%s, line %d: %s'):format(self.path, #events + 1, tostring(event)))
    end
    events[#events + 1] = event
  end
  if #whole < #text then self:_rewrite(whole) end
  return events
end

function Journal:_rewrite(text)
  require 'base.write_file'(self.path .. '.new', text)
  local ok, problem = os.rename(self.path .. '.new', self.path)
  if not ok then errors.raise('environment', problem) end
end

-- Events that are synced to disk, with all before them, when add() returns.
local SYNCED = {sweep = true, ['end'] = true, exploit = true}

---Adds an event; it is written to the file when this returns.
---@param event table plain data
function Journal:add(event)
  if self._file == nil then
    local file, problem = io.open(self.path, 'ab')
    if file == nil then errors.raise('environment', 'cannot write ' .. problem) end
    self._file = file
  end
  local ok, problem = self._file:write(system.to_json(event), '\n')
  if ok then ok, problem = self._file:flush() end
  if not ok then errors.raise('environment', ("cannot write '%s': %s"):format(self.path, problem)) end
  if SYNCED[event.event] then tune.sync_file(self.path) end
end

---Closes the file; a later event opens it again.
function Journal:close()
  if self._file then self._file:close() end
  self._file = nil
end

return Journal
