-- vision/models/registry.lua: finds model functions by name.

local args = require 'base.args'
local fnmatch = require 'base.fnmatch'

local function matches(name, filters)
  for _, filter in ipairs(type(filters) == 'string' and {filters} or filters) do
    if fnmatch(name, filter) then return true end
  end
  return false
end

-- An empty list of patterns counts as none, as in Python.
local function has(filters) return filters ~= nil and #filters > 0 end

-- Returns the names of the model functions, sorted.
local function builder_names()
  local names = {}
  for _, file in ipairs(require 'vision.models.files') do
    for i = 2, #file do
      if file[i]:match '^%l' then names[#names + 1] = file[i] end
    end
  end
  table.sort(names)
  return names
end

local registry = {}

---Returns the model with a name ('resnet18', in any case), made with the keywords of its function.
---@param name string
---@param config? table
---@return nn.Module
---torchvision equivalent: torchvision.models.get_model.
---
---```lua
---local model = require('vision.models').get_model('resnet18', {num_classes = 10})
---assert(model.fc.out_features == 10)
---```
function registry.get_model(name, config)
  name = args.one_of('get_model: name', tostring(name):lower(), builder_names())
  return require('vision.models')[name](config)
end

---Returns the sorted names that get_model accepts. With shell patterns, only names that match one of `include` and none
---of `exclude`.
---@param options? {include?: string|string[], exclude?: string|string[]}
---@return string[]
---torchvision equivalent: torchvision.models.list_models.
---
---```lua
---local names = require('vision.models').list_models{include = 'vgg1?_bn', exclude = 'vgg19*'}
---assert(table.concat(names, ' ') == 'vgg11_bn vgg13_bn vgg16_bn')
---```
function registry.list_models(options)
  options = args.options(options, {'include', 'exclude'}, 'list_models')
  local found = {}
  for _, name in ipairs(builder_names()) do
    local included = not has(options.include) or matches(name, options.include)
    if included and not (has(options.exclude) and matches(name, options.exclude)) then found[#found + 1] = name end
  end
  return found
end

return registry
