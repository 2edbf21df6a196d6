-- Compares the optimizers of an entry of OptimizerInfo with the answers that optimizers.py has written.

local torch = require 'torch'
local values = require 'values'

local optimizers = {}

local function trained(class, case)
  local params = {}
  for k, start in ipairs(case.starts) do params[k] = start:clone():requires_grad_() end
  local options = select(1, values.arguments({}, case.kwargs))[1] or {}
  local optimizer = class(params, options)
  local function closure()
    optimizer:zero_grad()
    local loss = 0
    for k, p in ipairs(params) do
      local real = p:is_complex() and torch.view_as_real(p) or p
      loss = ((real * real) * 0.35 + real * (0.3 / k)):sum() + loss
    end
    loss:backward()
    if case.sparse then
      for _, p in ipairs(params) do p.grad = p.grad:to_sparse(1) end
    end
    return loss
  end
  for _ = 1, case.steps do optimizer:step(closure) end
  return params
end

local function training_problem(class, case)
  for k, param in ipairs(trained(class, case)) do
    local want = case.want[k]
    local equal = torch.equal(param, want)
    if not equal and case.exact then
      return ('parameter %d is not the same to the last bit, away by %g'):format(k, (param - want):abs():max():item())
    end
    if not equal and not torch.allclose(param, want, {rtol = 1e-4, atol = 1e-6}) then
      return ('parameter %d is away by %g'):format(k, (param - want):abs():max():item())
    end
  end
end

local function refusal_problem(class, case)
  local options = select(1, values.arguments({}, case.kwargs))[1] or {}
  local ok, err = pcall(class, values.decoded(case.params), options)
  if ok then return 'was not refused' end
  if type(err) ~= 'table' or err.code == 'internal' then return 'a bare error: ' .. tostring(err) end
end

---@return integer count how many cases were tried
function optimizers.run(entry, report, progress)
  local class = torch.optim[entry.name]
  for _, case in ipairs(entry.calls) do
    progress(entry.entry .. ' ' .. case.id)
    local check = case.params ~= nil and refusal_problem or training_problem
    local ok, problem = pcall(check, class, case)
    if not ok or problem then
      report(case.params ~= nil and 'refusal' or 'training', case.id, tostring(problem))
    end
  end
  return #entry.calls
end

return optimizers
