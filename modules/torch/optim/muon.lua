-- torch/optim/muon.lua: momentum orthogonalized by a Newton-Schulz iteration.

local errors = require 'base.errors'
local Optimizer = require('torch.optim.optimizer').Optimizer
local options = require 'torch.optim.options'
local Rates = require 'torch.optim.rates'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'

---Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/; Liu et al. 2025, arXiv 2502.16982), for
---matrices; use another optimizer for biases, embeddings and similar parameters. With the gradient G: B = μ·B + (1 -
---μ)·G, U = NS(G·(1 - μ) + μ·B) with `nesterov`, else NS(B), θ = θ·(1 - lr·weight_decay) - γ·U. NS iterates
---X = a·X + (b·XXᵀ + c·(XXᵀ)²)·X in bfloat16 ns_steps times, from the normalized matrix. γ for an A×B matrix is
---lr·√max(1, A / B) ('original') or lr·0.2·√max(A, B) ('match_rms_adamw').
---
---A sharded parameter's matrix is gathered for the iteration, which each rank computes.
---
---Options: lr = 1e-3, weight_decay = 0.1, momentum = 0.95, nesterov = true, ns_coefficients = {3.4445, -4.775, 2.0315},
---eps = 1e-7, ns_steps = 5, adjust_lr_fn (default 'original').
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.Linear(4, 3, {bias = false})
---local optimizer = torch.optim.Muon(layer:parameters(), {lr = 0.02, adjust_lr_fn = 'match_rms_adamw'})
---layer(torch.randn(5, 4)):pow(2):sum():backward()
---optimizer:step()
---assert(optimizer.state[layer.weight].momentum_buffer:dim() == 2)
---```
---@class optim.Muon: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.Muon
local Muon = Optimizer:extend('Muon')
Muon._can_be_captured = true

local function is_triple(value)
  return type(value) == 'table' and #value == 3, 'ns_coefficients is a list of exactly 3 numbers'
end

local function is_steps(value)
  if options.number(value) and value % 1 == 0 and value < 100 then return true end
  return false, ('ns_steps is an integer below 100, got %s'):format(options.text(value))
end

local function is_adjustment(value) return value == nil or value == 'original' or value == 'match_rms_adamw' end

Muon._options = options.new('Muon', {
  options.lr, options.with(options.weight_decay, 0.1), {'momentum', 0.95, options.not_negative, 'momentum value'},
  {'nesterov', true, options.boolean}, {'ns_coefficients', {3.4445, -4.775, 2.0315}, is_triple},
  options.with(options.eps, 1e-7), {'ns_steps', 5, is_steps},
  {'adjust_lr_fn', nil, is_adjustment, "adjust_lr_fn ('original' or 'match_rms_adamw')"},
})

local NAMES = {scalars = {}, tensors = {'momentum_buffer'}}

function Muon:_names() return NAMES end

function Muon:_check_group(group)
  for _, param in ipairs(group.params) do
    if param:dim() ~= 2 then
      errors.raise('argument', ('Muon only supports 2D parameters whereas we found a parameter with size: %s'):format(
        tostring(param:size())))
    end
    if param:is_complex() then errors.raise('argument', 'Muon does not support complex parameters') end
  end
end

Muon._gathers = true  -- of a sharded parameter it needs the other ranks' rows

function Muon:_start(state, _, param)
  state.momentum_buffer = state.momentum_buffer or torch.zeros_like(param)
end

-- Returns approximately the nearest matrix with orthogonal rows or columns.
local function orthogonalized(matrix, group)
  local a, b, c = unpack(group.ns_coefficients)
  local is_tall = matrix:size(0) > matrix:size(1)
  local x = matrix:to('bfloat16')
  if is_tall then x = x.T end
  x = x / x:norm():clamp{min = group.eps}
  for _ = 1, group.ns_steps do
    local gram = x:matmul(x.T)
    local update = torch.addmm(gram, gram, gram, {beta = b, alpha = c})
    x = torch.addmm(x, update, x, {beta = a})
  end
  return is_tall and x.T or x
end

-- Returns the rows of the orthogonalized matrix that this rank has: all of them, unless the parameter is sharded.
local function own_rows(update, group, shard)
  if not shard then return orthogonalized(update, group) end
  return orthogonalized(shards.gather(update, shard), group):narrow(0, shard.begin, shard.count)
end

-- Returns the factor for the learning rate.
local function adjustment(group, param, shard)
  local rows, columns = shard and shard.sizes[1] or param:size(0), param:size(1)
  if group.adjust_lr_fn == 'match_rms_adamw' then return 0.2 * math.sqrt(math.max(rows, columns)) end
  return math.sqrt(math.max(1, rows / columns))
end

function Muon:_update(group, batch, grads)
  if batch.sparse then errors.raise('argument', 'Muon does not support sparse gradients') end
  local lr = self:_lr_of(group, batch.device)
  for i, param in ipairs(batch.params) do
    local buffer = batch.states[i].momentum_buffer
    buffer:lerp_(grads[i], 1 - group.momentum)
    local update = group.nesterov and grads[i]:lerp(buffer, group.momentum) or buffer
    Rates.decay(param, lr, group.weight_decay)
    local shard = shards.of(param)
    Rates.descend(param, own_rows(update, group, shard), lr, adjustment(group, param, shard))
  end
end

return {Muon = Muon}
