-- rtrain/display/live_lines.lua: LiveLines: lines at the bottom of a terminal that are redrawn repeatedly.

local class = require 'base.class'
local text_width = require 'base.text_width'

---@class LiveLines
local LiveLines = class('LiveLines')

---@param file file* the terminal
---@param size fun(): integer?, integer? returns its columns and rows
function LiveLines:init(file, size) self._file, self._size, self._widths = file, size, {} end

-- If the terminal has become narrower, a line takes several rows.
local function rows_of(width, columns) return math.max(1, math.ceil(width / columns)) end

---Erases the lines row by row: erasing the whole screen would leave it in the history of some terminals.
function LiveLines:clear()
  if #self._widths == 0 then return end
  local columns, rows = math.max(self._size() or 80, 1), 0
  for _, width in ipairs(self._widths) do rows = rows + rows_of(width, columns) end
  self._file:write(('\27[A\27[2K'):rep(rows), '\r')
  self._widths = {}
end

---Draws the lines in place of the present ones. No line may be wider than the terminal.
---@param lines string[]
---@param painted? string[] the same lines with colours
function LiveLines:draw(lines, painted)
  self:clear()
  self._file:write(table.concat(painted or lines, '\n'), '\n')
  self._file:flush()
  for i, line in ipairs(lines) do self._widths[i] = text_width.of(line) end
end

return LiveLines
