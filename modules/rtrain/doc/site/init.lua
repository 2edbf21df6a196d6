-- rtrain/doc/site/init.lua: `rtrain doc --html FOLDER`: writes guides, library and examples as a folder of pages, which work
-- without a server. The bytes depend on nothing but the sources.

local Atlas = require 'rtrain.doc.site.atlas'
local examples = require 'rtrain.doc.site.examples'
local guide = require 'rtrain.doc.guide'
local html = require 'rtrain.doc.site.html'
local index = require 'rtrain.doc.site.index'
local inline = require 'rtrain.doc.site.inline'
local library = require 'rtrain.doc.site.library'
local markdown = require 'rtrain.doc.site.markdown'
local ordered = require 'base.ordered'
local reference = require 'rtrain.doc.site.reference'
local system = require 'base._system'
local write_file = require 'base.write_file'

local site = {}

---@class SiteMaterial
---@field web table<string, string> the files of web/, and site/site.js as one script
---@field documents table<string, string> examples, and documents that are not guides, by their paths in the source tree

local GUIDES, README = 'modules/rtrain/guide/', 'examples/README.md'

-- Documents apart from guides and examples: path in the source tree → address.
local OTHERS = {
  [README] = 'examples/index.html', ['CHANGELOG.md'] = 'changes.html', ['modules/torch/ABSENT.md'] = 'absent-torch.html',
  ['modules/torch/nn/ABSENT.md'] = 'absent-nn.html',
}

local function document(source, address, text)
  local blocks = markdown.read(text)
  return {source = source, address = address, title = inline.plain(blocks[1].spans), blocks = blocks}
end

-- Returns the guides, and the other documents, each sorted by name.
local function documents_of(material)
  local guides, others = {}, {}
  for _, name in ipairs(guide.names()) do
    local short = name:match '[^/]+$'
    local is_porting = short == 'porting'
    local source = is_porting and 'modules/rtrain/PORTING.md' or GUIDES .. short .. '.md'
    local address = is_porting and 'porting.html' or ('guide-%s.html'):format(short)
    guides[#guides + 1] = document(source, address, guide.find(name).markdown)
    guides[#guides].name = name
  end
  for _, source in ipairs(ordered.names_of(OTHERS)) do
    others[#others + 1] = document(source, OTHERS[source], material.documents[source])
  end
  return guides, others
end

-- Returns the examples, sorted by name.
local function scripts_of(material)
  local scripts = {}
  for _, path in ipairs(ordered.names_of(material.documents)) do
    local name = path:match '^examples/([%w_]+)%.lua$'
    if name then
      scripts[#scripts + 1] = {name = name .. '.lua', source = path, address = ('examples/%s.html'):format(name),
                               text = material.documents[path]}
    end
  end
  return scripts
end

local function add_names(atlas, module)
  atlas:add_name(module.path, module.address)
  for _, name in ipairs(module.names) do
    local address = module.address .. '#' .. name.id
    atlas:add_name(name.page.name, address)
    atlas:add_name(name.page.path, address)
    if name.class then atlas:add_name(name.class, address) end
    -- A configuration or a trainer is named alone: `FailureConfig`.
    if module.path == 'rtrain' and name.id:match '^%u' then atlas:add_name(name.id, address) end
    for _, method in ipairs(name.methods) do atlas:add_name(method.page.name, module.address .. '#' .. method.id) end
  end
end

local function add_document(atlas, found)
  atlas:add_page(found.source, found.address)
  if not found.name then return end
  atlas.guides[found.name] = found.address
  for _, block in ipairs(found.name == 'guide/commands' and found.blocks or {}) do
    local command = block.kind == 'heading' and inline.plain(block.spans):match '^rtrain (.+)$'
    if command then atlas.commands[command] = found.address .. '#' .. block.id end
  end
end

local function atlas_of(documents, scripts, modules)
  local atlas = Atlas()
  for _, found in ipairs(documents) do add_document(atlas, found) end
  for _, script in ipairs(scripts) do atlas:add_page(script.source, script.address) end
  for _, module in ipairs(modules) do add_names(atlas, module) end
  return atlas
end

-- Returns the list of a page's headings of the second level; '' for fewer than two.
local function contents_of(main)
  local out = {}
  for id, content in main:gmatch '<h2 id="([^"]*)"><a href="[^"]*">(.-)</a></h2>' do
    out[#out + 1] = html.element('li', nil, html.link('#' .. id, (content:gsub('</?[^>]*>', ''))))
  end
  if #out < 2 then return '' end
  return ('<aside aria-label="On this page"><p>On this page</p>\n<ul>\n%s\n</ul></aside>'):format(table.concat(out, '\n'))
end

local Book = {}
Book.__index = Book

function Book:_add(path, text) self.files[#self.files + 1] = {path = path, text = text} end

function Book:_page(address, title, main)
  local values = {
    root = ('../'):rep(select(2, address:gsub('/', ''))), title = html.escape(title), main = main,
    contents = contents_of(main),
  }
  self:_add(address, (self.material.web['site/page.html']:gsub('{{(%l+)}}', values)))
end

function Book:_documents(list)
  for _, found in ipairs(list) do
    self:_page(found.address, found.title, html.blocks(found.blocks, self.atlas:links(found.address, found.source)))
  end
end

function Book:_examples(scripts, readme)
  for _, script in ipairs(scripts) do
    local links = self.atlas:links(script.address, README)
    self:_page(script.address, script.name, examples.page(script.name, script.text, readme, links))
  end
end

function Book:_library(modules)
  for _, module in ipairs(modules) do
    self:_page(module.address, module.path, reference.module(module, self.atlas:links(module.address)))
  end
  self:_page('api/index.html', 'Library', reference.index(modules, self.atlas:links 'api/index.html'))
end

-- What stands in the site as it is: path → name of the file in web/.
local FILES = {
  ['style.css'] = 'style.css', ['icon.svg'] = 'icon.svg', ['site.css'] = 'site/site.css', ['site.js'] = 'site/site.js',
}

---Returns the files of the site.
---@param material SiteMaterial
---@return {path: string, text: string}[] files
function site.files(material)
  local guides, others = documents_of(material)
  local documents = {unpack(guides)}
  for _, found in ipairs(others) do documents[#documents + 1] = found end
  local scripts, modules = scripts_of(material), library.modules()
  local atlas = atlas_of(documents, scripts, modules)
  local book = setmetatable({files = {}, material = material, atlas = atlas}, Book)
  local readme = markdown.read(material.documents['README.md'])
  book:_page('index.html', 'rtrain', index.front(readme, guides, others, atlas:links('index.html', 'README.md')))
  book:_documents(documents)
  book:_examples(scripts, markdown.read(material.documents[README]))
  book:_library(modules)
  book:_add('search-index.js', index.script(documents, scripts, modules))
  for _, path in ipairs(ordered.names_of(FILES)) do book:_add(path, material.web[FILES[path]]) end
  return book.files
end

---Writes the site. Creates folders and overwrites existing files. Raises code 'environment' if a file cannot be written.
---@param folder string
---@param material SiteMaterial
---@return integer count of files
function site.write(folder, material)
  local files = site.files(material)
  for _, file in ipairs(files) do
    local path = ('%s/%s'):format(folder, file.path)
    system.make_folders(path:match '^(.*)/')
    write_file(path, file.text)
  end
  return #files
end

return site
