-- torch/nn/utils/pruning_method.lua: the base of all pruning methods: a mask next to the parameter, applied before
-- forward.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local named_hook = require 'torch.nn.utils.named_hook'
local torch = require 'torch'

local function fail(message, ...) errors.raise('argument', 'prune: ' .. message:format(...)) end

---Base of pruning methods. A subclass sets PRUNING_TYPE ('unstructured', 'structured' with a field `dim`, or
---'global') and defines compute_mask(t, default_mask) → mask. `Sub:apply(module, name, …)` makes an instance and
---prunes.
---
---```lua
---local torch = require 'torch'
---local prune = torch.nn.utils.prune
---local Negative = prune.BasePruningMethod:extend('Negative')
---Negative.PRUNING_TYPE = 'unstructured'
---function Negative:compute_mask(t, default_mask) return default_mask * t:ge(0) end
---local layer = torch.nn.Linear(4, 4)
---Negative:apply(layer, 'weight')
---assert(layer.weight:min():item() >= 0 and prune.is_pruned(layer))
---```
---@class nn.utils.prune.BasePruningMethod
---@overload fun(): nn.utils.prune.BasePruningMethod
---@field PRUNING_TYPE string
---@field name string the parameter's name
local BasePruningMethod = class('BasePruningMethod')
BasePruningMethod.__class_methods = {apply = true}

---Returns the mask of ones and zeros; a subclass defines it.
---@param t torch.Tensor the parameter, or its importance scores
---@param default_mask torch.Tensor the mask of earlier prunings
---@return torch.Tensor mask
function BasePruningMethod:compute_mask(t, default_mask) -- luacheck: ignore t default_mask
  fail('%s defines no compute_mask', class.of(self).__name)
end

---Returns the pruned parameter of the module.
---@param module nn.Module
---@return torch.Tensor
function BasePruningMethod:apply_mask(module)
  local original = module[self.name .. '_orig']
  return module[self.name .. '_mask']:to{dtype = original.dtype} * original
end

function BasePruningMethod:__call(module) module[self.name] = self:apply_mask(module) end

---Returns a pruned copy of a tensor. Arguments: t, {default_mask, importance_scores}, both of its shape.
---@param t torch.Tensor
---@param options? {default_mask: torch.Tensor, importance_scores: torch.Tensor}
---@return torch.Tensor
function BasePruningMethod:prune(t, options)
  options = args.options(options, {'default_mask', 'importance_scores'}, 'prune')
  return t * self:compute_mask(options.importance_scores or t, options.default_mask or torch.ones_like(t))
end

---Makes the pruning permanent: the parameter contains the zeros, and the mask is removed.
---@param module nn.Module
function BasePruningMethod:remove(module)
  local pruned = torch.no_grad(self.apply_mask, self, module)
  module:_forget(self.name)
  local original = module:_forget(self.name .. '_orig')
  module:_forget(self.name .. '_mask')
  original.data = pruned:detach()
  module:register_parameter(self.name, original)
end

---Several prunings of one parameter; each prunes the elements that the earlier ones left.
---@class nn.utils.prune.PruningContainer: nn.utils.prune.BasePruningMethod
---@overload fun(...: nn.utils.prune.BasePruningMethod): nn.utils.prune.PruningContainer
local PruningContainer = BasePruningMethod:extend('PruningContainer')

---@param ... nn.utils.prune.BasePruningMethod
function PruningContainer:init(...)
  self._methods = {}
  for _, method in ipairs{...} do self:add_pruning_method(method) end
end

---Adds a pruning of the same parameter.
---@param method nn.utils.prune.BasePruningMethod
function PruningContainer:add_pruning_method(method)
  if not class.is(method, BasePruningMethod) then fail('expected a BasePruningMethod, got %s', type(method)) end
  self.name = self.name or method.name
  if method.name ~= self.name then fail("the container prunes '%s', not '%s'", self.name, tostring(method.name)) end
  table.insert(self._methods, method)
end

---@return integer
function PruningContainer:len() return #self._methods end

-- Returns the places that the method may still prune, as an index; nil for all places.
local function open_places(method, t, mask)
  if method.PRUNING_TYPE == 'unstructured' then return mask:eq(1) end
  if method.PRUNING_TYPE == 'global' then return nil end
  if method.PRUNING_TYPE ~= 'structured' then fail("unknown PRUNING_TYPE '%s'", tostring(method.PRUNING_TYPE)) end
  local dim, index = method.dim % t:dim(), {}
  local others = {}
  for d = 0, t:dim() - 1 do
    index[d + 1] = torch.slice()
    if d ~= dim then others[#others + 1] = d end
  end
  index[dim + 1] = mask:sum(others):ne(0)
  return index
end

---Returns the mask of the method that was added last, applied to the elements that the present mask keeps.
---@param t torch.Tensor
---@param default_mask torch.Tensor
---@return torch.Tensor
function PruningContainer:compute_mask(t, default_mask)
  local method = self._methods[#self._methods]
  local places = open_places(method, t, default_mask)
  if places == nil then return method:compute_mask(t, default_mask):to{dtype = t.dtype} end
  local mask = default_mask:to{dtype = t.dtype}:clone()
  mask[places] = method:compute_mask(t[places], default_mask[places]):to{dtype = mask.dtype}
  return mask
end

-- Returns the method, or a container that joins it with the existing method.
local function joined(module, method)
  local list, index = named_hook.find(module, BasePruningMethod, method.name)
  if not list then return method end
  local old = table.remove(list, index).fn
  if not class.is(old, PruningContainer) then old = PruningContainer(old) end
  old:add_pruning_method(method)
  return old
end

-- Replaces the parameter by mask and pruned tensor.
local function install(module, method, scores)
  local name, is_first = method.name, not class.is(method, PruningContainer)
  local tensor = module[name]
  scores = scores or tensor
  if tostring(scores.shape) ~= tostring(tensor.shape) then
    fail("importance_scores %s must have the shape of '%s', %s", tostring(scores.shape), name, tostring(tensor.shape))
  end
  local default = is_first and torch.ones_like(tensor) or module[name .. '_mask']:detach():clone()
  -- Computed before anything changes: it may fail.
  local mask = torch.no_grad(method.compute_mask, method, scores, default)
  if is_first then
    module:_forget(name)
    module:register_parameter(name .. '_orig', tensor)
  end
  module:register_buffer(name .. '_mask', mask)
  method(module)
  module:register_forward_pre_hook(method)
end

---Prunes a parameter of a module with a new instance of this class. Called on the class.
---@param module nn.Module
---@param name string
---@param ... any arguments of the class; the keywords may include importance_scores, a tensor of the parameter's shape
---@return nn.utils.prune.BasePruningMethod method
function BasePruningMethod:apply(module, name, ...)
  local given, count, scores = {...}, select('#', ...), nil
  if args.is_keywords(given[count]) then
    local keywords = {}
    for key, value in next, given[count] do keywords[key] = value end
    scores, keywords.importance_scores = keywords.importance_scores, nil
    given[count] = keywords
  end
  if not torch.is_tensor(module[name]) then fail("%s has no parameter '%s'", class.of(module).__name, tostring(name)) end
  local method = self(unpack(given, 1, count))
  method.name = name
  method = joined(module, method)
  install(module, method, scores)
  return method
end

return {BasePruningMethod = BasePruningMethod, PruningContainer = PruningContainer}
