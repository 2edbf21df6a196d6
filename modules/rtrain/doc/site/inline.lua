-- rtrain/doc/site/inline.lua: reads the text within a block of Markdown: code, links, pictures, emphasis.

local errors = require 'base.errors'

local inline = {}

---@class MarkdownSpan
---@field kind string 'text', 'code', 'strong', 'emphasis', 'link', 'image'
---@field text? string of text, code and image
---@field target? string of a link or image
---@field spans? MarkdownSpan[] of strong, emphasis and link

local function refuse(text, why) errors.raise('internal', ('%s in: %s'):format(why, text)) end

-- Each returns the span that begins at a place of the text, and the place behind it; nil if none begins there.
local readers = {
  ['`'] = function(text, at)
    local marks, from = text:match('^(`+)()', at)
    local to, behind = text:match('()' .. marks .. '()', from)
    if not to then refuse(text, 'a ` without its end') end
    return {kind = 'code', text = text:sub(from, to - 1)}, behind
  end,
  ['!'] = function(text, at)
    local name, target, behind = text:match('^!%[([^%]]*)%]%(([^()%s]+)%)()', at)
    if name then return {kind = 'image', text = name, target = target}, behind end
  end,
  ['['] = function(text, at)
    local name, target, behind = text:match('^%[([^%]]+)%]%(([^()%s]+)%)()', at)
    if name then return {kind = 'link', target = target, spans = inline.read(name)}, behind end
    if text:match('^%[[^%]]*%][%[(]', at) then refuse(text, 'a link of a form that is not understood') end
  end,
  ['*'] = function(text, at)
    local inner, behind = text:match('^%*%*(%S.-)%*%*()', at)
    if inner then return {kind = 'strong', spans = inline.read(inner)}, behind end
    inner, behind = text:match('^%*([^%s*][^*]*)%*()', at)
    if inner then return {kind = 'emphasis', spans = inline.read(inner)}, behind end
    if text:match('^%*%S', at) then refuse(text, 'a * without its end') end
  end,
  ['\\'] = function(text) refuse(text, 'a backslash outside code') end,
  ['<'] = function(text, at)
    if text:match('^<[%a/!]', at) then refuse(text, 'markup outside code') end
  end,
  ['&'] = function(text, at)
    if text:match('^&#?%w+;', at) then refuse(text, 'a character reference') end
  end,
}

---Returns the spans of a text. Raises code 'internal' for what this reader does not understand.
---@param text string
---@return MarkdownSpan[]
---
---```lua
---local spans = require('rtrain.doc.site.inline').read 'call `f`, see [g](g.md)'
---assert(spans[2].kind == 'code' and spans[4].target == 'g.md')
---```
function inline.read(text)
  local spans, plain, at = {}, {}, 1
  local function end_plain()
    if #plain > 0 then spans[#spans + 1] = {kind = 'text', text = table.concat(plain)} end
    plain = {}
  end
  while at <= #text do
    local reader = readers[text:sub(at, at)]
    local span, behind
    if reader then span, behind = reader(text, at) end
    if span then
      end_plain()
      spans[#spans + 1], at = span, behind
    else
      local piece = text:match('^[^`!%[*\\<&]+', at) or text:sub(at, at)
      plain[#plain + 1], at = piece, at + #piece
    end
  end
  end_plain()
  return spans
end

---Returns what a reader sees of the spans, without links and emphasis.
---@param spans MarkdownSpan[]
---@return string
function inline.plain(spans)
  local out = {}
  for i, span in ipairs(spans) do out[i] = span.text or inline.plain(span.spans) end
  return table.concat(out)
end

return inline
