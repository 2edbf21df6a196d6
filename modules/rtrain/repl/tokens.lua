-- rtrain/repl/tokens.lua: splits Lua text into tokens, also if it is incomplete.

---@class LuaToken
---@field kind string 'name' (keywords too), 'string', 'number', 'comment' or 'symbol'
---@field text string
---@field first integer index of its first byte
---@field last integer
---@field is_open? boolean whether a string or comment is not closed at the end of the text

-- Returns the end of a long bracket [[…]], [=[…]=] at `at`; nil if none begins there.
local function long_bracket(text, at)
  local level = text:match('^%[(=*)%[', at)
  if not level then return nil end
  local _, last = text:find(']' .. level .. ']', at, true)
  return last or #text, last == nil
end

local function quoted(text, at)
  local quote, i = text:sub(at, at), at + 1
  while i <= #text do
    local char = text:sub(i, i)
    if char == quote then return i, false end
    if char == '\n' then return i - 1, false end  -- an error that the parser reports
    i = i + (char == '\\' and 2 or 1)
  end
  return #text, true
end

local function comment(text, at)
  local last, is_open = long_bracket(text, at + 2)
  if last then return last, is_open end
  local newline = text:find('\n', at, true)
  return newline and newline - 1 or #text, newline == nil
end

-- Returns kind, end and is_open of the token at `at`.
local function read(text, at)
  if text:match('^[%a_]', at) then return 'name', select(2, text:find('^[%w_]+', at)) end
  if text:match('^%.?%d', at) then return 'number', select(2, text:find('^[%w_.]+', at)) end
  if text:match("^['\"]", at) then return 'string', quoted(text, at) end
  if text:sub(at, at + 1) == '--' then return 'comment', comment(text, at) end
  local last, is_open = long_bracket(text, at)
  if last then return 'string', last, is_open end
  return 'symbol', select(2, text:find('^[=~<>]=', at)) or at
end

---@param text string
---@return LuaToken[]
---
---```lua
---local tokens = require 'rtrain.repl.tokens'
---local found = tokens 'local x = "a b" -- c'
---assert(#found == 5 and found[4].text == '"a b"' and found[5].kind == 'comment')
---```
return function(text)
  local tokens, at = {}, text:find '%S'
  while at do
    local kind, last, is_open = read(text, at)
    tokens[#tokens + 1] = {kind = kind, text = text:sub(at, last), first = at, last = last, is_open = is_open or nil}
    at = text:find('%S', last + 1)
  end
  return tokens
end
