-- Cases of torch.distributions: harness/distribution.py describes the objects and the probes.

local torch = require 'torch'
local Case = require 'harness.case'
local compare = require 'harness.compare'
local device = require 'harness.device'
local fill = require 'harness.fill'

local Probed = setmetatable({}, {__index = Case})
Probed.__index = Probed

---Returns the case that a line of a golden file describes.
function Probed.read(line)
  local self = setmetatable(Case.read(line), Probed)
  -- Whether inputs get gradients.
  self.grads = self.kind ~= 'constraint'
  return self
end

local function joined(shape) return table.concat(shape, ',') end

local KINDS = {}

KINDS.distribution = {
  print = function(d) return tostring(d) end,
  fields = function(d) return joined(d.batch_shape), joined(d.event_shape), d.has_rsample, d.has_enumerate_support end,
  support = function(d) return tostring(d.support) end,
  entropy = function(d) return d:entropy() end,
  perplexity = function(d) return d:perplexity() end,
  sample = function(d) return d:sample(), d:sample{2, 3}, torch.rand(2) end,
  rsample = function(d) return d:rsample{2} end,
  log_prob = function(d) return d:log_prob(d:sample{2}) end,
  cdf = function(d) return d:cdf(d:sample{2}) end,
  icdf = function(d)
    local shape = torch.Size{2} .. d.batch_shape .. d.event_shape
    return d:icdf(device.move(fill.tensor(shape, 'unit', 'float32', 700)):to(d:sample().dtype))
  end,
  enumerate_support = function(d) return d:enumerate_support(), d:enumerate_support(false) end,
  expand = function(d)
    local e = d:expand(torch.Size{2} .. d.batch_shape)
    return tostring(e), joined(e.batch_shape), joined(e.event_shape), e:sample(), e:log_prob(e:sample{2})
  end,
}
for _, name in ipairs{'mean', 'mode', 'variance', 'stddev'} do
  KINDS.distribution[name] = function(d) return d[name] end
end

KINDS.transform = {
  print = function(t) return tostring(t) end,
  inverse_print = function(t) return tostring(t.inv) end,
  domain = function(t) return tostring(t.domain), tostring(t.codomain) end,
  bijective = function(t) return t.bijective end,
  event_dim = function(t) return t.event_dim end,
  sign = function(t) return t.sign end,
  inverse_sign = function(t) return t.inv.sign end,
  shapes = function(t, x) return joined(t:forward_shape(x.shape)), joined(t:inverse_shape(t(x).shape)) end,
  call = function(t, x) return t(x) end,
  inverse = function(t, x) return t.inv(t(x)) end,
  transformed = function(t, x)
    local y = t(x)
    return y, t.inv(y), t:log_abs_det_jacobian(x, y)
  end,
  cached = function(t, x)
    t = t:with_cache()
    local y = t(x)
    return rawequal(t(x), y), rawequal(t.inv(y), x), rawequal(t:with_cache(1), t), rawequal(t.inv.inv, t)
  end,
}

KINDS.constraint = {
  print = function(constraint) return tostring(constraint) end,
  fields = function(constraint) return constraint.is_discrete, constraint.event_dim end,
  check = function(constraint, x) return constraint:check(x) end,
}

KINDS.divergence = {divergence = function(p, q) return torch.distributions.kl_divergence(p, q) end}

-- Creates the object, or both objects of a divergence, with fresh inputs.
function Probed:make(tail)
  torch.manual_seed(device.seed)
  local args, wanted = self:inputs()
  local names = {}
  for i = 1, self.args.n do names[i] = 'x' .. i end
  local code = self.code:match '^{(.*)}$' or self.code
  local text = ('local %s = ...\nreturn %s%s'):format(#names > 0 and table.concat(names, ', ') or '_', code, tail or '')
  return wanted, Case.chunk(text)(unpack(args, 1, args.n))
end

local function list_problem(self, what, got, want)
  if #got ~= #want then return ('%d %ss, expected %d'):format(#got, what, #want) end
  for i, expected in ipairs(want) do
    local problem = compare.problem(got[i], expected, self)
    if problem then return ('%s %d: %s'):format(what, i, problem) end
  end
end

local function gradients(results, wanted)
  local outputs, cotangents = {}, {}
  for k, result in ipairs(results) do
    if torch.is_tensor(result) and result.requires_grad then
      outputs[#outputs + 1], cotangents[#cotangents + 1] = result, fill.cotangent(result, k)
    end
  end
  if #outputs == 0 then return nil end
  return torch.autograd.grad(outputs, wanted, cotangents, {allow_unused = true})
end

local function asked(self, probe)
  local wanted, first, second = self:make()
  return wanted, Case.flat(probe(first, second))
end

-- Returns the problem of one answer, or nil.
function Probed:answer_problem(probe, want)
  local ok, wanted, results = pcall(asked, self, probe)
  if want == 'unsupported' or want == 'fails' then
    if ok then return 'no error was raised' end
    local is_right = want == 'fails' or type(wanted) == 'table' and wanted.code == 'unsupported'
    return not is_right and ('not refused as unsupported: ' .. tostring(wanted)) or nil
  end
  if not ok then return tostring(wanted) end
  local problem = list_problem(self, 'result', results, want.want)
  if problem then return problem end
  -- If Python's backward fails, rtrain's may fail too.
  if want.grads == 'fails' then return nil end
  local grads = #wanted > 0 and gradients(results, wanted) or nil
  if not want.grads or not grads then return want.grads ~= grads and 'gradients on one side alone' or nil end
  return list_problem(self, 'gradient', grads, want.grads)
end

-- Returns the problem of the error, or nil if it has Python's text.
function Probed:refusal_problem()
  local ok, err = pcall(self.make, self, self.call)
  if ok then return 'no error was raised' end
  if not tostring(err):find(self.says, 1, true) then
    return ("the error does not say '%s': %s"):format(self.says, tostring(err))
  end
end

---Returns the problem of the case, or nil.
function Probed:problem()
  if self.kind == 'refused' then return self:refusal_problem() end
  local problems, names = {}, {}
  for name in next, self.answers do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local problem = self:answer_problem(KINDS[self.kind][name], self.answers[name])
    if problem then problems[#problems + 1] = ('%s: %s'):format(name, problem) end
  end
  if #problems > 0 then return ('%s\n  %s'):format(table.concat(problems, '\n'), self.code) end
end

return Probed
