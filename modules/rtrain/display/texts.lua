-- rtrain/display/texts.lua: formats times and counts for people.

local texts = {}

---@param s number seconds
---@return string text '3.4 s', '2 min 05 s', '1 h 07 min'
function texts.seconds(s)
  if s < 60 then return ('%.1f s'):format(s) end
  if s < 3600 then return ('%d min %02d s'):format(math.floor(s / 60), math.floor(s % 60)) end
  return ('%d h %02d min'):format(math.floor(s / 3600), math.floor(s % 3600 / 60))
end

---1, 'report' → '1 report'; 2 → '2 reports'.
---@param count integer
---@param noun string
---@param plural? string default: the noun with an s
---@return string
function texts.counted(count, noun, plural) return ('%d %s'):format(count, count == 1 and noun or plural or noun .. 's') end

return texts
