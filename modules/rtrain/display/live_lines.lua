-- rtrain/display/live_lines.lua: LiveLines: lines at the bottom of a terminal that are drawn again and again.

local class = require 'base.class'
local text_width = require 'base.text_width'

---@class LiveLines
local LiveLines = class('LiveLines')

---@param file file* the terminal
---@param size fun(): integer?, integer? its columns and rows
function LiveLines:init(file, size) self._file, self._size, self._widths = file, size, {} end

-- A terminal that has become narrower since shows a line in several rows.
local function rows_of(width, columns) return math.max(1, math.ceil(width / columns)) end

---Takes them off the screen, row by row: a whole screen that is erased stays in the history of some terminals.
function LiveLines:clear()
  if #self._widths == 0 then return end
  local columns, rows = math.max(self._size() or 80, 1), 0
  for _, width in ipairs(self._widths) do rows = rows + rows_of(width, columns) end
  self._file:write(('\27[A\27[2K'):rep(rows), '\r')
  self._widths = {}
end

---Draws lines in the place of those that are there. None is wider than the terminal.
---@param lines string[]
---@param painted? string[] the same with colours
function LiveLines:draw(lines, painted)
  self:clear()
  self._file:write(table.concat(painted or lines, '\n'), '\n')
  self._file:flush()
  for i, line in ipairs(lines) do self._widths[i] = text_width.of(line) end
end

return LiveLines
