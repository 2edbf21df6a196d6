-- torch/functions/elementwise.lua: x:apply_, x:map_ and x:map2_: call a Lua function for each element of a CPU tensor.
-- Slow: for small tensors and for experiments.

local errors = require 'base.errors'
local checks = require 'torch.functions.checks'
local C = require 'torch._C'

local elementwise = {}

local function check(name, self, fn, ...)
  checks.tensor(name .. ': self', self)
  if type(fn) ~= 'function' then errors.raise('argument', ('%s: expected a function, got %s'):format(name, type(fn))) end
  if self.device ~= 'cpu' then errors.raise('argument', ('%s: only for tensors on the CPU'):format(name)) end
  if self.requires_grad then
    errors.raise('argument', ('%s: a tensor that requires a gradient: use x:detach() or torch.no_grad'):format(name))
  end
  for i = 1, select('#', ...) do checks.tensor(('%s: tensor %d'):format(name, i + 1), (select(i, ...))) end
end

local function flat(tensor, like) return tensor:expand_as(like):reshape(-1):tolist() end

local function store(self, values)
  if self:numel() == 0 then return self end
  return self:copy_(C.tensor(values, {dtype = self.dtype}):view_as(self))
end

---Replaces each element by fn(element). PyTorch equivalent: Tensor.apply_.
---@param self torch.Tensor on the CPU
---@param fn fun(element: number|boolean): number|boolean
---@return torch.Tensor self
function elementwise.apply_(self, fn)
  check('apply_', self, fn)
  local values = flat(self, self)
  for i = 1, #values do values[i] = fn(values[i]) end
  return store(self, values)
end

---Replaces each element by fn(element, element of other). PyTorch equivalent: Tensor.map_.
---@param self torch.Tensor on the CPU
---@param other torch.Tensor is broadcast
---@param fn fun(a: number, b: number): number
---@return torch.Tensor self
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor{1, 2}
---x:map_(torch.tensor{10, 20}, function(a, b) return a + b end)
---assert(torch.equal(x, torch.tensor{11, 22}))
---```
function elementwise.map_(self, other, fn)
  check('map_', self, fn, other)
  local values, others = flat(self, self), flat(other, self)
  for i = 1, #values do values[i] = fn(values[i], others[i]) end
  return store(self, values)
end

---Replaces each element by fn(element, element of x, element of y). PyTorch equivalent: Tensor.map2_.
---@param self torch.Tensor on the CPU
---@param x torch.Tensor is broadcast
---@param y torch.Tensor is broadcast
---@param fn fun(a: number, b: number, c: number): number
---@return torch.Tensor self
function elementwise.map2_(self, x, y, fn)
  check('map2_', self, fn, x, y)
  local values, xs, ys = flat(self, self), flat(x, self), flat(y, self)
  for i = 1, #values do values[i] = fn(values[i], xs[i], ys[i]) end
  return store(self, values)
end

return elementwise
