-- base/warnings.lua: prints warnings with the line of the script.

local warnings = {}

local shown = {}

-- Returns the script's own line: the nearest one that is not in a library file.
local function place()
  local level = 3
  while true do
    local info = debug.getinfo(level, 'Sl')
    if not info then return '' end
    if info.what ~= 'C' and not info.source:find('^@rtrain://') and info.currentline > 0 then
      return ('%s:%d: '):format(info.short_src, info.currentline)
    end
    level = level + 1
  end
end

---Writes `warning: text` to stderr with the script's line, once for each text and line, as Python's default filter
---does.
---@param text string
---@param at? string the line, `FILE:LINE: `; default: the nearest line of the script
---@return boolean shown false if the warning was already shown
function warnings.warn(text, at)
  local line = ('%swarning: %s\n'):format(at or place(), text)
  if shown[line] then return false end
  shown[line] = true
  io.stderr:write(line)
  return true
end

return warnings
