-- rtrain/predict/script_transform.lua: finds the transform that a script applies to the model's inputs, for predict.

local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'

local script_transform = {}

-- Default names: functions of a batch, then transforms of one image.
local FUNCTION = 'preprocess'
local USUAL = {'test_transform', 'val_transform', 'eval_transform', 'transform'}

-- The value of --transform that disables transforms.
local NONE = 'none'

-- Names in code that indicate a change of the inputs. ToTensor is not among them: predict applies it to images itself.
local CHANGES = {'Normalize', 'Resize', 'CenterCrop', 'Grayscale', 'ConvertImageDtype', 'LinearTransformation',
                 ':map_batches%(', ':map%('}
local MOST_LINES = 3

local function raise(...) errors.raise('usage', 'predict: ' .. (...):format(select(2, ...))) end

-- Recognizes transforms of vision.transforms by the name of the base class: this module may not require them.
local function is_transform(value)
  local of = class.of(value)
  while of do
    if of.__name == 'Transform' then return true end
    of = rawget(of, '__base')
  end
  return false
end

local function is_usable(value) return type(value) == 'function' or is_transform(value) end

local function is_random(value) return tostring(value):find 'Random' ~= nil end

---Returns the function or transform for the inputs, and its name; nil if the script has none.
---@param script {names: table<string, any>, shown: string} the names of the script
---@param wanted? string the requested name; 'none' for no transform
---@param has_columns? boolean whether the columns were chosen: a function of a batch chooses them itself
---@return function|vision.Transform|nil transform a function gets a batch, a transform of vision.transforms one image
---@return string? name
---Raises code 'usage' if there is no transform of that name.
function script_transform.find(script, wanted, has_columns)
  if wanted == NONE and script.names[NONE] == nil then return nil end
  if wanted then
    local value = script.names[wanted]
    if is_usable(value) then return value, wanted end
    local known = {}
    for name, other in ordered.items(script.names) do
      if is_usable(other) then known[#known + 1] = name end
    end
    raise("%s has no function '%s'%s", script.shown, wanted, errors.suggestion(wanted, known))
  end
  if type(script.names[FUNCTION]) == 'function' and not has_columns then return script.names[FUNCTION], FUNCTION end
  for _, name in ipairs(USUAL) do
    local value = script.names[name]
    if is_transform(value) and not is_random(value) then return value, name end
  end
end

-- Returns the lines of code that change inputs: 'train.lua:33: local transform = …'.
local function changes_in(texts)
  local lines = {}
  for _, source in ipairs(texts) do
    local number = 0
    for line in (source.text .. '\n'):gmatch '(.-)\n' do
      number = number + 1
      for _, pattern in ipairs(CHANGES) do
        if line:gsub('%-%-.*$', ''):find(pattern) then
          lines[#lines + 1] = ('  %s:%d: %s'):format(source.path, number, line:match '^%s*(.-)%s*$')
          break
        end
      end
    end
  end
  return lines
end

---Returns a warning about changes of the inputs that only training makes; nil if the code shows none.
---@param texts {path: string, text: string}[] the script and its modules
---@return string? warning
---
---```lua
---local script_transform = require 'rtrain.predict.script_transform'
---local texts = {{path = 'train.lua', text = 'local t = T.Normalize({0.5}, {0.5})'}}
---assert(script_transform.warning(texts):find('train.lua:1: local t', 1, true))
---```
function script_transform.warning(texts)
  local lines = changes_in(texts)
  if #lines == 0 then return nil end
  local shown = table.concat(lines, '\n', 1, math.min(#lines, MOST_LINES)) .. (#lines > MOST_LINES and '\n  …' or '')
  return ('training changes its inputs, and the model now gets them as they are:\n%s\n'
    .. "name what does it: a function of the script that takes a batch (found by itself when it is called '%s'), or a\n"
    .. "transform of images ('transform'): --transform NAME; --transform %s where that is meant"):format(shown, FUNCTION, NONE)
end

return script_transform
