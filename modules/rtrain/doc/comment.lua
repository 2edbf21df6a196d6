-- rtrain/doc/comment.lua: parses a LuaCATS comment into text, tags and examples.

local comment = {}

---@class DocItem
---@field name? string
---@field type string as it is written
---@field optional? boolean
---@field text string its description, '' if there is none

---@class DocComment
---@field paragraphs string[] free text
---@field params DocItem[]
---@field returns DocItem[]
---@field fields DocItem[]
---@field overloads string[] function types
---@field examples string[] Lua code
---@field class? string
---@field base? string
---@field generic? string names of types
---@field alias? string
---@field stands_for? string the type of an alias

local read_type

local function skip_spaces(text, at) return text:match('^%s*()', at) end

-- Returns the end of `item, item` up to the closing bracket, each parsed by read_item; nil if the text is not such a
-- list.
local function read_list(text, at, closing, read_item)
  at = skip_spaces(text, at)
  if text:sub(at, at) == closing then return at + 1 end
  while true do
    at = read_item(text, at)
    if not at then return nil end
    at = skip_spaces(text, at)
    local mark = text:sub(at, at)
    if mark == closing then return at + 1 end
    if mark ~= ',' then return nil end
    at = skip_spaces(text, at + 1)
  end
end

-- Parses `name: type`, `name?: type`, `name`, `...: type`, `[type]: type`.
local function read_member(text, at)
  local after = text:match('^[%a_][%w_]*%??()', at) or text:match('^%.%.%.()', at)
  if not after then
    after = text:match('^%[()', at)
    after = after and read_type(text, after)
    after = after and text:match('^%]()', after)
  end
  if not after then return nil end
  local value = text:match('^:%s*()', after)
  return value and read_type(text, value) or after
end

local function read_results(text, at)
  at = read_type(text, at)
  while at do
    local more = text:match('^,%s+()', at)
    local ends = more and read_type(text, more)
    if not ends then return at end
    at = ends
  end
end

local function read_function(text, at)
  at = read_list(text, at, ')', read_member)
  local results = at and text:match('^:%s*()', at)
  return results and read_results(text, results) or at
end

local function read_primary(text, at)
  local inner = text:match('^fun%(()', at)
  if inner then return read_function(text, inner) end
  inner = text:match('^{()', at)
  if inner then return read_list(text, inner, '}', read_member) end
  inner = text:match('^%(()', at)
  if inner then
    inner = read_type(text, inner)
    return inner and text:match('^%)()', inner)
  end
  local name = text:match("^'[^']*'()", at) or text:match('^"[^"]*"()', at) or text:match('^%-?%d+()', at)
    or text:match('^[%a_][%w_.]*%*?()', at) or text:match('^%.%.%.()', at)
  local arguments = name and text:match('^<()', name)
  return arguments and read_list(text, arguments, '>', read_type) or name
end

-- Returns the position after the type that begins at `at`; nil if there is no type.
function read_type(text, at)
  at = read_primary(text, at)
  while at do
    local suffix = text:match('^%[%]()', at) or text:match('^%?()', at)
    if suffix then
      at = suffix
    else
      local other = text:match('^|()', at)
      if not other then return at end
      at = read_primary(text, other)
    end
  end
end

---Splits 'type rest' after the type.
---@param text string
---@return string|nil type nil if the text does not begin with a type
---@return string rest
function comment.split_type(text)
  local ends = read_type(text, 1)
  -- The full stop of a sentence may follow the name.
  if not ends then return nil, text end
  return text:sub(1, ends - 1), (text:sub(ends):gsub('^%s+', ''))
end

-- Returns the members between brackets that open before `at`, as items; nil if they cannot be parsed.
local function members(text, at, closing)
  local items = {}
  local ends = read_list(text, at, closing, function(_, from)
    local to = read_member(text, from)
    if not to then return nil end
    local name, mark, type = text:sub(from, to - 1):match '^([%w_.]+)(%??):?%s*(.*)$'
    items[#items + 1] = {name = name, type = type ~= '' and type or 'any', optional = mark == '?' or nil, text = ''}
    return to
  end)
  return ends and items, ends
end

---Returns the fields of `{a: T, b?: T}` or the parameters of `fun(a: T, b?: T)`.
---@param type string
---@return DocItem[]|nil members nil for any other type
---@return string result type of the function's result, '' if it has none
function comment.members(type)
  local at = type:match '^fun%(()'
  if at then
    local items, ends = members(type, at, ')')
    return items or nil, items and type:sub(ends):match '^:%s*(.*)$' or ''
  end
  local items, ends = members(type, type:match '^{()' or #type + 1, '}')
  return items and #items > 0 and items[1].name and ends > #type and items or nil, ''
end

local function named_item(rest)
  local name, mark, tail = rest:match '^([%w_.]+)(%??)%s*(.*)$'
  local type, text = comment.split_type(tail or '')
  return {name = name, type = type or 'any', optional = mark == '?' or nil, text = text}
end

local PLAIN = {string = true, table = true, integer = true, number = true, boolean = true, any = true, userdata = true}

-- Returns whether the text begins with a type and not with a word of a sentence.
local function begins_with_type(text)
  local word = text:match '^[%w_.]+' or ''
  return PLAIN[word] or word:match '%.%a' ~= nil or word:match '^%u' ~= nil
end

-- Parses `type name text`, or several `type name` separated by commas.
local function add_returns(returns, rest)
  local type, tail = comment.split_type(rest)
  while type do
    local name, more = tail:match '^([%a_][%w_]*),%s+(.*)$'
    if not name or not begins_with_type(more) then break end
    returns[#returns + 1] = {type = type, name = name, text = ''}
    type, tail = comment.split_type(more)
  end
  local name, text = tail:match '^([%a_][%w_]*)%s*(.*)$'
  if not name then tail = tail:gsub('^#%s*', '') end
  returns[#returns + 1] = {type = type or 'any', name = name, text = name and text or tail}
  return returns[#returns]
end

local TAGS = {
  param = function(out, rest)
    out.params[#out.params + 1] = named_item(rest)
    return out.params[#out.params]
  end,
  field = function(out, rest)
    out.fields[#out.fields + 1] = named_item(rest)
    return out.fields[#out.fields]
  end,
  ['return'] = function(out, rest) return add_returns(out.returns, rest) end,
  overload = function(out, rest) out.overloads[#out.overloads + 1] = rest end,
  generic = function(out, rest) out.generic = rest end,
  alias = function(out, rest) out.alias, out.stands_for = rest:match '^([%w_.]+)%s+(.*)$' end,
  class = function(out, rest) out.class, out.base = rest:match '^([%w_.]+):?%s*([%w_.]*)' end,
}

local Reader = {}
Reader.__index = Reader

function Reader:_add_text(line)
  local joins = self.paragraph and not line:match '^[*-] '
  local paragraphs = self.out.paragraphs
  if joins then
    paragraphs[#paragraphs] = paragraphs[#paragraphs] .. ' ' .. line
  else
    paragraphs[#paragraphs + 1] = line
  end
  self.paragraph = true
end

function Reader:_add_line(line)
  local tag, rest = line:match '^@(%w+)%s*(.*)$'
  if tag then
    self.paragraph = nil
    self.item = TAGS[tag] and TAGS[tag](self.out, rest)
  elseif self.item and line:match '^%s' then
    self.item.text = (self.item.text .. ' ' .. line:match '^%s+(.*)$'):gsub('^%s+', '')
  elseif line:match '^%s*$' then
    self.paragraph, self.item = nil, nil
  else
    self.item = nil
    self:_add_text((line:gsub('^%s+', '')))
  end
end

---Parses a comment.
---@param lines string[] without their `---`
---@return DocComment
---
---```lua
---local comment = require 'rtrain.doc.comment'
---local doc = comment.read{'Doubles.', '@param x number what to double', '@return number'}
---assert(doc.paragraphs[1] == 'Doubles.' and doc.params[1].text == 'what to double')
---```
function comment.read(lines)
  local out = {paragraphs = {}, params = {}, returns = {}, fields = {}, overloads = {}, examples = {}}
  local reader, example = setmetatable({out = out}, Reader), nil
  for _, line in ipairs(lines) do
    if line == '```lua' then
      example = {}
    elseif line == '```' and example then
      out.examples[#out.examples + 1] = table.concat(example, '\n')
      example, reader.paragraph, reader.item = nil, nil, nil
    elseif example then
      example[#example + 1] = line
    else
      reader:_add_line(line)
    end
  end
  if out.base == '' then out.base = nil end
  return out
end

return comment
