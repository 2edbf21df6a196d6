-- rtrain/tune/journal.lua: Journal: what a sweep has decided and seen, a line of JSON for each event, in a file that is only
-- added to.
--
-- Samplers and schedulers are pure: given the same events in the same order they say the same again. So this file is all that
-- a sweep needs to go on after its processes were killed. A last line without an end was being written then, and is dropped.
-- After a power cut it has at least what there was when the last trial ended: a trial's later reports are made again.

local class = require 'base.class'
local errors = require 'base.errors'
local read_file = require 'base.read_file'
local system = require 'base._system'
local tune = require 'rtrain._tune'

local Journal = class('Journal')

---@param path string the file; its folder is there
function Journal:init(path)
  self.path = path
end

---The events that the file has, in order.
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

-- The events that are on the disk, with all before them, when add() returns.
local SYNCED = {sweep = true, ['end'] = true, exploit = true}

---Adds an event; it is in the file when this returns.
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
