-- rtrain/launch/submit/shell.lua: quotes words for a shell.

local system = require 'base._system'

local shell = {}

---@param text string
---@return string word unchanged if a shell takes it for one word, else quoted
function shell.word(text) return system.shell_word(text) end

---@param words string[]
---@return string command
---
---```lua
---local shell = require 'rtrain.launch.submit.shell'
---assert(shell.command {'echo', 'two words'} == "echo 'two words'")
---```
function shell.command(words)
  local quoted = {}
  for i, word in ipairs(words) do quoted[i] = shell.word(word) end
  return table.concat(quoted, ' ')
end

return shell
