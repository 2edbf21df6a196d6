-- rtrain/doc/site/html.lua: writes elements of HTML, and blocks of Markdown as elements. All text is escaped here.

local html = {}

---@class HtmlLinks
---@field link fun(target: string): string|nil address of a link in a document; nil for one that leads out of the site
---@field code fun(text: string): string|nil address of what a piece of code names
---@field word fun(text: string): string|nil address of a guide by its name, 'guide/data'

local ESCAPES = {['&'] = '&amp;', ['<'] = '&lt;', ['>'] = '&gt;', ['"'] = '&quot;'}

---Returns the text as it stands in an element or in the quotes of an attribute.
---@param text string
---@return string
function html.escape(text) return (text:gsub('[&<>"]', ESCAPES)) end

---Returns an element.
---@param name string
---@param attributes table<string, string>|nil escaped here
---@param content string HTML
---@return string
---
---```lua
---local html = require 'rtrain.doc.site.html'
---assert(html.element('a', {href = 'x?a&b'}, html.escape '1 < 2') == '<a href="x?a&amp;b">1 &lt; 2</a>')
---```
function html.element(name, attributes, content)
  local names, out = {}, {}
  for key in pairs(attributes or {}) do names[#names + 1] = key end
  table.sort(names)
  for i, key in ipairs(names) do out[i] = (' %s="%s"'):format(key, html.escape(attributes[key])) end
  return ('<%s%s>%s</%s>'):format(name, table.concat(out), content, name)
end

---Returns an element with a link, or the content alone without an address.
---@param address string|nil
---@param content string HTML
---@return string
function html.link(address, content)
  return address and html.element('a', {href = address}, content) or content
end

---Returns a block of code.
---@param text string
---@param language string '' for none
---@return string
function html.code_block(text, language)
  local class = language ~= '' and {class = 'language-' .. language} or nil
  return html.element('pre', nil, html.element('code', class, html.escape(text)))
end

-- Returns a text with links in the place of the names of guides.
local function words(text, links)
  local out, at = {}, 1
  for from, name, to in text:gmatch '()%f[%w](guide/[%l-]*%l)()' do
    local address = links.word(name)
    if address then
      out[#out + 1] = html.escape(text:sub(at, from - 1))
      out[#out + 1] = html.link(address, html.escape(name))
      at = to
    end
  end
  out[#out + 1] = html.escape(text:sub(at))
  return table.concat(out)
end

local UNLINKED = {link = function() end, code = function() end, word = function() end}

local writers = {
  text = function(span, links) return words(span.text, links) end,
  code = function(span, links)
    return html.link(links.code(span.text), html.element('code', nil, html.escape(span.text)))
  end,
  strong = function(span, links) return html.element('strong', nil, html.spans(span.spans, links)) end,
  emphasis = function(span, links) return html.element('em', nil, html.spans(span.spans, links)) end,
  link = function(span, links)
    local address = links.link(span.target)
    -- A link has no links inside.
    return html.link(address, html.spans(span.spans, UNLINKED))
  end,
  -- The site has no pictures of documents: their texts say what they show.
  image = function(span) return html.element('em', nil, html.escape(span.text)) end,
}

---Returns spans of Markdown as HTML.
---@param spans MarkdownSpan[]
---@param links HtmlLinks
---@return string
function html.spans(spans, links)
  local out = {}
  for i, span in ipairs(spans) do out[i] = writers[span.kind](span, links) end
  return table.concat(out)
end

---Returns a table that scrolls where it is wider than the page.
---@param head string[] HTML of each cell
---@param rows string[][] HTML of each cell
---@return string
function html.table(head, rows)
  local function row_of(cells, name, attributes)
    local out = {}
    for i, cell in ipairs(cells) do out[i] = html.element(name, attributes, cell) end
    return html.element('tr', nil, table.concat(out))
  end
  local body = {}
  for i, row in ipairs(rows) do body[i] = row_of(row, 'td') end
  local content = html.element('thead', nil, row_of(head, 'th', {scope = 'col'}))
    .. '\n' .. html.element('tbody', nil, table.concat(body, '\n'))
  return html.element('div', {class = 'scroll', tabindex = '0'}, html.element('table', nil, content))
end

---Returns a heading that is a link to itself.
---@param level integer
---@param id string
---@param content string HTML without links
---@return string
function html.heading(level, id, content)
  return html.element('h' .. level, {id = id}, html.link('#' .. id, content))
end

local function cells_of(row, links)
  local out = {}
  for i, spans in ipairs(row) do out[i] = html.spans(spans, links) end
  return out
end

-- A list whose items are single paragraphs is a tight one.
local function item_of(blocks, links)
  if blocks[1] and blocks[1].kind == 'paragraph' then
    local rest = {}
    for i = 2, #blocks do rest[i - 1] = blocks[i] end
    return html.spans(blocks[1].spans, links) .. html.blocks(rest, links)
  end
  return html.blocks(blocks, links)
end

local block_writers = {
  heading = function(block)
    local content = html.spans(block.spans, UNLINKED)
    if block.level == 1 then return html.element('h1', {id = block.id}, content) end
    return html.heading(block.level, block.id, content)
  end,
  paragraph = function(block, links) return html.element('p', nil, html.spans(block.spans, links)) end,
  code = function(block) return html.code_block(block.text, block.language) end,
  quote = function(block, links) return html.element('blockquote', nil, html.blocks(block.blocks, links)) end,
  table = function(block, links)
    local rows = {}
    for i = 2, #block.rows do rows[i - 1] = cells_of(block.rows[i], links) end
    return html.table(cells_of(block.rows[1], links), rows)
  end,
  list = function(block, links)
    local items = {}
    for i, item in ipairs(block.items) do items[i] = html.element('li', nil, item_of(item, links)) end
    return html.element(block.ordered and 'ol' or 'ul', nil, table.concat(items, '\n'))
  end,
}

---Returns blocks of Markdown as HTML.
---@param blocks MarkdownBlock[]
---@param links HtmlLinks
---@return string
---
---```lua
---local html, markdown = require 'rtrain.doc.site.html', require 'rtrain.doc.site.markdown'
---local function none() end
---local written = html.blocks(markdown.read 'a **b**', {link = none, code = none, word = none})
---assert(written == '<p>a <strong>b</strong></p>')
---```
function html.blocks(blocks, links)
  local out = {}
  for i, block in ipairs(blocks) do out[i] = block_writers[block.kind](block, links) end
  return table.concat(out, '\n')
end

return html
