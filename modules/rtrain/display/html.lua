-- rtrain/display/html.lua: builds the HTML of what notebooks show.

local html = {}

local ESCAPES = {['&'] = '&amp;', ['<'] = '&lt;', ['>'] = '&gt;', ['"'] = '&quot;', ["'"] = '&#39;'}

---@param text any
---@return string
---
---```lua
---assert(require 'rtrain.display.html'.escape '<a & "b">' == '&lt;a &amp; &quot;b&quot;&gt;')
---```
function html.escape(text) return (tostring(text):gsub('[&<>"\']', ESCAPES)) end

---Returns a table; all texts are escaped.
---@param columns string[]
---@param rows string[][]
---@return string
function html.table(columns, rows)
  local parts = {'<table><thead><tr>'}
  for _, name in ipairs(columns) do parts[#parts + 1] = ('<th>%s</th>'):format(html.escape(name)) end
  parts[#parts + 1] = '</tr></thead><tbody>'
  for _, row in ipairs(rows) do
    parts[#parts + 1] = '<tr>'
    for c = 1, #columns do parts[#parts + 1] = ('<td>%s</td>'):format(html.escape(row[c] or '')) end
    parts[#parts + 1] = '</tr>'
  end
  parts[#parts + 1] = '</tbody></table>'
  return table.concat(parts)
end

return html
