-- torch/nn/utils/prune.lua: torch.nn.utils.prune: sets unimportant elements of parameters to zero.
--
-- A pruned parameter `weight` becomes the tensor weight_orig · weight_mask (parameter weight_orig, buffer weight_mask),
-- computed before each forward. `amount` is a share between 0 and 1, or a number of elements (channels) of at least 1.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local named_hook = require 'torch.nn.utils.named_hook'
local vector = require 'torch.nn.utils.vector'
local torch = require 'torch'

local base = require 'torch.nn.utils.pruning_method'
local BasePruningMethod, PruningContainer = base.BasePruningMethod, base.PruningContainer

local prune = {}
local defined = args.definer(prune)

local function fail(message, ...) errors.raise('argument', 'prune: ' .. message:format(...)) end

local function check_amount(amount)
  if type(amount) == 'number' and amount >= 0 and (amount < 1 or amount % 1 == 0) then return amount end
  fail('amount is a share between 0 and 1 or a number of elements, got %s', tostring(amount))
end

-- Rounds half to even, as Python does.
local function round(x)
  local low = math.floor(x)
  local rest = x - low
  if rest == 0.5 then return low % 2 == 0 and low or low + 1 end
  return rest > 0.5 and low + 1 or low
end

local function count_of(amount, size)
  local count = amount < 1 and round(amount * size) or amount
  if count > size then fail('amount = %d is more than the %d that are there', count, size) end
  return count
end

local function method(name, kind, parameters)
  local Method = BasePruningMethod:extend(name)
  local signature = args.signature(name, parameters)
  Method.PRUNING_TYPE = kind
  function Method:init(...)
    local p = signature:bind(...)
    if p.amount ~= nil then check_amount(p.amount) end
    for _, field in ipairs(signature.names) do self[field] = p[field] end
  end
  return Method
end

---Prunes no elements, but makes the mask.
---@class nn.utils.prune.Identity: nn.utils.prune.BasePruningMethod
local Identity = method('Identity', 'unstructured', {})
prune.Identity = Identity

function Identity:compute_mask(_, default_mask) return default_mask end

-- Returns the mask with zeros at flat places.
local function without(default_mask, places)
  local mask = default_mask:clone()
  mask:view(-1):index_fill_(0, places, 0)
  return mask
end

---Prunes elements at random. Arguments: amount.
---@class nn.utils.prune.RandomUnstructured: nn.utils.prune.BasePruningMethod
local RandomUnstructured = method('RandomUnstructured', 'unstructured', {'amount'})
prune.RandomUnstructured = RandomUnstructured

function RandomUnstructured:compute_mask(t, default_mask)
  local count = count_of(self.amount, t:numel())
  if count == 0 then return default_mask:clone() end
  return without(default_mask, (select(2, torch.topk(torch.rand_like(t):view(-1), count))))
end

---Prunes the elements nearest to 0. Arguments: amount.
---@class nn.utils.prune.L1Unstructured: nn.utils.prune.BasePruningMethod
local L1Unstructured = method('L1Unstructured', 'unstructured', {'amount'})
prune.L1Unstructured = L1Unstructured

function L1Unstructured:compute_mask(t, default_mask)
  local count = count_of(self.amount, t:numel())
  if count == 0 then return default_mask:clone() end
  return without(default_mask, (select(2, torch.topk(t:abs():view(-1), count, {largest = false}))))
end

local function check_channels(t, dim)
  if t:dim() < 2 then fail('channels are pruned of tensors with 2 dimensions or more, not of %s', tostring(t.shape)) end
  if dim >= t:dim() or dim < -t:dim() then fail('dim = %d, and the tensor has %d dimensions', dim, t:dim()) end
  return dim % t:dim()
end

-- Returns 1 at the channels that are kept, times the previous mask.
local function with_channels(t, dim, kept, default_mask)
  local mask = torch.zeros_like(t):index_fill_(dim, kept, 1)
  return mask * default_mask:to{dtype = mask.dtype}
end

---Prunes whole channels at random. Arguments: amount, dim = -1.
---@class nn.utils.prune.RandomStructured: nn.utils.prune.BasePruningMethod
local RandomStructured = method('RandomStructured', 'structured', {'amount', {'dim', -1}})
prune.RandomStructured = RandomStructured

function RandomStructured:compute_mask(t, default_mask)
  local dim = check_channels(t, self.dim)
  local size = t:size(dim)
  local count = count_of(self.amount, size)
  if count == 0 then return default_mask end
  local chance = torch.rand(size)
  local kept = chance:gt((chance:kthvalue(count))):nonzero():view(-1):to{device = t.device}
  return with_channels(t, dim, kept, default_mask)
end

---Prunes the channels with the smallest n-norm. Arguments: amount, n (a number, math.huge, 'fro', 'nuc'), dim = -1.
---@class nn.utils.prune.LnStructured: nn.utils.prune.BasePruningMethod
local LnStructured = method('LnStructured', 'structured', {'amount', 'n', {'dim', -1}})
prune.LnStructured = LnStructured

function LnStructured:compute_mask(t, default_mask)
  local dim, others = check_channels(t, self.dim), {}
  for d = 0, t:dim() - 1 do
    if d ~= dim then others[#others + 1] = d end
  end
  local count = count_of(self.amount, t:size(dim))
  if count == 0 then return default_mask end
  local _, kept = torch.topk(torch.norm(t, self.n, others), t:size(dim) - count)
  return with_channels(t, dim, kept, default_mask)
end

---Prunes where a given mask is 0. Arguments: mask, of the parameter's shape.
---@class nn.utils.prune.CustomFromMask: nn.utils.prune.BasePruningMethod
local CustomFromMask = method('CustomFromMask', 'global', {'mask'})
prune.CustomFromMask = CustomFromMask

function CustomFromMask:compute_mask(_, default_mask)
  if tostring(default_mask.shape) ~= tostring(self.mask.shape) then
    fail('mask is %s, expected %s', tostring(self.mask.shape), tostring(default_mask.shape))
  end
  return default_mask * self.mask:to{dtype = default_mask.dtype, device = default_mask.device}
end

---Makes the mask of a parameter without pruning. Arguments: module, name. Returns the module.
defined('identity', {'module', 'name'}, function(p)
  Identity:apply(p.module, p.name)
  return p.module
end)

---Prunes elements at random. Arguments: module, name, amount. Returns the module.
defined('random_unstructured', {'module', 'name', 'amount'}, function(p)
  RandomUnstructured:apply(p.module, p.name, p.amount)
  return p.module
end)

---Prunes the elements nearest to 0. Arguments: module, name, amount, {importance_scores: values that decide instead of
---the parameter}. Returns the module.
---
---```lua
---local torch = require 'torch'
---local prune = torch.nn.utils.prune
---local layer = prune.l1_unstructured(torch.nn.Linear(4, 4), 'weight', 0.5)
---assert(layer.weight:eq(0):sum():item() == 8 and layer:state_dict().weight_mask:sum():item() == 8)
---prune.remove(layer, 'weight')
---assert(layer.weight:eq(0):sum():item() == 8 and #layer:buffers() == 0)
---```
defined('l1_unstructured', {'module', 'name', 'amount', {'importance_scores'}}, function(p)
  L1Unstructured:apply(p.module, p.name, {amount = p.amount, importance_scores = p.importance_scores})
  return p.module
end)

---Prunes whole channels at random. Arguments: module, name, amount, dim. Returns the module.
defined('random_structured', {'module', 'name', 'amount', 'dim'}, function(p)
  RandomStructured:apply(p.module, p.name, p.amount, p.dim)
  return p.module
end)

---Prunes the channels with the smallest n-norm. Arguments: module, name, amount, n, dim, {importance_scores}. Returns the
---module.
defined('ln_structured', {'module', 'name', 'amount', 'n', 'dim', {'importance_scores'}}, function(p)
  LnStructured:apply(p.module, p.name, {amount = p.amount, n = p.n, dim = p.dim, importance_scores = p.importance_scores})
  return p.module
end)

---Prunes where a mask is 0. Arguments: module, name, mask. Returns the module.
defined('custom_from_mask', {'module', 'name', 'mask'}, function(p)
  CustomFromMask:apply(p.module, p.name, p.mask)
  return p.module
end)

-- Returns the importance scores of one entry: Python's dict has pairs as keys, here a list has {module, name, scores}.
local function scores_of(entries, module, name)
  for _, entry in ipairs(entries) do
    if entry[1] == module and entry[2] == name then return entry[3] end
  end
  return module[name]
end

local global_signature = args.signature('global_unstructured', {'parameters', 'pruning_method', {'importance_scores', {}},
  {'amount'}})

---Prunes several parameters as if they were one. Arguments: parameters (a list of {module, name}), pruning_method (a class of
---type 'unstructured'), {importance_scores: a list of {module, name, scores}, amount}.
---@param ... any
function prune.global_unstructured(...)
  local p = global_signature:bind(...)
  local scores, masks = {}, {}
  for i, entry in ipairs(p.parameters) do
    local module, name = entry[1], entry[2]
    scores[i] = scores_of(p.importance_scores, module, name):detach()
    masks[i] = module[name .. '_mask'] or torch.ones_like(module[name]:detach())
  end
  local of = p.pruning_method
  if of.PRUNING_TYPE ~= 'unstructured' then
    fail("global_unstructured takes methods of type 'unstructured', not %s", tostring(of))
  end
  local one = of{amount = p.amount}
  one.name = 'all'
  local mask = PruningContainer(one):compute_mask(vector.parameters_to_vector(scores), vector.parameters_to_vector(masks))
  local start = 0
  for _, entry in ipairs(p.parameters) do
    local tensor = entry[1][entry[2]]
    prune.custom_from_mask(entry[1], entry[2], mask:narrow(0, start, tensor:numel()):view_as(tensor))
    start = start + tensor:numel()
  end
end

---Makes the pruning of a parameter permanent. Arguments: module, name. Returns the module.
defined('remove', {'module', 'name'}, function(p)
  named_hook.take(p.module, BasePruningMethod, p.name, 'pruning'):remove(p.module)
  return p.module
end)

---Returns whether a parameter of the module, or of a module below it, is pruned.
---@param module nn.Module
---@return boolean
function prune.is_pruned(module)
  for _, each in ipairs(module:modules()) do
    local hooks = each._fields._hooks
    for _, entry in ipairs(hooks and hooks.before or {}) do
      if class.is(entry.fn, BasePruningMethod) then return true end
    end
  end
  return false
end

return require 'base.namespace'('torch.nn.utils.prune', {
  files = {{'torch.nn.utils.pruning_method', 'BasePruningMethod', 'PruningContainer'}},
}, prune)
