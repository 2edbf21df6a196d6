-- rtrain/launch/submit/duration.lua: parses a time limit in Slurm's formats: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S.

local errors = require 'base.errors'

local duration = {}

local FORMS = {
  {'^(%d+)$', 60}, {'^(%d+):(%d+)$', 60, 1}, {'^(%d+):(%d+):(%d+)$', 3600, 60, 1}, {'^(%d+)%-(%d+)$', 86400, 3600},
  {'^(%d+)%-(%d+):(%d+)$', 86400, 3600, 60}, {'^(%d+)%-(%d+):(%d+):(%d+)$', 86400, 3600, 60, 1},
}

---@param text string '30' (minutes), '1:00:00', '2-12'
---@return integer? seconds nil for another format
---
---```lua
---local duration = require 'rtrain.launch.submit.duration'
---assert(duration.parse '1:30:00' == 5400 and duration.parse '2-12' == 216000 and duration.parse 'UNLIMITED' == nil)
---```
function duration.parse(text)
  for _, form in ipairs(FORMS) do
    local parts = {text:match(form[1])}
    if #parts > 0 then
      local seconds = 0
      for i, part in ipairs(parts) do seconds = seconds + tonumber(part) * form[i + 1] end
      return seconds
    end
  end
end

---Returns the value of --time in seconds.
---@param text string as for `parse`
---@return integer seconds
---Errors: 'config' for another format, and for zero.
function duration.seconds(text)
  local seconds = duration.parse(text)
  if seconds and seconds > 0 then return seconds end
  errors.raise('config', ("--time %s: expected minutes, H:M:S or D-H:M:S, as in 30, 1:00:00 or 2-12:00:00"):format(text))
end

return duration
