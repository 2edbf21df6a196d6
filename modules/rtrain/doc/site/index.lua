-- rtrain/doc/site/index.lua: what leads into the site: its first page, and the index of its search.

local html = require 'rtrain.doc.site.html'
local inline = require 'rtrain.doc.site.inline'
local json = require 'json'
local page = require 'rtrain.doc.page'

local index = {}

-- The guides of the first hour come first.
local FIRST = {'guide/start', 'guide/lua', 'guide/porting', 'guide/install', 'guide/commands'}

local function first_paragraph(blocks)
  for _, block in ipairs(blocks) do
    if block.kind == 'paragraph' then return block end
  end
end

-- Returns the first sentence of a document.
local function summary_of(blocks)
  local block = first_paragraph(blocks)
  return block and page.first_sentence(inline.plain(block.spans)) or ''
end

local function in_order(guides)
  local by_name, out, is_first = {}, {}, {}
  for _, guide in ipairs(guides) do by_name[guide.name] = guide end
  for i, name in ipairs(FIRST) do out[i], is_first[name] = by_name[name], true end
  for _, guide in ipairs(guides) do
    if not is_first[guide.name] then out[#out + 1] = guide end
  end
  return out
end

local function list_of(documents, links)
  local rows = {}
  for i, document in ipairs(documents) do
    rows[i] = {html.link(links.to(document.address), html.escape(document.title)), html.escape(summary_of(document.blocks))}
  end
  return html.table({'Page', 'Is about'}, rows)
end

---Returns the first page.
---@param readme MarkdownBlock[] the project's README: its first paragraph says what rtrain is
---@param guides SiteDocument[]
---@param others SiteDocument[]
---@param links HtmlLinks
---@return string html
function index.front(readme, guides, others, links)
  return table.concat({
    html.element('h1', nil, 'rtrain'), html.blocks({first_paragraph(readme)}, links),
    html.heading(2, 'guides', 'Guides'), list_of(in_order(guides), links),
    html.heading(2, 'library', 'Library and examples'),
    html.element('p', nil, html.link(links.to 'api/index.html', 'Every module') .. ' with the signatures of its functions, '
      .. 'classes and methods; ' .. html.link(links.to 'examples/index.html', 'the examples') .. ' and what they print.'),
    html.heading(2, 'more', 'More'), list_of(others, links),
  }, '\n')
end

-- The texts of entries are cut: the list shows one line of each.
local MOST_CHARACTERS = 110

local function brief(text)
  if #text <= MOST_CHARACTERS then return text end
  return text:sub(1, MOST_CHARACTERS):match '^(.*)%s' .. ' …'
end

-- Returns the entries of a document and its headings, [title, id, kind, text] each.
local function entries_of(document)
  local entries = {{document.title, '', document.name or 'document', brief(summary_of(document.blocks))}}
  for at, block in ipairs(document.blocks) do
    if block.kind == 'heading' and block.level > 1 then
      local below = document.blocks[at + 1]
      local text = below and below.kind == 'paragraph' and page.first_sentence(inline.plain(below.spans)) or ''
      entries[#entries + 1] = {inline.plain(block.spans), block.id, document.name or document.title, brief(text)}
    end
  end
  return entries
end

local function add_name(entries, name)
  local doc = name.page
  entries[#entries + 1] = {doc.name, name.id, doc.kind, brief(page.first_sentence(doc.text[1] or ''))}
  for _, method in ipairs(name.methods) do add_name(entries, method) end
end

-- Returns the entries of a module and all that is in it.
local function entries_of_module(module)
  local entries = {{module.path, '', 'module', brief(module.page.text[1] or '')}}
  for _, name in ipairs(module.names) do add_name(entries, name) end
  return entries
end

---Returns the script that holds what the search knows: [address, [[title, id, kind, text], …]] of each page.
---@param documents SiteDocument[]
---@param scripts {name: string, address: string, text: string}[] the examples
---@param modules LibraryModule[]
---@return string
function index.script(documents, scripts, modules)
  local pages = {}
  local function add(address, entries) pages[#pages + 1] = json.encode{address, entries} end
  for _, document in ipairs(documents) do add(document.address, entries_of(document)) end
  for _, script in ipairs(scripts) do
    add(script.address, {{script.name, '', 'example', brief(script.text:match '^%-%- ([^\n]*)' or '')}})
  end
  for _, module in ipairs(modules) do add(module.address, entries_of_module(module)) end
  return 'globalThis.rtrainPages = [\n' .. table.concat(pages, ',\n') .. '\n];\n'
end

return index
