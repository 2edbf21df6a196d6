-- rtrain/doc/arguments.lua: parses the sentence 'Arguments: a, b = 2 (note), {c = false}.' of a comment into notes on
-- parameters.

local source = require 'rtrain.doc.source'

local arguments = {}

local OPENING, CLOSING = {['('] = true, ['['] = true, ['{'] = true}, {[')'] = true, [']'] = true, ['}'] = true}

local Splitter = {}
Splitter.__index = Splitter

function Splitter:_close_item(to)
  local item = self.text:sub(self.from, to):match '^%s*(.-)%s*$'
  if item ~= '' then self.items[#self.items + 1] = item end
  self.from = to + 2
end

-- Braces around several items mark keywords; braces after '=' belong to a value.
function Splitter:_opens_keywords(at, char)
  return char == '{' and self.depth == 0 and self.text:sub(self.from, at - 1):match '^%s*$' ~= nil
end

function Splitter:_step(at, char)
  if self:_opens_keywords(at, char) then
    self.from, self.keywords = at + 1, true
  elseif char == '}' and self.depth == 0 and self.keywords then
    self:_close_item(at - 1)
    self.from, self.keywords = at + 1, false
  elseif OPENING[char] then
    self.depth = self.depth + 1
  elseif CLOSING[char] then
    self.depth = self.depth - 1
  elseif char == ',' and self.depth == 0 then
    self:_close_item(at - 1)
  end
end

-- Returns whether the sentence ends at this character.
function Splitter:_ends(at, char)
  if self.depth > 0 or self.keywords then return false end
  return char == ';' or (char == '.' and self.text:match('^%s', at + 1) ~= nil) or (char == '.' and at == #self.text)
end

-- Returns the items of the sentence and the position after it.
local function split(text, from)
  local self = setmetatable({text = text, from = from, depth = 0, items = {}}, Splitter)
  for at = from, #text do
    local char = text:sub(at, at)
    if self:_ends(at, char) then
      self:_close_item(at - 1)
      return self.items, at + 1
    end
    self:_step(at, char)
  end
  self:_close_item(#text)
  return self.items, #text + 1
end

-- Matches 'L, N, E' or 'C': lengths of dimensions, which keep their parentheses.
local function is_shape(text)
  local count = 0
  for part in (text .. ','):gmatch '%s*([^,]*),' do
    if part:find '%a%s+%a' then return false end
    count = count + 1
  end
  return count > 1 or text:match '^%u$' ~= nil
end

-- Splits 'b = 2 (note)' into name, value and note.
local function parts_of(item)
  local name, rest = item:match '^([%a_][%w_]*)%s*(.*)$'
  if not name then return nil end
  local value, note = rest:match '^=%s*(%b{})%s*(.*)$'
  if not value then value, note = rest:match '^=%s*([^%s(]+)%s*(.*)$' end
  note = note or rest
  if value and note:match '^|' then note = value .. ' ' .. note end
  local inside = note:match '^%b()$' and note:sub(2, -2)
  return name, value, inside and not is_shape(inside) and inside or note
end

-- Beginnings of the sentence; "Options as Adam's; " is followed by the differing options.
local MARKS = {'^(.-)Arguments?: ()', '^(.-)Options: ()', "^(.-)[Oo]ptions as [%w_]+'?s?; ()"}

local function marked(paragraph)
  for _, mark in ipairs(MARKS) do
    local before, from = paragraph:match(mark)
    if before then return before, from end
  end
end

---@class DocNote
---@field name string
---@field value? string default, as it is written in the comment
---@field text string

---Removes the sentence from the paragraphs and parses it.
---@param paragraphs string[]
---@param known? table<string, any> names of the parameters; an item with another name is part of the text of the item
---  before
---@return DocNote[] notes
---@return string[] paragraphs without the sentence
function arguments.take(paragraphs, known)
  local notes, rest = {}, {}
  for _, paragraph in ipairs(paragraphs) do
    local before, from = marked(paragraph)
    if from then
      local items, ends = split(paragraph, from)
      for _, item in ipairs(items) do
        local name, value, text = parts_of(item)
        if name and (not known or known[name]) then
          notes[#notes + 1] = {name = name, value = value, text = text}
        elseif #notes > 0 then
          notes[#notes].text = (notes[#notes].text .. ', ' .. item):gsub('^, ', '')
        end
      end
      local after = paragraph:sub(ends):match '^%s*(.*)$'
      paragraph = (before .. source.capitalized(after)):match '^(.-)%s*$'
    end
    if paragraph ~= '' then rest[#rest + 1] = paragraph end
  end
  return notes, rest
end

return arguments
