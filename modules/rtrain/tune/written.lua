-- rtrain/tune/written.lua: parses spaces, schedulers and configurations of command lines, 'lr=loguniform(1e-4, 1e-1)'.

local errors = require 'base.errors'
local index_of = require 'base.index_of'
local number = require 'base.number'
local ordered = require 'base.ordered'
local schedulers = require 'rtrain.tune.schedulers'
local spaces = require 'rtrain.tune.spaces'
local written_list = require 'base.written_list'

local written = {}

-- The spaces that can be written on a command line.
local SPACES = {'uniform', 'quniform', 'loguniform', 'qloguniform', 'randn', 'qrandn', 'randint', 'qrandint', 'lograndint',
                'qlograndint', 'choice'}

local SCHEDULERS = {asha = 'ASHAScheduler', median = 'MedianStoppingRule'}

local function usage(text, ...) errors.raise('usage', text:format(...)) end

local function key_and_rest(option, text, example)
  local key, rest = text:match '^%s*([^=%s]+)%s*=%s*(.-)%s*$'
  if key == nil or rest == '' then usage('%s %s: expected %s', option, text, example) end
  return key, rest
end

-- Splits 'name(inner)' into name, inner; 'name' into name, nil.
local function call_of(text)
  local name, inner = text:match '^%s*([%w_]+)%s*%((.*)%)%s*$'
  if name then return name, inner end
  return text:match '^%s*([%w_]+)%s*$'
end

---Parses the values of `--grid KEY=A,B,…` as strings. Quotes around a value are removed.
---@param text string
---@return string key, string[] values
---Raises code 'usage'.
function written.grid(text)
  local key, rest = key_and_rest('--grid', text, 'KEY=A,B,…')
  local values, is_quoted = written_list('--grid ' .. text, rest)
  for i, value in ipairs(values) do
    if value == '' and not is_quoted[i] then usage('--grid %s: an empty value', text) end
  end
  return key, values
end

local function numbers_of(option, list)
  local out = {}
  for i, text in ipairs(list) do
    out[i] = tonumber(text)
    if out[i] == nil then usage("%s: '%s' is not a number", option, text) end
  end
  return out
end

---Parses the space of `--space KEY=uniform(0, 1)`.
---@param text string
---@return string key, rtrain.tune.Domain domain
---Raises code 'usage', or 'config' for an invalid range.
function written.space(text)
  local key, rest = key_and_rest('--space', text, 'KEY=SPACE, such as lr=loguniform(1e-4, 1e-1)')
  local name, inner = call_of(rest)
  if name == nil or inner == nil then usage('--space %s: expected KEY=SPACE, such as lr=loguniform(1e-4, 1e-1)', text) end
  if not index_of(SPACES, name) then
    usage('--space %s: train.tune has no %s%s', text, name, errors.suggestion(name, SPACES))
  end
  local list = inner:find '%S' and written_list('--space ' .. text, inner) or {}
  -- Python's syntax is accepted: a single list of the values.
  local bare = name == 'choice' and #list == 1 and list[1]:match '^%s*%[(.*)%]%s*$'
  if bare then list = bare:find '%S' and written_list('--space ' .. text, bare) or {} end
  if name == 'choice' then return key, spaces.choice(list) end
  return key, spaces[name](unpack(numbers_of(('--space %s=%s'):format(key, name), list)))
end

local function add_to(tree, option, key, domain)
  if tree[key] ~= nil then errors.raise('usage', ('%s %s: the parameter was given twice'):format(option, key)) end
  tree[key] = domain
end

---Returns the param_space of a command's options. With --random all values are drawn, so a grid becomes a list to draw
---from.
---@param request {grid: string[], space: string[], random: integer?}
---@return table tree
---Raises code 'usage', or 'config' for an invalid range.
function written.param_space(request)
  local tree = {}
  for _, text in ipairs(request.grid) do
    local key, values = written.grid(text)
    add_to(tree, '--grid', key, request.random and spaces.choice(values) or spaces.grid_search(values))
  end
  for _, text in ipairs(request.space) do add_to(tree, '--space', written.space(text)) end
  if next(tree) == nil then
    errors.raise('usage', 'nothing to try: give --grid KEY=A,B or --space KEY=uniform(0,1) with --random N')
  end
  if #request.grid == 0 and request.random == nil then
    errors.raise('usage', 'how many trials? give --random N next to --space')
  end
  return tree
end

-- Returns the shortest text that reads back as this number.
local function text_of(value)
  if type(value) ~= 'number' then return number.text(value) end
  for digits = 14, 17 do
    local text = ('%.' .. digits .. 'g'):format(value)
    if tonumber(text) == value then return text end
  end
end

---Returns the words of `rtrain run` for a configuration.
---@param config table map of the values drawn from param_space
---@return string[] words '--set', 'lr=0.1', …
function written.settings(config)
  local words = {}
  for _, key in ipairs(ordered.keys_of(config)) do
    words[#words + 1] = '--set'
    words[#words + 1] = ('%s=%s'):format(key, text_of(config[key]))
  end
  return words
end

local function option_value(text)
  if text == 'true' or text == 'false' then return text == 'true' end
  return tonumber(text) or text
end

---Parses the scheduler of `--scheduler asha`, or `asha(max_t=27, grace_period=3)`.
---@param text string
---@return rtrain.tune.FIFOScheduler
---Raises code 'usage', or 'config' for an option that the scheduler does not have.
function written.scheduler(text)
  local name, inner = call_of(text)
  if name == nil or SCHEDULERS[name] == nil then
    usage("--scheduler %s: expected asha or median, or asha(max_t=27, grace_period=3)%s", text,
      errors.suggestion(name or text, {'asha', 'median'}))
  end
  local options = {}
  for _, part in ipairs((inner or ''):find '%S' and written_list('--scheduler ' .. text, inner) or {}) do
    local key, value = key_and_rest('--scheduler', part, 'NAME=VALUE')
    options[key] = option_value(value)
  end
  return schedulers[SCHEDULERS[name]](options)
end

return written
