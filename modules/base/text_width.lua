-- base/text_width.lua: measures the width of texts on a terminal.

local system = require 'base._system'

local text_width = {}

local MORE = '…'

---Returns how many columns a text takes: two for an East Asian character, none for a combining mark.
---@param text string
---@return integer
function text_width.of(text) return system.text_width(text) end

---Returns the text, cut at the end if it is wider than `most` columns.
---@param text string
---@param most integer
---@return string
---
---```lua
---local text_width = require 'base.text_width'
---assert(text_width.cut('häßlich', 4) == 'häß…' and text_width.cut('gut', 4) == 'gut' and text_width.of('häß…') == 4)
---assert(text_width.of '東京' == 4 and text_width.cut('東京都', 4) == '東…')
---```
function text_width.cut(text, most)
  if text_width.of(text) <= most then return text end
  return text:sub(1, system.bytes_that_fit(text, most - 1)) .. MORE
end

---Returns the text, cut in the middle if it is wider than `most` columns.
---@param text string
---@param most integer
---@return string
---
---```lua
---local text_width = require 'base.text_width'
---assert(text_width.cut_middle('validation/loss', 9) == 'vali…loss' and text_width.cut_middle('loss', 9) == 'loss')
---```
function text_width.cut_middle(text, most)
  if text_width.of(text) <= most then return text end
  local half = math.floor((most - 1) / 2)
  local last = #text - half + 1
  while last <= #text and text:byte(last) >= 0x80 and text:byte(last) < 0xC0 do last = last + 1 end
  return text:sub(1, system.bytes_that_fit(text, half)) .. MORE .. text:sub(last)
end

return text_width
