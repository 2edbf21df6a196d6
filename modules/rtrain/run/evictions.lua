-- rtrain/run/evictions.lua: Evictions: reports the nodes that a run has evicted to its launcher, and to the user at the
-- end.

local class = require 'base.class'
local system = require 'base._system'

local PATIENCE_S = 5  -- waiting time for the launcher's answer at the end of the run

local Evictions = class('Evictions')

---@class EvictionsOptions
---@field command? string for a shell: reports "$host" and "$reason" to the launcher; its output explains a failure
---@field hosts? string[] the launcher's names, by number
---@field notice fun(text: string, level?: string)

---@param options EvictionsOptions
function Evictions:init(options)
  self._options = options
  self._texts, self._answers = {}, {}
end

---Handles an event of the controller.
---@param event table
function Evictions:add(event)
  self._texts[#self._texts + 1] = ('%s (%s)'):format(event.host, event.reason)
  local command = self._options.command
  if command == nil then return end
  local host = self._options.hosts and self._options.hosts[event.node + 1] or event.host
  local reason = ('rtrain: %s'):format(event.reason)
  local ok, answer = pcall(system.start_command, ('host=%s; reason=%s; { %s; } 2>&1'):format(system.shell_word(host),
    system.shell_word(reason), command))
  if ok then self._answers[#self._answers + 1] = {host = host, output = answer} end
end

---Prints the launcher's objections, and the nodes that the run has evicted.
function Evictions:finish()
  for _, answer in ipairs(self._answers) do
    local is_complete, text = answer.output:finish(PATIENCE_S)
    text = is_complete and text:match '^%s*(.-)%s*$' or ('no answer for %d s'):format(PATIENCE_S)
    if text ~= '' then self._options.notice(('the launcher was not told of node %s: %s'):format(answer.host, text)) end
    answer.output:release()
  end
  self._answers = {}
  if #self._texts > 0 then
    self._options.notice(('the run did without these nodes, which should be looked at: %s'):format(
      table.concat(self._texts, '; ')))
  end
end

return Evictions
