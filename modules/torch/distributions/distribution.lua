-- torch/distributions/distribution.lua: Distribution, the base of all families.
--
-- The methods that users call bind and check their arguments here and call the family's method of the same name with an
-- underscore: sample → _sample, log_prob → _log_prob. Fields such as mean are properties (properties.lua).

local args = require 'base.args'
local checks = require 'torch.functions.checks'
local class = require 'base.class'
local errors = require 'base.errors'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'
local validation = require 'torch.distributions.shared.validation'

---A probability distribution over batches of events: the base class of each family.
---
---A custom family calls `Distribution.init(self, batch_shape, event_shape, {validate_args})` in its `init`, has the
---class fields `arg_constraints` and `support`, and defines some of `sample`, `rsample`, `log_prob`, `cdf`, `icdf`,
---`entropy`, `expand`, `enumerate_support`. Fields that depend on the parameters are made by
---torch.distributions.utils.property. Arguments: batch_shape = {} (of the parameters), event_shape = {} (of one sample
---without the batch), {validate_args (whether parameters and values are checked; default: the value of
---set_default_validate_args, initially true)}.
---
---```lua
---local torch = require 'torch'
---local distributions, constraints = torch.distributions, torch.distributions.constraints
---local Fixed = distributions.Distribution:extend('Fixed')
---Fixed.arg_constraints, Fixed.support = {value = constraints.real}, constraints.real
---Fixed.mean = distributions.utils.property(function(self) return self.value end)
---function Fixed:init(value)
---  self.value = value
---  distributions.Distribution.init(self, value.shape)
---end
---function Fixed:sample(sample_shape) return self.value:expand(self:_extended_shape(sample_shape)) end
---local fixed = Fixed(torch.ones(3))
---assert(fixed:sample{2}.shape == torch.Size{2, 3} and fixed.mean:sum():item() == 3)
---```
---@class distributions.Distribution
---@overload fun(batch_shape?: integer[], event_shape?: integer[], ...: any): distributions.Distribution
---@field batch_shape torch.Size the shape of the parameters, whose distributions are independent
---@field event_shape torch.Size the shape of one sample, without the batch
---@field arg_constraints table<string, distributions.constraints.Constraint> the constraint of each parameter
---@field support distributions.constraints.Constraint the constraint that samples satisfy
---@field mean torch.Tensor
---@field mode torch.Tensor the most probable value
---@field variance torch.Tensor
---@field stddev torch.Tensor the standard deviation
---@field has_rsample boolean whether samples have gradients with respect to the parameters
---@field has_enumerate_support boolean whether all values can be enumerated
local Distribution = class('Distribution')
Distribution.has_rsample, Distribution.has_enumerate_support = false, false
Distribution.__index = properties.index
Distribution.__tostring = function(self) return self:_repr() end
Distribution._validate_args = true

local function unsupported(self, what)
  errors.raise('unsupported', ('%s does not implement %s'):format(class.of(self).__name, what))
end

local signature = args.signature('Distribution', {{'batch_shape', {}}, {'event_shape', {}}, {'validate_args'}})

function Distribution:init(...)
  local bound = signature:bind(...)
  self:_start(bound.batch_shape, bound.event_shape, bound.validate_args)
end

---Sets whether parameters and values are checked by default, that is, without `validate_args`. Initially they are
---checked.
---@param value boolean
function Distribution.set_default_validate_args(value)
  if type(value) ~= 'boolean' then
    errors.raise('argument', 'set_default_validate_args: expected a boolean, got ' .. type(value))
  end
  Distribution._validate_args = value
end

-- Completes an init, after the parameters are set.
function Distribution:_start(batch_shape, event_shape, validate_args)
  self.batch_shape, self.event_shape = torch.Size(batch_shape), torch.Size(event_shape or {})
  if validate_args ~= nil then self._validate_args = validate_args end
  if self._validate_args then validation.check_parameters(self) end
end

-- As _start, for a family with only these parameters: broadcasts them; their shape is the batch shape.
function Distribution:_start_with(names, bound)
  local given = {}
  for i, name in ipairs(names) do given[i] = bound[name] end
  for i, parameter in ipairs{utils.broadcast_all(unpack(given))} do self[names[i]] = parameter end
  self:_start(self[names[1]].shape, nil, bound.validate_args)
end

for _, name in ipairs{'mean', 'mode', 'variance', '_natural_params'} do
  Distribution[name] = properties.property(function(self) unsupported(self, name) end)
end

Distribution.stddev = properties.property(function(self) return self.variance:sqrt() end)

for _, name in ipairs{'rsample', 'log_prob', 'cdf', 'icdf', 'entropy', 'enumerate_support'} do
  Distribution['_' .. name] = function(self) unsupported(self, name) end
end

local expand_signature = args.signature('expand', {'batch_shape', {'_instance'}})

-- Returns the class that defines how its instances are expanded; a subclass with its own init must define it too.
local function expanding_class(self)
  local of = class.of(self)
  local definer = of
  while definer and rawget(definer, '_expands') == nil and rawget(definer, '_expand_into') == nil do
    definer = rawget(definer, '__base')
  end
  if not definer or definer == Distribution then unsupported(self, 'expand') end
  if of.init ~= definer.init then
    errors.raise('unsupported', ('Subclass %s of %s that defines a custom init method must also define a custom expand '
      .. 'method.'):format(of.__name, definer.__name))
  end
  return of
end

---Returns a distribution whose parameters are expanded to the batch shape, without copying them. Arguments:
---batch_shape.
---@return distributions.Distribution
---
---```lua
---local torch = require 'torch'
---local normal = torch.distributions.Normal(0, 1):expand{3, 2}
---assert(normal.batch_shape == torch.Size{3, 2} and normal:sample().shape == normal.batch_shape)
---```
function Distribution:expand(...)
  local bound = expand_signature:bind(...)
  local of = bound._instance and class.of(bound._instance) or expanding_class(self)
  local new = bound._instance or of.__new(of)
  new.batch_shape, new.event_shape = torch.Size(checks.sizes('expand', bound.batch_shape)), self.event_shape
  self:_expand_into(new, new.batch_shape)
  new._validate_args = self._validate_args
  return new
end

-- Expands the parameters whose shape is the batch shape.
function Distribution:_expand_into(new, batch_shape)
  for _, name in ipairs(self._expands) do
    local value = rawget(self, name)
    if value ~= nil then new[name] = value:expand(batch_shape) end
  end
end

local sample_signature = args.signature('sample', {{'sample_shape', {}}})

local function sample_shape_of(bound) return torch.Size(checks.sizes('sample_shape', bound.sample_shape)) end

---Returns samples, without gradients. Arguments: sample_shape = {} (leading dimensions, before batch and event).
---@return torch.Tensor sample of shape sample_shape, batch_shape, event_shape
---
---```lua
---local torch = require 'torch'
---torch.manual_seed(0)
---local coin = torch.distributions.Bernoulli(torch.tensor{0.2, 0.8})
---assert(coin:sample{1000}.shape == torch.Size{1000, 2})
---```
function Distribution:sample(...)
  return torch.no_grad(self._sample, self, sample_shape_of(sample_signature:bind(...)))
end

function Distribution:_sample(sample_shape) return self:rsample(sample_shape) end

---Returns samples with gradients with respect to the parameters, if has_rsample is true. Arguments: sample_shape = {}.
---@return torch.Tensor sample of the shape of a result of `sample`
---
---```lua
---local torch = require 'torch'
---local loc = torch.zeros(1, {requires_grad = true})
---torch.distributions.Normal(loc, 1):rsample{5}:sum():backward()
---assert(loc.grad:item() == 5)
---```
function Distribution:rsample(...) return self:_rsample(sample_shape_of(sample_signature:bind(...))) end

---Returns n samples. Deprecated in PyTorch: use sample {n}.
---@param n integer
---@return torch.Tensor
function Distribution:sample_n(n) return self:sample{n} end

local log_prob_signature, cdf_signature = args.signature('log_prob', {'value'}), args.signature('cdf', {'value'})
local icdf_signature = args.signature('icdf', {'value'})

---Returns the logarithm of the probability density or mass at the value. Arguments: value.
---@return torch.Tensor log_prob of the shape of value without the event dimensions
---
---```lua
---local torch = require 'torch'
---local normal = torch.distributions.Normal(0, 1)
---assert(math.abs(normal:log_prob(torch.tensor(0)):item() + 0.918939) < 1e-6)
---```
function Distribution:log_prob(...)
  local value = log_prob_signature:bind(...).value
  if self._validate_args then self:_validate_sample(value) end
  return self:_log_prob(value)
end

---Returns the cumulative distribution function at the value. Arguments: value.
---@return torch.Tensor cdf from 0 to 1
function Distribution:cdf(...)
  local value = cdf_signature:bind(...).value
  if self._validate_args then self:_validate_cdf(value) end
  return self:_cdf(value)
end

---Returns the inverse of the cumulative distribution function. Arguments: value (from 0 to 1).
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local normal = torch.distributions.Normal(1, 2)
---assert(torch.allclose(normal:icdf(normal:cdf(torch.tensor(2))), torch.tensor(2)))
---```
function Distribution:icdf(...) return self:_icdf(icdf_signature:bind(...).value) end

local enumerate_signature = args.signature('enumerate_support', {{'expand', true}})

---Returns all values of a discrete distribution, along dimension 0. Arguments: expand = true (to the batch shape;
---false: the batch dimensions have size 1).
---@return torch.Tensor values (cardinality, batch_shape, event_shape)
---
---```lua
---local torch = require 'torch'
---local coins = torch.distributions.Bernoulli(torch.full({2}, 0.5))
---assert(torch.equal(coins:enumerate_support(), torch.tensor{{0, 0}, {1, 1}}))
---```
function Distribution:enumerate_support(...) return self:_enumerate_support(enumerate_signature:bind(...).expand) end

-- Arranges the values along dimension 0, before the batch shape.
function Distribution:_enumerated(values, expand)
  values = values:view({-1, unpack(sizes.repeated(1, #self.batch_shape))})
  return expand and values:expand({-1, unpack(self.batch_shape)}) or values
end

---Returns the entropy, in nats.
---@return torch.Tensor entropy of the batch shape
function Distribution:entropy() return self:_entropy() end

---Returns exp(entropy): the number of equally probable values with the same entropy.
---@return torch.Tensor perplexity of the batch shape
---
---```lua
---local torch = require 'torch'
---local die = torch.distributions.Categorical(torch.ones(6))
---assert(math.abs(die:perplexity():item() - 6) < 1e-4)
---```
function Distribution:perplexity() return torch.exp(self:entropy()) end

-- Returns the joined sample_shape, batch_shape and event_shape.
function Distribution:_extended_shape(sample_shape)
  return torch.Size(sample_shape or {}) .. self.batch_shape .. self.event_shape
end

-- Raises an error for a value that log_prob does not accept.
function Distribution:_validate_sample(value) validation.check_sample(self, value) end

function Distribution:_validate_cdf(value) self:_validate_sample(value) end

function Distribution:_repr()
  local texts = {}
  for _, name in ipairs(validation.parameter_names(self)) do
    local value = rawget(self, name)
    if value ~= nil then
      local is_one = not torch.is_tensor(value) or value:numel() == 1
      texts[#texts + 1] = ('%s: %s'):format(name, is_one and utils.text(value) or tostring(value.shape))
    end
  end
  return ('%s(%s)'):format(class.of(self).__name, table.concat(texts, ', '))
end

return Distribution
