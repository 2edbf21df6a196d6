-- rtrain/repl/globals.lua: makes the local variables of a line globals of the session, so that later lines see them.

local tokens = require 'rtrain.repl.tokens'

local OPENS = {['function'] = 1, ['do'] = 1, ['if'] = 1, ['repeat'] = 1, ['end'] = -1, ['until'] = -1}
local IS_KEYWORD = {['function'] = true, ['end'] = true, ['do'] = true, ['return'] = true, ['local'] = true}

local function without_comments(text)
  local kept = {}
  for _, token in ipairs(tokens(text)) do
    if token.kind ~= 'comment' then kept[#kept + 1] = token end
  end
  return kept
end

local function is_name(token) return token and token.kind == 'name' and not IS_KEYWORD[token.text] end

-- Returns the last name of `a, b, c` that begins at the index; nil if no name begins there.
local function last_name(list, at)
  if not is_name(list[at]) then return nil end
  while list[at + 1] and list[at + 1].text == ',' and is_name(list[at + 2]) do at = at + 2 end
  return at
end

-- Adds the replacements for the `local` at the index, as {first, last, text}.
local function edits_of(list, at, edits)
  local word, following = list[at], list[at + 1]
  local blank = {word.first, word.last, (' '):rep(#word.text)}
  if following and following.text == 'function' then
    edits[#edits + 1] = blank
    return
  end
  local last = last_name(list, at + 1)
  if not last then return end
  local after = list[last + 1]
  if after and after.text == ',' then return end
  edits[#edits + 1] = blank
  if not after or after.text ~= '=' then edits[#edits + 1] = {list[last].last + 1, list[last].last, ' = nil'} end
end

---Returns the text without every `local` outside of functions and blocks: `local x = 1` becomes an assignment to a
---global, which functions passed to `fit()` carry to the workers like any other. Inside of a block `local` keeps its
---meaning.
---@param text string a chunk, which may be incomplete
---@return string
---
---```lua
---local globals = require 'rtrain.repl.globals'
---assert(globals 'local x, y = 1' == '      x, y = 1' and globals 'local x' == '      x = nil')
---assert(globals 'do local x = 1 end' == 'do local x = 1 end')
---```
return function(text)
  local list, depth, edits = without_comments(text), 0, {}
  for i, token in ipairs(list) do
    if token.kind == 'name' then
      if token.text == 'local' and depth == 0 then edits_of(list, i, edits) end
      depth = depth + (OPENS[token.text] or 0)
    end
  end
  local parts, at = {}, 1
  for _, edit in ipairs(edits) do
    parts[#parts + 1] = text:sub(at, edit[1] - 1) .. edit[3]
    at = edit[2] + 1
  end
  return table.concat(parts) .. text:sub(at)
end
