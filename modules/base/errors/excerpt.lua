-- base/errors/excerpt.lua: adds to a message its source line, and a caret below the word that the message is about.
--
-- Lua only reports the line. The word is the operation, or the first quoted name, if it occurs exactly once on the
-- line.

local text_width = require 'base.text_width'

local excerpt = {}

local INDENT = '      '
-- Longer lines are cut.
local MOST_COLUMNS = 161

-- Lua shortens file names of more than 60 bytes: '...folder/train.lua'. The script's full path is known.
local function whole_path(file)
  local tail, script = file:match '^%.%.%.(.+)$', (rawget(_G, 'arg') or {})[0]
  if tail and type(script) == 'string' and script:sub(-#tail) == tail then return script end
  return file
end

-- Returns the text of a line of a file, safe for a terminal; nil if it cannot be read.
local function source_line(file, number)
  local handle = io.open(whole_path(file))
  if handle == nil then return nil end
  local at = 0
  for line in handle:lines() do
    at = at + 1
    if at == number then
      handle:close()
      return (line:gsub('^%s+', ''):gsub('%s+$', ''):gsub('%c', ' '))
    end
  end
  handle:close()
  return nil
end

-- Returns where the pattern matches; nil if it matches nowhere, or more than once.
local function only_place(pattern, line)
  local first, last = line:find(pattern)
  if first == nil or line:find(pattern, last + 1) then return nil end
  return first, last
end

-- Returns patterns for the word that the message is about, the likeliest first. A syntax error is "near '='".
local function patterns_of(message)
  local out = {}
  local near = message:match "near '(%S+)'$"
  if near then out[1] = near:gsub('%W', '%%%0') end
  local words = {message:match '^([%a_][%w_]*):'}
  for word in message:gmatch "'([%a_][%w_]*)'" do words[#words + 1] = word end
  for i = 1, math.min(#words, 2) do out[#out + 1] = ('%%f[%%w_]%s%%f[^%%w_]'):format(words[i]) end
  return out
end

-- Returns '   ^~~~' below the word that the message is about; nil if the word is not known.
local function caret(message, line)
  for _, pattern in ipairs(patterns_of(message)) do
    local first, last = only_place(pattern, line)
    if first then return (' '):rep(text_width.of(line:sub(1, first - 1))) .. '^' .. ('~'):rep(last - first) end
  end
end

---Returns the source line that a message, or a frame of a traceback, names at its beginning: 'train.lua:12: view: …'.
---@param text string
---@return string? lines indented; nil if the text does not begin with a place, or the file cannot be read
---
---```lua
---local excerpt = require 'base.errors.excerpt'
---local path = os.tmpname()
---local file = io.open(path, 'w')
---file:write('local y = x:view(7)\n')
---file:close()
---assert(excerpt.of(path .. ":1: view: shape '[7]' is invalid") == '      local y = x:view(7)\n                  ^~~~')
---os.remove(path)
---```
function excerpt.of(text)
  local file, number, message = text:match '^%s*([^:\n]+):(%d+): ?([^\n]*)'
  local line = file and source_line(file, tonumber(number))
  if line == nil or line == '' then return nil end
  local mark = caret(message, line)
  if mark and #mark >= MOST_COLUMNS then mark = nil end
  return INDENT .. text_width.cut(line, MOST_COLUMNS) .. (mark and '\n' .. INDENT .. mark or '')
end

return excerpt
