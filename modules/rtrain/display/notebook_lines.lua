-- rtrain/display/notebook_lines.lua: NotebookLines: one output of a notebook's cell, in place of LiveLines.

local class = require 'base.class'
local html = require 'rtrain.display.html'

---@class NotebookLines
local NotebookLines = class('NotebookLines')

---@param channel NotebookChannel
function NotebookLines:init(channel) self._channel, self._id = channel, channel:new_display_id() end

---Does nothing: no line of a notebook is in the way of another one.
function NotebookLines:clear() end

---Draws the lines in place of the present ones.
---@param lines string[]
function NotebookLines:draw(lines)
  local text = table.concat(lines, '\n')
  if text == self._drawn then return end
  self:replace{['text/plain'] = text, ['text/html'] = ('<pre>%s</pre>'):format(html.escape(text))}
end

---Shows something else in place of the lines.
---@param bundle table<string, string> a text for each MIME type
function NotebookLines:replace(bundle)
  if self._drawn then
    self._channel:update(bundle, self._id)
  else
    self._channel:display(bundle, self._id)
  end
  self._drawn = bundle['text/plain']
end

return NotebookLines
