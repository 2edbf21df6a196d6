-- rtrain/doc/init.lua: `rtrain doc`: prints the documentation of functions, classes and modules, and the guides.

local catalog = require 'rtrain.doc.catalog'
local errors = require 'base.errors'
local guide = require 'rtrain.doc.guide'
local layout = require 'rtrain.doc.layout'
local lookup = require 'rtrain.doc.lookup'
local page = require 'rtrain.doc.page'
local torch = require 'torch'

local doc = {}

---@class DocRequest
---@field name? string a name, or search words
---@field json? boolean
---@field stubs? string folder to write declarations to
---@field html? string folder to write the site to
---@field material? SiteMaterial what the site is made of, besides modules and guides
---@field columns integer width of the output
---@field colour? boolean

local INTRODUCTION = 'The modules and guides of rtrain. `rtrain doc NAME` explains a function, class or module: '
  .. 'torch.matmul, nn.Linear, F.relu, x:view, train.report. `rtrain doc guide/NAME` prints a guide; '
  .. '`rtrain doc WORDS` searches in all of it. The first hour: guide/start; new to Lua: guide/lua; from Ray Train and '
  .. 'PyTorch: guide/porting; something goes wrong: guide/troubleshooting.'

-- Returns a page that is a list of names.
local function list_page(name, kind, text, names)
  return {name = name, path = '', kind = kind, signatures = torch.list{}, text = {text}, parameters = torch.list{},
          returns = torch.list{}, fields = torch.list{}, methods = torch.list{}, names = torch.list(names),
          examples = torch.list{}}
end

local function guide_rows()
  local names = {}
  for _, name in ipairs(guide.names()) do names[#names + 1] = {name = name, kind = 'guide', text = guide.find(name).title} end
  return names
end

-- Returns a page of all modules and guides.
local function overview()
  local names = {}
  for i, module in ipairs(catalog.modules()) do
    names[i] = {name = module.path, kind = 'module', text = page.module_summary(module.path)}
  end
  for _, row in ipairs(guide_rows()) do names[#names + 1] = row end
  return list_page('Modules', 'modules', INTRODUCTION, names)
end

-- Returns a page with the search results for some words; nil if nothing was found.
local function search_page(words)
  local names = require('rtrain.doc.search').find(words)
  if #names == 0 then return nil end
  return list_page(("'%s'"):format(words), 'search', '`rtrain doc NAME` shows each of them.', names)
end

---Returns the page for a name in any spelling. Raises code 'not_found' with the nearest name.
---@param name string
---@return DocPage
---
---```lua
---local page = require('rtrain.doc').describe 'nn.Linear'
---assert(page.signatures[1]:find('nn.Linear(in_features, out_features', 1, true))
---assert(page.parameters[3].name == 'bias' and page.parameters[3].default == 'true')
---```
function doc.describe(name) return page.of(lookup(name)) end

-- Handles an unknown name: finds a similar name, else searches for its words.
local function found_for(name)
  if name == 'guide' then return list_page('Guides', 'guides', '`rtrain doc guide/NAME` prints a guide.', guide_rows()) end
  if guide.is_name(name) then return guide.find(name) end
  if not name:find '%s' then
    local ok, found = pcall(doc.describe, name)
    if ok then return found end
    if guide.exists(name) then return guide.find('guide/' .. name) end
    local is_near = found.code ~= 'not_found' or name:find '[.:]' or found.message:find 'did you mean'
    return not is_near and search_page(name) or error(found, 0)
  end
  return search_page(name) or errors.raise('not_found', ("nothing in the documentation has any of the words '%s'"):format(name))
end

---Runs the command: prints the page or guide, writes the stubs or the site, or returns the document for --json.
---@param request DocRequest
---@return DocPage|Guide|nil found for --json
function doc.run(request)
  if request.stubs then
    local count = require('rtrain.doc.stubs').write(request.stubs)
    io.write(('%d files in %s\n'):format(count, request.stubs))
    return nil
  end
  if request.html then
    local count = require('rtrain.doc.site').write(request.html, request.material)
    io.write(('%d files in %s: open index.html\n'):format(count, request.html))
    return nil
  end
  local found = request.name and found_for(request.name) or overview()
  if request.json then return found end
  io.write(found.markdown or layout.text(found, request.columns, request.colour))
end

return doc
