-- torch/functions/checks.lua: checks of arguments of torch's functions; errors are raised at the caller's line.

local args = require 'base.args'
local errors = require 'base.errors'

local checks = {}

-- The engine's functions. Declaring a function does not load LibTorch.
local C = setmetatable({}, {__index = function(self, name)
  local found = require('torch._C')[name]
  rawset(self, name, found)
  return found
end})

---@param owner string the function and the parameter: 'tensordot: a'
---@param value any
---@return torch.Tensor value
function checks.tensor(owner, value)
  if not C.is_tensor(value) then
    errors.raise('argument', ('%s: expected a Tensor, got %s'):format(owner, value == C.none and 'none' or type(value)))
  end
  return value
end

-- The kinds of values of parameters with these names, in all functions and modules.
local KINDS = {}
for _, name in ipairs{'input', 'target', 'weight', 'bias', 'running_mean', 'running_var', 'indices', 'logits', 'grid',
                      'theta', 'log_probs', 'targets', 'input1', 'input2', 'x1', 'x2', 'anchor', 'positive', 'negative',
                      'query', 'key', 'pos_weight', 'input_', 'target_', 'offsets', 'per_sample_weights', 'tensor', 'src',
                      'tgt', 'memory', 'in_proj_weight', 'in_proj_bias', 'bias_k', 'bias_v', 'out_proj_weight', 'out_proj_bias',
                      'key_padding_mask', 'attn_mask', 'q_proj_weight', 'k_proj_weight', 'v_proj_weight', 'static_k',
                      'static_v'} do
  KINDS[name] = 'tensor'
end
for _, name in ipairs{'min_val', 'max_val', 'eps', 'momentum', 'alpha', 'beta', 'k', 'margin', 'tau', 'lower', 'upper', 'mean',
                      'std', 'a', 'b', 'gain', 'sparsity', 'delta', 'negative_slope', 'threshold', 'norm_type', 'max_norm',
                      'label_smoothing', 'ignore_index', 'padding_idx', 'groups', 'p', 'dropout_p', 'num_heads',
                      'embed_dim_to_check'} do
  KINDS[name] = 'number'
end

-- A tensor without dimensions counts as its number, as in operators.
local function number(owner, value)
  if C.is_tensor(value) and value:dim() == 0 and not value.requires_grad then value = value:item() end
  if type(value) == 'number' or type(value) == 'cdata' then return value end
  errors.raise('argument', ('%s: expected a number, got %s'):format(owner, C.is_tensor(value) and 'a Tensor' or type(value)))
end

-- Returns {name, is required, 'tensor' or 'number', default} for parameters whose name determines the kind.
local function known_among(parameters, unchecked)
  local out, skipped = {}, {}
  for _, name in ipairs(unchecked or {}) do skipped[name] = true end
  for _, parameter in ipairs(parameters) do
    local required = type(parameter) == 'string'
    local name = required and parameter or parameter[1]
    if KINDS[name] and not skipped[name] then
      out[#out + 1] = {name, required, KINDS[name], not required and parameter[2] or nil}
    end
  end
  return out
end

local function check_bound(owner, bound, entries)
  for i = 1, #entries do
    local name, required, kind = entries[i][1], entries[i][2], entries[i][3]
    local value = bound[name]
    local fits = value == nil or kind == 'number' and type(value) == 'number' or kind == 'tensor' and C.is_tensor(value)
    if value == C.none and not required then
      bound[name] = entries[i][4]
    elseif not fits then
      local check = kind == 'number' and number or checks.tensor
      bound[name] = check(("%s: argument '%s'"):format(owner, name), value)
    end
  end
end

---Returns a function `check(owner, bound)` that raises an error unless parameters with the name of a tensor or a number
---have such a value. It replaces torch.none for an optional parameter by its default, and a tensor without dimensions
---by its number.
---@param parameters (string|table)[] in the form of args.signature
---@param unchecked? string[] names that are not checked
---@return fun(owner: string, bound: table<string, any>)
function checks.bound_arguments(parameters, unchecked)
  local entries = known_among(parameters, unchecked)
  return function(owner, bound) check_bound(owner, bound, entries) end
end

---As args.definer, for functions of tensors: a parameter with the name of a tensor or a number must have such a
---value.
---@param fields table
---@return fun(name: string, parameters: (string|table)[], fn: fun(bound: table): any)
function checks.definer(fields)
  local defined = args.definer(fields)
  return function(name, parameters, fn)
    local entries = known_among(parameters)
    defined(name, parameters, function(bound)
      check_bound(name, bound, entries)
      return fn(bound)
    end)
  end
end

local function is_size(value)
  if type(value) == 'cdata' then return tonumber(value) ~= nil and value >= 0 end
  return type(value) == 'number' and value >= 0 and value % 1 == 0 and value < 2 ^ 63
end

---@param owner string
---@param value any
---@return table value
function checks.table(owner, value)
  if type(value) ~= 'table' then
    errors.raise('argument', ('%s: expected a table, got %s'):format(owner, type(value)))
  end
  return value
end

---@param owner string
---@param value any a list of sizes, or one size; also int64 cdata
---@return integer[]
function checks.sizes(owner, value)
  if type(value) == 'number' or type(value) == 'cdata' then value = {value} end
  if type(value) ~= 'table' then
    errors.raise('argument', ('%s: expected a list of sizes, got %s'):format(owner, type(value)))
  end
  for i = 1, #value do
    local size = value[i]
    if not is_size(size) then
      errors.raise('argument', ('%s: expected sizes of at least 0 and below 2^63, got %s'):format(owner, tostring(size)))
    end
  end
  return value
end

---@param owner string
---@param value any an integer of at least 0
---@return integer
function checks.count(owner, value)
  if type(value) ~= 'number' or value < 0 or value % 1 ~= 0 or value == math.huge then
    local text = type(value) == 'string' and ("the string '%s'"):format(value) or tostring(value)
    errors.raise('argument', ('%s: expected an integer of at least 0, got %s'):format(owner, text))
  end
  return value
end

---@param owner string
---@param value any a tensor or a list of them
---@return torch.Tensor[]
function checks.list_of_tensors(owner, value)
  if C.is_tensor(value) then return {value} end
  if type(value) ~= 'table' then checks.tensor(owner, value) end
  for i = 1, #value do checks.tensor(('%s: item %d'):format(owner, i), value[i]) end
  return value
end

---Checks sizes among the arguments of a layer: they must be integers of at least 0.
---@param owner string the class
---@param bound table<string, any>
---@param ... string names of the arguments
function checks.counts(owner, bound, ...)
  for i = 1, select('#', ...) do
    local name = select(i, ...)
    checks.count(('%s: %s'):format(owner, name), bound[name])
  end
end

---Returns tensors given one by one or as one list, and the keywords after them.
---@param name string the function
---@param ... any
---@return torch.Tensor[] tensors
---@return table keywords empty if there are no keywords
function checks.tensors_and_keywords(name, ...)
  local given, count, keywords = {...}, select('#', ...), {}
  if count > 0 and args.is_keywords(given[count]) then
    keywords, given[count] = given[count], nil
    count = count - 1
  end
  if count == 1 and type(given[1]) == 'table' then given, count = given[1], #given[1] end
  for i = 1, count do checks.tensor(('%s: argument %d'):format(name, i), given[i]) end
  return given, keywords
end

---As tensors_and_keywords, for a function without keywords.
---@param name string
---@param ... any
---@return torch.Tensor[]
function checks.tensors(name, ...)
  local tensors, keywords = checks.tensors_and_keywords(name, ...)
  args.options(next(keywords) and keywords or nil, {}, name)
  return tensors
end

return checks
