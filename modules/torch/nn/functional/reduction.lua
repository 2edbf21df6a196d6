-- torch/nn/functional/reduction.lua: reduces the losses of the elements to the result of a loss.

local args = require 'base.args'

local reduction = {}

local NUMBERS = {none = 0, mean = 1, sum = 2}

---Returns ATen's number for a reduction.
---@param name string the loss, for the message
---@param value string 'mean' | 'none' | 'sum'
---@return integer
function reduction.number(name, value)
  return NUMBERS[value] or NUMBERS[args.one_of(name .. ': reduction', value, {'mean', 'none', 'sum'})]
end

---Returns the mean or the sum of the losses, or the losses themselves.
---@param losses torch.Tensor
---@param name string the loss, for the message
---@param value string 'mean' | 'none' | 'sum'
---@return torch.Tensor
function reduction.apply(losses, name, value)
  local number = reduction.number(name, value)
  return number == NUMBERS.none and losses or number == NUMBERS.mean and losses:mean() or losses:sum()
end

---Returns a function `loss(name, parameters, fn)` that defines a loss of input and target. It adds `reduction = 'mean'`
---after the loss's own parameters; `fn` gets the bound arguments and ATen's number of the reduction.
---@param defined fun(name: string, parameters: table, fn: function) a result of checks.definer
---@return fun(name: string, parameters: table, fn: function)
function reduction.definer(defined)
  return function(name, parameters, fn)
    local all = {'input', 'target'}
    for _, parameter in ipairs(parameters) do all[#all + 1] = parameter end
    all[#all + 1] = {'reduction', 'mean'}
    defined(name, all, function(p) return fn(p, reduction.number(name, p.reduction)) end)
  end
end

return reduction
