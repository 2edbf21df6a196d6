-- torch/optim/adafactor.lua: Adafactor.

local errors = require 'base.errors'
local Optimizer = require('torch.optim.optimizer').Optimizer
local options = require 'torch.optim.options'
local Rates = require 'torch.optim.rates'
local Plan = require 'torch.optim.plan'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'

---Adafactor (Shazeer and Stern 2018, arXiv 1804.04235). For a matrix it keeps only the means of the squared gradients
---by rows (r) and columns (c): v = r·c / mean(r), with β₂(t) = 1 - t^beta2_decay. The update u = g / √v is scaled down
---when its root mean square exceeds d; θ = θ·(1 - lr·weight_decay) - α·u, α = max(ε₂, RMS(θ))·min(lr, 1 / √t).
---
---Of a sharded parameter the means are those of the whole one: four small collectives for each parameter and step. Each rank
---has its rows of r, and all of c for a matrix.
---
---Options: lr = 1e-2, beta2_decay = -0.8, eps = {torch.none, 1e-3} (ε₁, none: the dtype's; ε₂), d = 1, weight_decay = 0,
---{foreach, maximize}.
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.Linear(4, 3)
---local optimizer = torch.optim.Adafactor(layer:parameters())
---layer(torch.ones(1, 4)):sum():backward()
---optimizer:step()
---local state = optimizer.state[layer.weight]
---assert(state.row_var:numel() == 3 and state.col_var:numel() == 4)
---```
---@class optim.Adafactor: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.Adafactor
local Adafactor = Optimizer:extend('Adafactor')
Adafactor._updates_on_host = true
Adafactor._gathers = true  -- of a sharded parameter it needs sums over the other ranks' rows

local function is_eps(value)
  if type(value) ~= 'table' or #value ~= 2 then return false, 'eps is a list: {epsilon1 or torch.none, epsilon2}' end
  for i, eps in ipairs(value) do
    if not (options.not_negative(eps) or i == 1 and eps == torch.none) then
      return false, ('epsilon%d should be >= 0 but is: %s'):format(i, tostring(eps))
    end
  end
  return true
end

Adafactor._options = options.new('Adafactor', {
  options.with(options.lr, 1e-2), {'beta2_decay', -0.8, options.not_positive, 'beta2_decay (at most 0)'},
  {'eps', {torch.none, 1e-3}, is_eps}, {'d', 1, function(d) return options.number(d) and d >= 1 end,
  'clipping threshold d (at least 1)'}, options.weight_decay, options.foreach, options.maximize,
})

local NAMES = {scalars = {'step'}, tensors = {'row_var', 'col_var', 'variance'}}

function Adafactor:_names() return NAMES end

-- The columns' means of a matrix are over all rows; with more dimensions they are over another one.
function Adafactor:_has_rows(name, _, of_param) return name ~= 'step' and (name ~= 'col_var' or #of_param > 2) end

-- Returns zeros of the tensor's shape, with one dimension of size 1.
local function reduced(param, dim)
  local shape = param:size()
  shape[#shape + dim + 1] = 1
  return torch.zeros(shape, {dtype = param.dtype, device = param.device})
end

function Adafactor:_start(state, _, param)
  if param:is_complex() then errors.raise('argument', 'Adafactor does not support complex parameters') end
  state.step = state.step or Plan.scalar(0)
  if param:dim() > 1 then
    state.row_var = state.row_var or reduced(param, -1)
    state.col_var = state.col_var or reduced(param, -2)
  else
    state.variance = state.variance or torch.zeros_like(param)
  end
end

local EPS = {float64 = 2 ^ -52, float32 = 2 ^ -23, float16 = 2 ^ -10, bfloat16 = 2 ^ -7}

-- Adds up what each rank has of its rows, in place.
local function summed(tensor, shard)
  if shard then shards.all_reduce(tensor, 'sum', shard) end
  return tensor
end

-- Returns the square root of the mean of the squares of a tensor.
local function root_mean_square(tensor, shard)
  if not shard then return tensor:norm(2):item() / math.sqrt(tensor:numel()) end
  local numel = 1
  for _, size in ipairs(shard.sizes) do numel = numel * size end
  return math.sqrt(summed(tensor:norm(2):square_(), shard):item() / numel)
end

-- Returns the mean of the squares along a dimension, computed by the norm, as in Python. `shard`: if that is dimension 0.
local function mean_square(grad, dim, shard)
  return summed(torch.norm(grad, 2, {dim}, true):square_(), shard):div_(shard and shard.sizes[1] or grad:size(dim))
end

local function mean_of_rows(row_var, shard)
  if not shard then return row_var:mean({-2}, {keepdim = true}) end
  return summed(row_var:sum({-2}, {keepdim = true}), shard):div_(shard.sizes[1])
end

local function variance_of(state, grad, weight, eps1, shard)
  if grad:dim() <= 1 then
    state.variance:lerp_(grad * grad, weight)
    return state.variance:clone()
  end
  local of_matrix = grad:dim() == 2 and shard or nil
  state.row_var:lerp_(mean_square(grad, -1), weight)
  state.col_var:lerp_(mean_square(grad, -2, of_matrix), weight)
  return state.row_var:matmul(state.col_var):div_(mean_of_rows(state.row_var, of_matrix):clamp_{min = eps1})
end

local function update_one(group, param, grad, state)
  local shard = shards.of(param)
  if group.maximize then grad = grad:neg() end
  local eps1, eps2 = group.eps[1], group.eps[2]
  if eps1 == torch.none then eps1 = EPS[param.dtype] end
  state.step:add_(1)
  local step = state.step:item()
  local lr = Rates.number(group.lr)
  local rate = math.min(lr, 1 / math.sqrt(step))
  local alpha = math.max(eps2, root_mean_square(param, shard)) * rate
  if group.weight_decay ~= 0 then param:mul_(1 - lr * group.weight_decay) end
  local variance = variance_of(state, grad, step ^ group.beta2_decay, eps1, shard)
  local update = variance:clamp_{min = eps1 * eps1}:rsqrt_():mul_(grad)
  local excess = root_mean_square(update, shard) / group.d
  param:add_(update, {alpha = -alpha / math.max(1, excess)})
end

function Adafactor:_update(group, batch, grads)
  if batch.sparse then errors.raise('argument', 'Adafactor does not support sparse gradients') end
  for i, param in ipairs(batch.params) do shards.with_rows(update_one, group, param, grads[i], batch.states[i]) end
end

return {Adafactor = Adafactor}
