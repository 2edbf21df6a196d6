-- rtrain/tune/trial_log.lua: reads the output of a trial's process in `<sweep>/logs/<trial>.log`.

local trial_log = {}

local END_BYTES = 2000

---@param folder string of the sweep
---@param name string of the trial
---@return string path
function trial_log.path(folder, name) return ('%s/logs/%s.log'):format(folder, name) end

---Returns the last lines of a log; empty if there is no log.
---@param path string
---@return string
function trial_log.last_lines(path)
  local file = io.open(path, 'rb')
  if file == nil then return '' end
  file:seek('end', -math.min(file:seek 'end', END_BYTES))
  local text = file:read('*a'):match '^%s*(.-)%s*$'
  file:close()
  return text
end

---Returns the last message of rtrain itself.
---@param path string
---@return string? text without 'rtrain: '
function trial_log.last_message(path) return ('\n' .. trial_log.last_lines(path)):match '.*\nrtrain: ([^\n]*)' end

return trial_log
