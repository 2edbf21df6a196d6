-- Cases of modules: harness/module.py describes the comparisons.

local torch = require 'torch'
local Case = require 'harness.case'
local compare = require 'harness.compare'
local device = require 'harness.device'
local fill = require 'harness.fill'

local Module = setmetatable({}, {__index = Case})
Module.__index = Module

---Returns the case that a line of a golden file describes.
function Module.read(line) return setmetatable(Case.read(line), Module) end

local function state_of(module)
  local names, tensors = {}, {}
  for name, tensor in require('base.ordered').items(module:state_dict()) do
    if torch.is_tensor(tensor) then
      names[#names + 1] = ('%s[%s]%s'):format(name, table.concat(tensor:size(), ','), tensor.dtype)
      tensors[#tensors + 1] = {name, tensor}
    end
  end
  return table.concat(names, ' '), tensors
end

local function fill_state(module)
  local _, tensors = state_of(module)
  torch.no_grad(function()
    for place, entry in ipairs(tensors) do
      local name, tensor = entry[1], entry[2]
      local kind = not tensor:is_floating_point() and 'zeros' or name:match 'running_var$' and 'positive' or 'signed_unit'
      tensor:copy_(fill.tensor(tensor:size(), kind, tensor.dtype, 299 + place))
    end
  end)
end

local function with_keywords(self, list, keywords, made, wanted)
  local out = {n = list.n}
  for i = 1, list.n do out[i] = self:value(list[i], made, wanted) end
  if keywords and next(keywords) ~= nil then
    out.n = out.n + 1
    out[out.n] = {}
    for name, item in next, keywords do out[out.n][name] = self:value(item, made, wanted) end
  end
  return out
end

function Module:new(made)
  torch.manual_seed(0)
  if self.make then return Case.chunk('return ' .. self.make)() end
  local args = with_keywords(self, self.args, self.kw, made, {})
  return torch.nn[self.module](unpack(args, 1, args.n))
end

-- Returns the module after one call, the inputs that need a gradient, and the results.
function Module:run(training)
  local made, wanted = {}, {}
  local module = device.move(self:new(made))
  fill_state(module)
  module:train(training)
  local given = with_keywords(self, self.inputs, self.call_kw, made, wanted)
  table.sort(wanted, function(a, b) return a.place < b.place end)
  for i, item in ipairs(wanted) do wanted[i] = item.tensor end
  torch.manual_seed(device.seed)
  local call = self.call and Case.chunk(('local m = ... return function(...) %s end'):format(self.call))(module) or module
  local results = Case.flat(call(unpack(given, 1, given.n)))
  while results[#results] == torch.none do results[#results] = nil end
  return module, wanted, results
end

function Module:gradients(module, wanted, results)
  local outputs, cotangents = {}, {}
  for k, result in ipairs(results) do
    if torch.is_tensor(result) and result.requires_grad then
      outputs[#outputs + 1], cotangents[#cotangents + 1] = result, fill.cotangent(result, k)
    end
  end
  for _, param in ipairs(module:parameters()) do
    if param.requires_grad then wanted[#wanted + 1] = param end
  end
  local grads = torch.autograd.grad(outputs, wanted, cotangents, {allow_unused = true})
  for i, grad in ipairs(grads) do
    if torch.is_tensor(grad) and grad.is_sparse then grads[i] = grad:to_dense() end
  end
  return grads
end

local function text_problem(what, got, want)
  if got ~= want then return ('%s:\n%s\nexpected:\n%s'):format(what, got, want) end
end

local function list_problem(self, what, got, want)
  if #got ~= #want then return ('%d of %s, expected %d'):format(#got, what, #want) end
  for i, expected in ipairs(want) do
    local problem = compare.problem(got[i], expected, self)
    if problem then return ('%s %d: %s'):format(what, i, problem) end
  end
end

local function initial_problem(self, module)
  local _, tensors = state_of(module)
  local flat = {}
  for _, entry in ipairs(tensors) do
    if entry[2]:is_floating_point() then flat[#flat + 1] = entry[2]:reshape(-1):float() end
  end
  return list_problem(self, 'initial values', {torch.cat(flat)}, {self.init})
end

---Returns the problem of the case, or nil.
function Module:problem()
  local module = self:new{}
  local problem = text_problem('print', tostring(module), self.print)
    or text_problem('state_dict', (state_of(module)), self.state)
    or self.init and initial_problem(self, module)
  if problem then return problem end
  local wanted, results
  module, wanted, results = self:run(true)
  problem = list_problem(self, 'training result', results, self.want)
    or self.grads and list_problem(self, 'gradient', self:gradients(module, wanted, results), self.grads)
    or list_problem(self, 'buffer', module:buffers(), self.buffers or {})
  if problem then return problem end
  local _, _, evaluated = self:run(false)
  return list_problem(self, 'evaluation result', evaluated, self.eval or self.want)
end

return Module
