-- rtrain/doc/init.lua: `rtrain doc`: what a function, class or module of the library does, and the guides.

local catalog = require 'rtrain.doc.catalog'
local guide = require 'rtrain.doc.guide'
local layout = require 'rtrain.doc.layout'
local lookup = require 'rtrain.doc.lookup'
local page = require 'rtrain.doc.page'
local torch = require 'torch'

local doc = {}

---@class DocRequest
---@field name? string
---@field json? boolean
---@field stubs? string folder to write declarations to
---@field columns integer width of the output
---@field colour? boolean

local INTRODUCTION = 'The modules and guides of rtrain. `rtrain doc NAME` explains a function, class or module: '
  .. 'torch.matmul, nn.Linear, F.relu, x:view, train.report. `rtrain doc guide/NAME` prints a guide.'

-- A page of all modules and guides.
local function overview()
  local names = {}
  for i, module in ipairs(catalog.modules()) do
    names[i] = {name = module.path, kind = 'module', text = page.module_summary(module.path)}
  end
  for _, name in ipairs(guide.names()) do names[#names + 1] = {name = name, kind = 'guide', text = guide.find(name).title} end
  return {name = 'Modules', path = '', kind = 'modules', signatures = torch.list{}, text = {INTRODUCTION},
          parameters = torch.list{}, returns = torch.list{}, fields = torch.list{}, methods = torch.list{}, names = names,
          examples = torch.list{}}
end

---What is known about a name, however it is written. Raises code 'not_found' with the nearest name.
---@param name string
---@return DocPage
---
---```lua
---local page = require('rtrain.doc').describe 'nn.Linear'
---assert(page.signatures[1]:find('nn.Linear(in_features, out_features', 1, true))
---assert(page.parameters[3].name == 'bias' and page.parameters[3].default == 'true')
---```
function doc.describe(name) return page.of(lookup(name)) end

---Runs the command: prints the page or guide, writes the stubs, or returns what --json prints.
---@param request DocRequest
---@return DocPage|Guide|nil found for --json
function doc.run(request)
  if request.stubs then
    local count = require('rtrain.doc.stubs').write(request.stubs)
    io.write(('%d files in %s\n'):format(count, request.stubs))
    return nil
  end
  local is_guide = request.name and guide.is_name(request.name)
  local found = is_guide and guide.find(request.name) or request.name and doc.describe(request.name) or overview()
  if request.json then return found end
  io.write(is_guide and found.markdown or layout.text(found, request.columns, request.colour))
end

return doc
