-- base/text_width.lua: how wide texts are on a terminal, a character counted as one column.

local text_width = {}

local MORE = '…'

---How many columns a text takes.
---@param text string
---@return integer
function text_width.of(text) return select(2, text:gsub('[^\128-\191]', '')) end

---The text, cut at the end where it is wider.
---@param text string
---@param most integer
---@return string
---
---```lua
---local text_width = require 'base.text_width'
---assert(text_width.cut('häßlich', 4) == 'häß…' and text_width.cut('gut', 4) == 'gut' and text_width.of('häß…') == 4)
---```
function text_width.cut(text, most)
  if text_width.of(text) <= most then return text end
  local kept = {}
  for character in text:gmatch '[^\128-\191][\128-\191]*' do
    if #kept == most - 1 then break end
    kept[#kept + 1] = character
  end
  return table.concat(kept) .. MORE
end

return text_width
