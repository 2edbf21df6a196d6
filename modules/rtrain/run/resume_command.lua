-- rtrain/run/resume_command.lua: formats the command that continues an unfinished run.

local system = require 'base._system'

-- Removes the first occurrence of an option and its value from the words.
local function without(words, name)
  local out, is_gone, i = {}, false, 1
  while i <= #words do
    local word = words[i]
    if not is_gone and (word == name or word:sub(1, #name + 1) == name .. '=') then
      is_gone = true
      if word == name then i = i + 1 end
    else
      out[#out + 1] = word
    end
    i = i + 1
  end
  return out
end

---@param flags table flags of `rtrain run` or `rtrain launch`: `command`, and the given `name` and `resume`
---@param name string name of the run or the sweep
---@return string? command for a shell; nil if the process was not started by such a command
---
---```lua
---local resume_command = require 'rtrain.run.resume_command'
---local flags = {command = {'rtrain', 'run', 'my train.lua', '--resume', 'never', '--', 'x'}, resume = 'never'}
---assert(resume_command(flags, 'one') == "rtrain run --name one --resume auto 'my train.lua' -- x")
---```
return function(flags, name)
  if flags.command == nil then return nil end
  local words = flags.resume and without(flags.command, '--resume') or {unpack(flags.command)}
  local added = flags.name and {'--resume', 'auto'} or {'--name', name, '--resume', 'auto'}
  for i, word in ipairs(added) do table.insert(words, 2 + i, word) end
  for i, word in ipairs(words) do words[i] = system.shell_word(word) end
  return table.concat(words, ' ')
end
