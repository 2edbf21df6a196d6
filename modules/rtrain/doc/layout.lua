-- rtrain/doc/layout.lua: formats a page as text for a terminal of a given width.

local text_width = require 'base.text_width'

local layout = {}

local MIN_WIDTH, MAX_WIDTH = 40, 100

local function pad(text, width) return text .. (' '):rep(width - text_width.of(text)) end

---Breaks a text at spaces.
---@param text string
---@param width integer
---@param hang? integer indentation of all lines except the first (default 0)
---@return string[] lines
---
---```lua
---local layout = require 'rtrain.doc.layout'
---assert(table.concat(layout.wrap('to be or not', 6), '|') == 'to be|or not')
---```
function layout.wrap(text, width, hang)
  local lines, line = {}, nil
  for word in text:gmatch '%S+' do
    local room = #lines == 0 and width or width - (hang or 0)
    if line and text_width.of(line) + 1 + text_width.of(word) <= room then
      line = line .. ' ' .. word
    else
      lines[#lines + 1] = line
      line = word
    end
  end
  lines[#lines + 1] = line
  return lines
end

local Sheet = {}
Sheet.__index = Sheet

function Sheet:_line(text) self.lines[#self.lines + 1] = text end

-- Adds a blank line between the present lines and the next.
function Sheet:_gap()
  if #self.lines > 0 and self.lines[#self.lines] ~= '' then self:_line '' end
end

function Sheet:_bold(text) return self.colour and '\27[1m' .. text .. '\27[0m' or text end

function Sheet:_heading(text)
  self:_gap()
  self:_line(self:_bold(text))
end

function Sheet:_paragraph(text, indent)
  for _, line in ipairs(layout.wrap(text, self.width - indent)) do self:_line((' '):rep(indent) .. line) end
end

-- Breaks a signature only between its arguments.
function Sheet:_signature(text)
  local glued = text:gsub('([^,]) ', '%1\1')
  for i, line in ipairs(layout.wrap(glued, self.width, 4)) do
    self:_line((i > 1 and '    ' or '') .. self:_bold((line:gsub('\1', ' '))))
  end
end

-- Adds rows of two columns; the second is wrapped, and begins on a new line after a wide first column.
function Sheet:_rows(rows)
  local first = 0
  for _, row in ipairs(rows) do first = math.max(first, text_width.of(row[1])) end
  first = math.min(first, math.floor(self.width / 3))
  for _, row in ipairs(rows) do
    local lines = layout.wrap(row[2], self.width - first - 4)
    local is_wide = text_width.of(row[1]) > first
    if is_wide or #lines == 0 then self:_line('  ' .. row[1]) end
    for i, line in ipairs(lines) do
      self:_line('  ' .. pad(i == 1 and not is_wide and row[1] or '', first) .. '  ' .. line)
    end
  end
end

local function plain_type(type) return (type:gsub('torch%.Tensor', 'Tensor'):gsub('torch%.none', 'none')) end

local function parameter_row(param)
  local parts = {plain_type(param.type)}
  if param.default and param.default ~= 'nil' then parts[#parts + 1] = 'default ' .. param.default end
  local text = table.concat(parts, ', ')
  return {param.name, param.text and text .. ': ' .. param.text or text}
end

local function item_row(item)
  local type = plain_type(item.type)
  return {item.name or type, item.name and (item.text and type .. ': ' .. item.text or type) or item.text or ''}
end

local function named_row(item) return {item.name, item.text or item.kind or ''} end

function Sheet:_section(title, items, row)
  if #items == 0 then return end
  self:_heading(title)
  local rows = {}
  for i, item in ipairs(items) do rows[i] = row(item) end
  self:_rows(rows)
end

local function headline(page)
  local what = page.type and ('%s: %s'):format(page.kind, plain_type(page.type)) or page.kind
  if page.extends then what = ('%s, extends %s'):format(what, page.extends) end
  if page.kind == 'field' or page.kind == 'module' or not page.require then return what end
  return ("%s; require '%s'"):format(what, page.require)
end

local function has_texts(returns)
  for _, item in ipairs(returns) do
    if item.text then return true end
  end
  return false
end

function Sheet:_forward(forward)
  self:_heading 'Call'
  self:_paragraph(forward.signature, 2)
  for _, text in ipairs(forward.text) do self:_paragraph(text, 2) end
  local rows = {}
  for _, param in ipairs(forward.parameters) do rows[#rows + 1] = parameter_row(param) end
  for _, item in ipairs(forward.returns) do rows[#rows + 1] = item_row(item) end
  self:_rows(rows)
end

---@param page DocPage
---@param columns integer width of the terminal
---@param colour? boolean
---@return string text with a newline at its end
function layout.text(page, columns, colour)
  local width = math.max(MIN_WIDTH, math.min(columns, MAX_WIDTH))
  local sheet = setmetatable({lines = {}, width = width, colour = colour}, Sheet)
  for _, text in ipairs(page.signatures) do sheet:_signature(text) end
  if #page.signatures == 0 then sheet:_line(sheet:_bold(page.name)) end
  if page.path ~= '' then sheet:_line(headline(page)) end
  for _, text in ipairs(page.text) do
    sheet:_gap()
    sheet:_paragraph(text, 0)
  end
  sheet:_section('Parameters', page.parameters, parameter_row)
  if #page.returns > 1 or has_texts(page.returns) then sheet:_section('Returns', page.returns, item_row) end
  if page.forward then sheet:_forward(page.forward) end
  sheet:_section('Fields', page.fields, item_row)
  sheet:_section('Methods', page.methods, named_row)
  sheet:_section('Names', page.names, named_row)
  for i, example in ipairs(page.examples) do
    if i == 1 then sheet:_heading 'Example' else sheet:_gap() end
    for line in (example .. '\n'):gmatch '(.-)\n' do sheet:_line(line == '' and '' or '  ' .. line) end
  end
  for _, line in ipairs(page.notes or {}) do
    sheet:_gap()
    sheet:_paragraph(line, 0)
  end
  return table.concat(sheet.lines, '\n') .. '\n'
end

return layout
