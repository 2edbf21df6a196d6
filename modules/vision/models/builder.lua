-- vision/models/builder.lua: what the functions that make a named model share: their trailing table of keywords.

local errors = require 'rtrain.errors'

local NO_WEIGHTS = '%s: rtrain downloads no weights: save state_dict() in Python and load it here: '
  .. 'model:load_state_dict(torch.load(path))'

-- A function(options) that makes a model of the class: what the options say is put over the keywords of this variant.
-- torchvision's `weights` and `progress` are accepted as long as they ask for nothing.
---@param name string
---@param Model table class whose constructor takes one table of keywords
---@param preset table<string, any> keywords of the variant
---@return fun(options?: table): nn.Module
local function builder(name, Model, preset)
  return function(options)
    if options ~= nil and type(options) ~= 'table' then
      errors.raise('argument', ('%s takes one table of keywords, got %s'):format(name, type(options)))
    end
    local keywords = {}
    for key, value in next, preset do keywords[key] = value end
    for key, value in next, options or {} do keywords[key] = value end
    if keywords.weights then errors.raise('unsupported', NO_WEIGHTS:format(name)) end
    keywords.weights, keywords.progress = nil, nil
    return Model(keywords)
  end
end

return builder
