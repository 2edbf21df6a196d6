-- rtrain/notebook/last_value.lua: makes the last expression of a cell its result.

local tokens = require 'rtrain.repl.tokens'

local STARTS_NO_VALUE = {['end'] = true, ['until'] = true, ['else'] = true, ['elseif'] = true, ['return'] = true,
                         ['and'] = true, ['or'] = true}

-- What begins with a string, '-' or '.' may go on with the line above. What begins with '(' may not: Lua refuses it.
local function begins_value(token)
  return token.text == '(' or token.kind == 'number' or token.kind == 'name' and not STARTS_NO_VALUE[token.text]
end

-- Returns the indexes at which a line or, after ';', another statement begins.
local function starts_of(text)
  local starts, before = {}, nil
  for _, token in ipairs(tokens(text)) do
    local is_first = not before or before.text == ';' or text:sub(before.last, token.first):find '\n'
    if is_first and begins_value(token) then starts[#starts + 1] = token.first end
    before = token
  end
  return starts
end

---Returns the text with `return` before its last expression, if the statements before it are complete.
---@param text string the code of a cell
---@return string
---
---```lua
---local last_value = require 'rtrain.notebook.last_value'
---assert(last_value 'x = 1\nx + 1' == 'x = 1\nreturn x + 1' and last_value 'x = 1' == 'x = 1')
---```
return function(text)
  local starts = starts_of(text)
  for i = #starts, 1, -1 do
    local head, tail = text:sub(1, starts[i] - 1), text:sub(starts[i])
    if loadstring('return ' .. tail) and loadstring(head) then return head .. 'return ' .. tail end
  end
  return text
end
