-- rtrain/doc/site/markdown.lua: reads the blocks of Markdown that rtrain's documents use, as a tree.
--
-- Headings, paragraphs, lists, quotes, tables and fenced code. Anything else of Markdown is an error: it would silently be
-- text.

local errors = require 'base.errors'
local inline = require 'rtrain.doc.site.inline'

local markdown = {}

---@class MarkdownBlock
---@field kind string 'heading', 'paragraph', 'list', 'quote', 'table', 'code'
---@field spans? MarkdownSpan[] of a heading or paragraph
---@field level? integer of a heading, from 1
---@field id? string of a heading, as GitHub makes it
---@field ordered? boolean of a list
---@field items? MarkdownBlock[][] of a list
---@field blocks? MarkdownBlock[] of a quote
---@field rows? MarkdownSpan[][][] of a table, the first is its head
---@field language? string of code
---@field text? string of code

local function lines_of(text)
  local lines = {}
  for line in (text .. '\n'):gmatch '(.-)\n' do lines[#lines + 1] = line end
  if lines[#lines] == '' then lines[#lines] = nil end
  return lines
end

-- What this reader does not understand, by the beginning of a line.
local REFUSED = {
  {'^    ', 'indented code'}, {'^~~~', 'a fence of ~'}, {'^=+%s*$', 'an underlined heading'},
  {'^%-%-%-+%s*$', 'a rule or an underlined heading'}, {'^%[[^%]]+%]:', 'a link reference'}, {'^<[%a/!]', 'markup'},
  {'^%s*[+] ', 'a list with +'}, {'^%s*%- ', 'a list with -'}, {'^%d+%) ', 'a list with )'}, {'^#####', 'a deep heading'},
  {'^%s+|', 'an indented table'},
}

local function is_item(line) return line:match '^%* ' or line:match '^%d+%. ' end

local function begins_block(line)
  return not line:match '%S' or line:match '^#+ ' or line:match '^```' or line:match '^|' or line:match '^>'
    or is_item(line)
end

local function paragraph(lines, at)
  local words = {}
  repeat
    words[#words + 1] = lines[at]:match '^%s*(.-)%s*$'
    at = at + 1
  until not lines[at] or begins_block(lines[at])
  return {kind = 'paragraph', spans = inline.read(table.concat(words, ' '))}, at
end

-- Returns the id that GitHub gives a heading; the second of the same text gets '-1'.
local function id_of(spans, seen)
  local id = inline.plain(spans):lower():gsub('[^%w%s_\128-\255-]', ''):gsub('%s', '-')
  local count = seen[id]
  seen[id] = (count or 0) + 1
  return count and ('%s-%d'):format(id, count) or id
end

local function heading(lines, at, seen)
  local marks, text = lines[at]:match '^(#+) +(.-)%s*$'
  local spans = inline.read(text)
  return {kind = 'heading', level = #marks, spans = spans, id = id_of(spans, seen)}, at + 1
end

local function code(lines, at)
  local language, first = lines[at]:match '^```(%w*)%s*$', at + 1
  if not language then errors.raise('internal', 'a fence of a form that is not understood: ' .. lines[at]) end
  at = first
  while lines[at] ~= '```' do
    if not lines[at] then errors.raise('internal', 'a fence without its end') end
    at = at + 1
  end
  return {kind = 'code', language = language, text = table.concat(lines, '\n', first, at - 1)}, at + 1
end

local function cells_of(line)
  local inside = line:match '^|(.*)|%s*$' or errors.raise('internal', 'a row of a table without its end: ' .. line)
  local cells = {}
  for cell in (inside .. '|'):gmatch '(.-)|' do cells[#cells + 1] = inline.read(cell:match '^%s*(.-)%s*$') end
  return cells
end

local function table_of(lines, at)
  local rows, first = {}, at
  while lines[at] and lines[at]:match '^|' do
    if at ~= first + 1 then rows[#rows + 1] = cells_of(lines[at]) end
    at = at + 1
  end
  if not (lines[first + 1] or ''):match '^|[%s|:-]+$' then
    errors.raise('internal', 'a table without the line below its head: ' .. lines[first])
  end
  for _, row in ipairs(rows) do
    if #row ~= #rows[1] then
      errors.raise('internal', ('a table with a row of %d cells below a head of %d: %s'):format(#row, #rows[1],
        lines[first]))
    end
  end
  return {kind = 'table', rows = rows}, at
end

local function quote(lines, at, seen)
  local inside = {}
  while lines[at] and lines[at]:match '^>' do
    inside[#inside + 1] = lines[at]:match '^> ?(.*)$'
    at = at + 1
  end
  return {kind = 'quote', blocks = markdown.blocks(inside, seen)}, at
end

-- Returns the lines of an item without its mark and indentation, and the place behind it.
local function item(lines, at)
  local mark, first = lines[at]:match '^(%*%s+)(.*)$'
  if not mark then mark, first = lines[at]:match '^(%d+%.%s+)(.*)$' end
  local inside, indentation = {first}, ('^' .. (' '):rep(#mark) .. '(.*)$')
  at = at + 1
  while lines[at] do
    local rest = lines[at]:match(indentation)
    local is_blank = not lines[at]:match '%S'
    local continues = is_blank and lines[at + 1] and lines[at + 1]:match(indentation)
    -- A line of the paragraph may stand further left.
    local is_lazy = not is_blank and not begins_block(lines[at]) and inside[#inside]:match '%S'
    if not rest and not continues and not is_lazy then break end
    inside[#inside + 1] = rest or lines[at]
    at = at + 1
  end
  return inside, at
end

local function list(lines, at, seen)
  local ordered, items = lines[at]:match '^%d' ~= nil, {}
  while lines[at] and is_item(lines[at]) and (lines[at]:match '^%d' ~= nil) == ordered do
    local inside
    inside, at = item(lines, at)
    items[#items + 1] = markdown.blocks(inside, seen)
    if lines[at] == '' and lines[at + 1] and is_item(lines[at + 1]) then at = at + 1 end
  end
  return {kind = 'list', ordered = ordered, items = items}, at
end

local function reader_for(line)
  for _, refused in ipairs(REFUSED) do
    if line:match(refused[1]) then errors.raise('internal', ('%s is not understood: %s'):format(refused[2], line)) end
  end
  return line:match '^#' and heading or line:match '^```' and code or line:match '^|' and table_of
    or line:match '^>' and quote or is_item(line) and list or paragraph
end

---Returns the blocks of some lines. Raises code 'internal' for what this reader does not understand.
---@param lines string[]
---@param seen table<string, integer> how often the document has had each id of a heading
---@return MarkdownBlock[]
function markdown.blocks(lines, seen)
  local blocks, at = {}, 1
  while lines[at] do
    if lines[at]:match '%S' then
      blocks[#blocks + 1], at = reader_for(lines[at])(lines, at, seen)
    else
      at = at + 1
    end
  end
  return blocks
end

---Returns the blocks of a document. Raises code 'internal' for what this reader does not understand.
---@param text string
---@return MarkdownBlock[]
---
---```lua
---local markdown = require 'rtrain.doc.site.markdown'
---local blocks = markdown.read '# Exit codes\n\n* one\n* two\n'
---assert(blocks[1].id == 'exit-codes' and #blocks[2].items == 2)
---```
function markdown.read(text) return markdown.blocks(lines_of(text), {}) end

return markdown
