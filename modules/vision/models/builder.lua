-- vision/models/builder.lua: makes the functions for named models, with a trailing table of keywords.

local errors = require 'base.errors'
local ordered = require 'base.ordered'

local NO_WEIGHTS = '%s: rtrain downloads no weights: save state_dict() in Python and load it here: '
  .. 'model:load_state_dict(torch.load(path))'

local function check_options(name, options, fixed)
  if type(options) ~= 'table' then
    errors.raise('argument', ('%s takes one table of keywords, got %s'):format(name, type(options)))
  end
  if options.weights then errors.raise('unsupported', NO_WEIGHTS:format(name)) end
  for _, key in ipairs(fixed) do
    if options[key] ~= nil then
      errors.raise('argument', ("%s: '%s' is what the name stands for: another one needs the class itself"):format(name,
        key))
    end
  end
end

-- Returns a function(options) that makes a model of the class. The keywords of the preset cannot be overridden, the
-- defaults can. torchvision's `weights` and `progress` are accepted if they request nothing.
---@param name string
---@param Model table class whose constructor takes one table of keywords
---@param preset table<string, any> keywords of the variant; a function is called for its value at each use
---@param defaults? table<string, any> keywords with another default than the class's
---@return fun(options?: table): nn.Module
local function builder(name, Model, preset, defaults)
  local fixed = ordered.names_of(preset)
  return function(options)
    options = options == nil and {} or options
    check_options(name, options, fixed)
    local keywords = {}
    for key, value in next, defaults or {} do keywords[key] = value end
    for key, value in next, options do keywords[key] = value end
    for key, value in next, preset do keywords[key] = type(value) == 'function' and value() or value end
    keywords.weights, keywords.progress = nil, nil
    return Model(keywords)
  end
end

return builder
