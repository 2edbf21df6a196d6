-- torch/optim/lbfgs.lua: limited-memory BFGS.

local errors = require 'base.errors'
local hooks = require 'torch.optim.hooks'
local Optimizer = require('torch.optim.optimizer').Optimizer
local options = require 'torch.optim.options'
local Rates = require 'torch.optim.rates'
local strong_wolfe = require 'torch.optim.strong_wolfe'
local torch = require 'torch'

---L-BFGS (Nocedal and Wright 2006, chapter 7; after minFunc by Mark Schmidt): a step minimizes with an inverse Hessian
---estimated from the last `history_size` changes of parameters and gradient. `step` needs a closure, calls it several
---times and returns its first result. Only one group of parameters; the state has 2 · history_size times their size.
---
---Options: lr = 1, max_iter = 20, max_eval (default max_iter·5/4), tolerance_grad = 1e-7, tolerance_change = 1e-9,
---history_size = 100, line_search_fn ('strong_wolfe', or none).
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor({-1, 2}, {requires_grad = true})
---local optimizer = torch.optim.LBFGS({x}, {line_search_fn = 'strong_wolfe'})
---for _ = 1, 3 do
---  optimizer:step(function()  -- Rosenbrock's valley, with its floor at (1, 1)
---    optimizer:zero_grad()
---    local loss = (1 - x[0]) ^ 2 + 100 * (x[1] - x[0] ^ 2) ^ 2
---    loss:backward()
---    return loss
---  end)
---end
---assert((x - 1):abs():max():item() < 1e-3)
---```
---@class optim.LBFGS: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.LBFGS
local LBFGS = Optimizer:extend('LBFGS')
LBFGS._needs_whole = true
LBFGS._runs_hooks = true

local function is_search(value) return value == nil or value == 'strong_wolfe' end

local function is_optional_count(value) return value == nil or options.count(value) end

LBFGS._options = options.new('LBFGS', {
  options.with(options.lr, 1), {'max_iter', 20, options.count}, {'max_eval', nil, is_optional_count},
  {'tolerance_grad', 1e-7, options.number}, {'tolerance_change', 1e-9, options.number},
  {'history_size', 100, options.count}, {'line_search_fn', nil, is_search, "line_search_fn (only 'strong_wolfe' is supported)"},
})

---@param params torch.Tensor[]|table[] parameters, or one group
---@param ... any the options
function LBFGS:init(params, ...)
  Optimizer.init(self, params, ...)
  if #self.param_groups ~= 1 then
    errors.raise('argument', "LBFGS doesn't support per-parameter options (parameter groups)")
  end
  local group = self.param_groups[1]
  if not group.max_eval then
    group.max_eval = math.floor(group.max_iter * 5 / 4)
    self.defaults.max_eval = group.max_eval
  end
end

local function as_real(tensor) return tensor:is_complex() and torch.view_as_real(tensor) or tensor end

local function flat_gradient(params)
  local parts = {}
  for i, param in ipairs(params) do
    local grad = param.grad
    if grad == nil then
      grad = torch.zeros_like(param)
    elseif grad.is_sparse then
      grad = grad:to_dense()
    end
    parts[i] = as_real(grad):reshape(-1)
  end
  return torch.cat(parts, 0)
end

local function number(value) return torch.is_tensor(value) and value:item() or value end

-- Computes params += size · direction, where direction is a flat vector.
local function move(params, size, direction)
  local offset = 0
  for _, param in ipairs(params) do
    local real = as_real(param)
    local numel = real:numel()
    real:add_(direction:narrow(0, offset, numel):view_as(real), {alpha = number(size)})
    offset = offset + numel
  end
end

-- Returns a function that computes loss and gradient at params + size · direction and restores the parameters.
local function evaluator(params, closure)
  local start = {}
  for i, param in ipairs(params) do start[i] = param:clone() end
  return function(size, direction)
    move(params, size, direction)
    local loss = closure()
    local gradient = flat_gradient(params)
    for i, param in ipairs(params) do param:copy_(start[i]) end
    return loss, gradient
  end
end

local function remember(state, change, step, curvature, history_size)
  if #state.old_dirs == history_size then
    table.remove(state.old_dirs, 1)
    table.remove(state.old_stps, 1)
    table.remove(state.ro, 1)
  end
  table.insert(state.old_dirs, change)
  table.insert(state.old_stps, step)
  table.insert(state.ro, curvature:reciprocal())
  state.H_diag = curvature / change:dot(change)
end

-- The two loops of Nocedal and Wright, algorithm 7.4: returns minus the inverse Hessian times the gradient.
local function quasi_newton(state, gradient, history_size)
  local dirs, steps, ro = state.old_dirs, state.old_stps, state.ro
  if not state.al then
    state.al = torch.list{}
    for i = 1, history_size do state.al[i] = torch.none end
  end
  local q, al = gradient:neg(), state.al
  for i = #dirs, 1, -1 do
    al[i] = steps[i]:dot(q) * ro[i]
    q:add_(dirs[i], {alpha = -al[i]:item()})
  end
  local r = q * state.H_diag
  for i = 1, #dirs do r:add_(steps[i], {alpha = (al[i] - dirs[i]:dot(r) * ro[i]):item()}) end
  return r
end

local function next_direction(state, gradient, group)
  if state.n_iter == 1 then
    state.old_dirs, state.old_stps, state.ro, state.H_diag = torch.list{}, torch.list{}, torch.list{}, 1
    return gradient:neg()
  end
  local change, step = gradient - state.prev_flat_grad, state.d * state.t
  local curvature = change:dot(step)
  if curvature:item() > 1e-10 then remember(state, change, step, curvature, group.history_size) end
  return quasi_newton(state, gradient, group.history_size)
end

local function largest(tensor) return tensor:abs():max():item() end

-- Moves along state.d. Returns the new loss and gradient and how often the closure was called; no loss after the last
-- iteration if it is not needed.
local function advance(self, run, slope)
  local state, group, params = run.state, self.param_groups[1], self.param_groups[1].params
  if group.line_search_fn then
    local found = strong_wolfe.search(evaluator(params, run.closure), {
      t = state.t, d = state.d, f = run.loss, g = run.gradient, gtd = slope, max_ls = group.max_eval - run.evals,
    })
    state.t = found.t
    move(params, state.t, state.d)
    return found.f, found.g, found.evals
  end
  move(params, state.t, state.d)
  if run.iter == group.max_iter then return run.loss, run.gradient, 0 end
  local loss = run.closure()
  return loss, flat_gradient(params), 1
end

-- Runs one iteration. Returns true if it was the last.
local function iterate(self, run)
  local state, group = run.state, self.param_groups[1]
  run.iter, state.n_iter = run.iter + 1, state.n_iter + 1
  state.d = next_direction(state, run.gradient, group)
  state.prev_flat_grad = run.gradient:clone()
  state.prev_loss = run.loss
  state.t = Rates.number(group.lr)
  if state.n_iter == 1 then
    local rate = 1 / run.gradient:abs():sum()
    state.t = (rate:item() < 1 and rate or 1) * state.t
  end
  local slope = run.gradient:dot(state.d)
  if slope:item() > -group.tolerance_change then return true end
  local evals
  run.loss, run.gradient, evals = advance(self, run, slope)
  run.evals, state.func_evals = run.evals + evals, state.func_evals + evals
  return run.iter == group.max_iter or run.evals >= group.max_eval or largest(run.gradient) <= group.tolerance_grad
    or largest(state.d * state.t) <= group.tolerance_change
    or math.abs(run.loss - state.prev_loss) < group.tolerance_change
end

local function minimize(self, closure)
  local params = self.param_groups[1].params
  local state, first = self:_state_of(params[1]), torch.enable_grad(closure)
  state.func_evals, state.n_iter = (state.func_evals or 0) + 1, state.n_iter or 0
  local run = {
    state = state, loss = number(first), gradient = flat_gradient(params), evals = 1,
    iter = 0,
    closure = function() return number((torch.enable_grad(closure))) end,
  }
  if largest(run.gradient) > self.param_groups[1].tolerance_grad then
    repeat local is_done = iterate(self, run) until is_done
  end
  return first
end

---Minimizes for at most max_iter iterations.
---@param closure fun(): torch.Tensor zeroes the gradients, computes the loss and its gradients, returns the loss
---@return torch.Tensor loss the first result of the closure
function LBFGS:step(closure)
  if type(closure) ~= 'function' then
    errors.raise('argument', 'LBFGS: step needs a closure that computes the loss and its gradients, and returns the loss')
  end
  local given = hooks.run(self, 'step_pre', {closure})
  local loss = torch.no_grad(minimize, self, given[1])
  hooks.run(self, 'step_post', given)
  require('torch._C').step_boundary()
  return loss
end

return {LBFGS = LBFGS}
