-- rtrain/doc/search.lua: searches the sections of the guides and the comments of functions and classes for words.

local guide = require 'rtrain.doc.guide'
local lookup = require 'rtrain.doc.lookup'
local page = require 'rtrain.doc.page'
local source = require 'rtrain.doc.source'

local search = {}

-- If fewer than FEW items have all words, items that lack one word are added.
local MOST, FEW = 12, 5

-- Points for a word in a name, in a heading or first sentence, and elsewhere.
local IN_NAME, IN_TITLE, IN_TEXT = 6, 4, 1

local TOO_COMMON = {}
for word in ('a an and are as at be by can do does for from get how i if in into is it its my not of on or the there to use '
             .. 'what when which why with'):gmatch '%a+' do
  TOO_COMMON[word] = true
end

-- 'Learning rates' → {'learn', 'rate'}: the beginnings of the words, without their endings.
local function stems_of(text)
  local stems = {}
  for word in text:lower():gmatch '[%w_]+' do
    if not TOO_COMMON[word] then
      local stem = word:gsub('ies$', 'y'):gsub('s$', ''):gsub('ing$', ''):gsub('ed$', '')
      stems[#stems + 1] = #stem >= 3 and stem or word
    end
  end
  return stems
end

-- Returns how well an item {name, title, text} matches: the number of words that it contains, and points.
local function score_of(item, stems)
  local name, title, text = item.name:lower(), item.title:lower(), item.text:lower()
  local count, points = 0, 0
  for _, stem in ipairs(stems) do
    local word = '%f[%w]' .. stem  -- only at the beginning of a word: nan is not in dominant
    local own = (name:find(stem, 1, true) and IN_NAME or 0) + (title:find(word) and IN_TITLE or 0)
      + (text:find(word) and IN_TEXT or 0)
    if own > 0 then count, points = count + 1, points + own end
  end
  return count, points
end

-- Returns a row of a table as a sentence; nil for a separator row.
local function row_text(line)
  if line:match '^|[-| ]+|$' then return nil end
  local cells = {}
  for cell in line:gmatch '|%s*([^|]-)%s*%f[|]' do cells[#cells + 1] = cell ~= '' and cell or nil end
  return table.concat(cells, ' → ')
end

-- Returns the first sentence of a section, without its tables and code.
local function first_words(body)
  local text = body:gsub('```.-```', ''):gsub('\n|[^\n]*', ''):gsub('%s+', ' '):gsub('^ ?%*? ?', '')
  return (text:match '^(.-[.:])%s' or text):sub(1, 160)
end

-- Calls the function for each section of a page, with its heading and its body.
local function each_section(markdown, see)
  local heading, lines, is_code = nil, {}, false
  for line in (markdown .. '\n# \n'):gmatch '(.-)\n' do
    is_code = line:match '^```' ~= nil ~= is_code
    local own = not is_code and line:match '^#+%s(.*)$'
    if own then
      if heading then see(heading, table.concat(lines, '\n')) end
      heading, lines = own, {}
    else
      lines[#lines + 1] = line
    end
  end
end

-- Adds the sections of the guides, and the rows of their tables.
local function add_guides(items)
  for _, name in ipairs(guide.names()) do
    each_section(guide.find(name).markdown, function(heading, body)
      items[#items + 1] = {name = name, kind = 'guide', title = heading, heading = heading, text = body,
                           shown = first_words(body)}
      for line in ('\n' .. body):gmatch '\n(|[^\n]*)' do
        local row = row_text(line)
        if row then items[#items + 1] = {name = name, kind = 'guide', title = row, text = '', shown = row} end
      end
    end)
  end
end

local function texts_of(entry)
  local parts = {entry.module, source.summary(entry.module), table.concat(entry.doc.paragraphs, ' ')}
  for _, list in ipairs {entry.doc.params, entry.doc.fields, entry.doc.returns} do
    for _, item in ipairs(list) do parts[#parts + 1] = ('%s %s'):format(item.name or '', item.text or '') end
  end
  return table.concat(parts, ' ')
end

-- Adds modules and commented things, a class under its own name, others under their bare name.
local function add_comments(items)
  for _, module in ipairs(source.modules()) do
    local title = page.module_summary(module)
    items[#items + 1] = {name = module, kind = 'module', title = title, text = '', shown = title}
    for _, entry in ipairs(source.entries(module)) do
      local name = entry.doc.class or entry.name
      if name and not name:match '^_' and not entry.is_method then
        items[#items + 1] = {name = name, kind = 'name', title = page.summary(entry), text = texts_of(entry), entry = entry,
                             shown = page.summary(entry)}
      end
    end
  end
end

-- Returns the name that users write for a comment of a public thing; nil for internals of rtrain.
local function public_name(item)
  if item.kind == 'guide' then return item.name end
  local is_module = item.kind == 'module'
  local ok, thing = pcall(lookup, is_module and item.name or item.name:match '[%w_]+$')
  if is_module then return ok and thing.kind == 'module' and thing.path == item.name and item.name or nil end
  if not ok or thing.entry ~= item.entry or thing.kind == 'class' and thing.value == nil then return nil end
  return page.written_name(thing)
end

---@param words string
---@return table[] found {name, kind, text}, best match first
---
---```lua
---local found = require('rtrain.doc.search').find 'a worker hangs'
---assert(#found > 0 and found[1].name == 'guide/failures')
---```
function search.find(words)
  local stems, items, scored = stems_of(words), {}, {}
  if #stems == 0 then return {} end
  add_guides(items)
  add_comments(items)
  local most = 1
  for i, item in ipairs(items) do
    local count, points = score_of(item, stems)
    if count >= most then scored[#scored + 1] = {item = item, count = count, points = points, place = i} end
    most = math.max(most, count)
  end
  table.sort(scored, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    if a.points ~= b.points then return a.points > b.points end
    return a.place < b.place
  end)
  local found = {}
  for _, one in ipairs(scored) do
    if #found == MOST or one.count < most and (#found >= FEW or one.count < most - 1 or most < 3) then break end
    local name = public_name(one.item)
    local heading = one.item.heading and one.item.heading .. ': ' or ''
    if name then found[#found + 1] = {name = name, kind = one.item.kind, text = heading .. one.item.shown} end
  end
  return found
end

return search
