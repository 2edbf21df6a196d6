-- rtrain/display/rich.lua: a value as notebooks show it: a text for each MIME type.

local class = require 'base.class'
local html = require 'rtrain.display.html'
local metrics_text = require 'rtrain.metrics.text'

local MAX_ROWS = 60  -- of a table; the others are counted
local MAX_BYTES = 200000  -- of a text

local rich = {}

-- As print does: the contents of a table without a text of its own.
local function text_of(value)
  if type(value) ~= 'table' then return tostring(value) end
  local meta, registry = getmetatable(value), debug.getregistry()
  local is_plain = meta == nil or meta == registry['rtrain.list'] or meta == registry['rtrain.intmap']
  return is_plain and require 'base.table_text'(value) or tostring(value)
end

local function cell_text(value)
  if value == nil then return '' end
  return type(value) == 'table' and text_of(value) or metrics_text.value(value)
end

-- Returns the columns of the rows in order of appearance.
local function columns_of(rows)
  local columns, seen = {}, {}
  for _, row in ipairs(rows) do
    for _, name in ipairs(metrics_text.names(row)) do
      if not seen[name] then seen[name], columns[#columns + 1] = true, name end
    end
  end
  return columns
end

---Returns the metrics of reports as an HTML table: all, or the first and last ones.
---@param rows table[]
---@param number_of? fun(i: integer): integer the number of a row's report, default its place
---@return string
function rich.metrics_table(rows, number_of)
  local shown, left_out = {}, #rows - MAX_ROWS
  for i, row in ipairs(rows) do
    if left_out <= 0 or i <= MAX_ROWS / 2 or i > #rows - MAX_ROWS / 2 then shown[#shown + 1] = {i, row} end
  end
  local list = {}
  for i, pair in ipairs(shown) do list[i] = pair[2] end
  local columns, lines = columns_of(list), {}
  for i, pair in ipairs(shown) do
    lines[i] = {tostring(number_of and number_of(pair[1]) or pair[1] - 1)}
    for c, name in ipairs(columns) do lines[i][c + 1] = cell_text(pair[2][name]) end
  end
  local note = left_out > 0 and ('<p>%d reports in the middle are not shown</p>'):format(left_out) or ''
  return html.table({'report', unpack(columns)}, lines) .. note
end

local function result_html(result)
  local rows = {}
  local metrics = result._reported or {}
  for _, name in ipairs(metrics_text.names(metrics)) do rows[#rows + 1] = {name, cell_text(metrics[name])} end
  rows[#rows + 1] = {'checkpoint', result.checkpoint and result.checkpoint.path or 'none'}
  rows[#rows + 1] = {'path', tostring(result.path)}
  if result.error then rows[#rows + 1] = {'error', tostring(result.error)} end
  return html.table({'Result', ''}, rows)
end

local HTML_OF = {
  Result = result_html,
  DataFrame = function(frame) return rich.metrics_table(frame) end,
}

-- Numbers and strings as print writes them, several values in one line.
local function plain(...)
  local parts = {}
  for i = 1, select('#', ...) do parts[i] = text_of((select(i, ...))) end
  local text = table.concat(parts, '\t')
  return #text <= MAX_BYTES and text or text:sub(1, MAX_BYTES) .. ('\n… %d more bytes'):format(#text - MAX_BYTES)
end

---Returns the values as a text for each MIME type.
---@param ... any
---@return table<string, string>
function rich.bundle(...)
  local bundle = {['text/plain'] = plain(...)}
  local of = select('#', ...) == 1 and class.of((...))
  local make = of and HTML_OF[rawget(of, '__name')]
  if make then bundle['text/html'] = make((...)) end
  return bundle
end

return rich
