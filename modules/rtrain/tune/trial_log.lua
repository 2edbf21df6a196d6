-- rtrain/tune/trial_log.lua: what a trial's process has printed, in `<sweep>/logs/<trial>.log`.

local trial_log = {}

local END_BYTES = 2000

---@param folder string of the sweep
---@param name string of the trial
---@return string path
function trial_log.path(folder, name) return ('%s/logs/%s.log'):format(folder, name) end

---The last lines of a log; empty where there is none.
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

---The last message of rtrain itself.
---@param path string
---@return string? text without 'rtrain: '
function trial_log.last_message(path) return ('\n' .. trial_log.last_lines(path)):match '.*\nrtrain: ([^\n]*)' end

return trial_log
