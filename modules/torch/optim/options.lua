-- torch/optim/options.lua: the options of an optimizer: their order, defaults and allowed values.
--
-- An option is {name, default, check, text}: `check(value)` returns whether the value is allowed (and may return why
-- not), `text` is its name in the message. An option with default nil is None in Python; a group then lacks the field,
-- and state_dict writes None.

local args = require 'base.args'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local torch = require 'torch'

local options = {}

local function is_number(value) return type(value) == 'number' and value == value end

---Checks of an option's value. This one accepts a number of at least 0.
---@param value any
---@return boolean
function options.not_negative(value) return is_number(value) and value >= 0 end

---Accepts a number of at most 0.
---@param value any
---@return boolean
function options.not_positive(value) return is_number(value) and value <= 0 end

---Accepts a number above 0.
---@param value any
---@return boolean
function options.positive(value) return is_number(value) and value > 0 end

---Returns a check for a number, or a tensor with one number, for which another check holds: a learning rate.
---@param check fun(value: any): boolean
---@return fun(value: any): boolean, string?
function options.number_or_tensor(check)
  return function(value)
    if type(value) ~= 'userdata' or not torch.is_tensor(value) then return check(value) end
    if value:numel() ~= 1 then return false, ('a Tensor lr has 1 element, not %d'):format(value:numel()) end
    return check(tonumber(value:item()))
  end
end

---Accepts an integer of at least 1.
---@param value any
---@return boolean
function options.count(value) return is_number(value) and value > 0 and value % 1 == 0 end

---Accepts any number.
---@param value any
---@return boolean
function options.number(value) return is_number(value) end

---Accepts true or false.
---@param value any
---@return boolean
function options.boolean(value) return type(value) == 'boolean' end

---Accepts true, false or nil.
---@param value any
---@return boolean
function options.optional_boolean(value) return value == nil or type(value) == 'boolean' end

---Returns a check for numbers in a range, inclusive.
---@param low number
---@param high number
---@return fun(value: any): boolean
function options.between(low, high)
  return function(value) return is_number(value) and value >= low and value <= high end
end

-- Checks a pair of rates, each at least 0 and below 1.
local function is_betas(value)
  if type(value) ~= 'table' or #value ~= 2 then return false, 'betas is a list of two numbers' end
  for i, beta in ipairs(value) do
    if not is_number(beta) or beta < 0 or beta >= 1 then
      return false, ('invalid beta parameter at index %d: %s'):format(i - 1, tostring(beta))
    end
  end
  return true
end

---Options of several optimizers. The last ones affect how Python executes a step, not its results.
options.lr = {'lr', 1e-3, options.number_or_tensor(options.not_negative), 'learning rate'}
options.betas = {'betas', {0.9, 0.999}, is_betas}
options.eps = {'eps', 1e-8, options.not_negative, 'epsilon value'}
options.weight_decay = {'weight_decay', 0, options.not_negative, 'weight_decay value'}
options.maximize = {'maximize', false, options.boolean}
options.foreach = {'foreach', nil, options.optional_boolean}
options.fused = {'fused', nil, options.optional_boolean}
options.capturable = {'capturable', false, options.boolean}
options.differentiable = {'differentiable', false, options.boolean,
                          unsupported = 'a step is not recorded for gradients'}
---The option of an optimizer whose step computes on the host.
options.not_capturable = {'capturable', false, options.boolean,
                          unsupported = 'no CUDA graph holds its steps: take Adam, AdamW, SGD or Adadelta'}

---Returns the option with another default.
---@param option table
---@param default any
---@return table
function options.with(option, default) return {option[1], default, option[3], option[4]} end

local Options = {}
Options.__index = Options

---@param name string the optimizer, for messages
---@param specs table[] in the order of Python's parameters after `params`
---@param keys? string[] the order of a group's fields, if Python's differs
---@param fixed? table fields of a group that are not arguments, with their values
---@return table options
function options.new(name, specs, keys, fixed)
  local self = setmetatable({name = name, specs = specs, keys = keys or {}, fixed = fixed or {}}, Options)
  local parameters = {'params'}
  for i, spec in ipairs(specs) do
    parameters[i + 1] = {spec[1], spec[2]}
    if not keys then self.keys[i] = spec[1] end
  end
  self.signature = args.signature(name, parameters)
  return self
end

---Returns the arguments of a constructor.
---@param ... any the arguments of the call
---@return any params, table defaults base.ordered map of the options
function Options:bind(...)
  local bound = self.signature:bind(...)
  local defaults = ordered.new()
  for _, key in ipairs(self.keys) do
    defaults[key] = bound[key]
    if self.fixed[key] ~= nil then defaults[key] = self.fixed[key] end
  end
  self:check(defaults)
  return bound.params, defaults
end

local function refuse(self, spec, value, why)
  local name = spec[1]
  if not why and type(value) == 'userdata' and torch.is_tensor(value) and name ~= 'lr' then
    errors.raise('unsupported', ('%s: %s is a number, not a Tensor: use %s:item()'):format(self.name, name, name))
  end
  errors.raise('argument', ('%s: %s'):format(self.name,
    why or ('invalid %s: %s'):format(spec[4] or name, options.text(value))))
end

---Raises code 'argument' for an impossible value, 'unsupported' for a value that has no meaning in this library.
---@param group table
function Options:check(group)
  for _, spec in ipairs(self.specs) do
    local name, check, value = spec[1], spec[3], group[spec[1]]
    if check then
      local possible, why = check(value)
      if not possible then refuse(self, spec, value, why) end
    end
    if spec.unsupported and value then
      errors.raise('unsupported', ('%s: %s = true is not in this version: %s'):format(self.name, name, spec.unsupported))
    end
  end
  if group.fused and group.foreach then
    errors.raise('argument', ('%s: fused and foreach cannot be true together'):format(self.name))
  end
end

---Returns a value as messages show it: lists in parentheses.
---@param value any
---@return string
function options.text(value)
  if type(value) ~= 'table' then return tostring(value) end
  local parts = {}
  for i, item in ipairs(value) do parts[i] = tostring(item) end
  return '(' .. table.concat(parts, ', ') .. ')'
end

return options
