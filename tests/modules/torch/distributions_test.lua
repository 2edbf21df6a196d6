-- torch.distributions beyond tests/oracle: keywords, fields, user-defined families, registries.
local lu = require 'luaunit'
local closure = require 'base._closure'
local message_of = require('refusal').message_of
local torch = require 'torch'
local distributions, constraints, transforms = torch.distributions, torch.distributions.constraints,
  torch.distributions.transforms

TestArguments = {}

function TestArguments:test_keywords_travel_in_one_table()
  local normal = distributions.Normal{loc = torch.zeros(2), scale = 1}
  lu.assertEquals(normal:sample{sample_shape = {3}}.shape, {3, 2})
  lu.assertEquals(normal:rsample{sample_shape = torch.Size{3}}.shape, {3, 2})
  lu.assertEquals(normal:sample{}.shape, {2})
  lu.assertEquals(normal:log_prob{value = torch.zeros(2)}.shape, {2})
  lu.assertEquals(normal:expand{batch_shape = {4, 2}}.batch_shape, {4, 2})
  lu.assertEquals(distributions.Bernoulli{probs = torch.ones(2)}:enumerate_support{expand = false}.shape, {2, 1})
end

function TestArguments:test_unknown_and_missing_ones_are_refused_at_the_callers_line()
  lu.assertStrContains(message_of(distributions.Normal, 0, {scal = 1}), "Normal: unknown argument 'scal'")
  lu.assertStrContains(message_of(distributions.Normal, 0), "Normal: missing argument 'scale'")
  lu.assertStrContains(message_of(distributions.Normal, 0, 'one'), 'must all be instances of Number or torch.Tensor')
  lu.assertStrContains(message_of(distributions.Categorical, {0.5, 0.5}), 'Categorical: probs: expected a Tensor, got table')
  local normal = distributions.Normal(0, 1)
  local text, err = message_of(function()
    local sample = normal:sample{-1}
    return sample
  end)
  lu.assertStrContains(text, 'distributions_test.lua')
  lu.assertEquals(err.code, 'argument')
  lu.assertStrContains(message_of(normal.log_prob, normal, 0), 'must be a Tensor, got number')
  lu.assertStrContains(message_of(function() return distributions.Norml end), "did you mean 'Normal'")
end

function TestArguments:test_a_dot_for_a_colon_is_told()
  local normal = distributions.Normal(0, 1)
  for _, name in ipairs{'sample', 'rsample', 'log_prob', 'entropy', 'expand'} do
    lu.assertStrContains(message_of(normal[name]), ("'%s' is a method: write object:%s("):format(name, name))
  end
end

function TestArguments:test_checks_can_be_left_out()
  local wrong = distributions.Normal(0, -1, {validate_args = false})
  lu.assertEquals(wrong.scale:item(), -1)
  distributions.Distribution.set_default_validate_args(false)
  local ok = pcall(distributions.Normal, 0, -1)
  distributions.Distribution.set_default_validate_args(true)
  lu.assertTrue(ok)
  lu.assertFalse((pcall(distributions.Normal, 0, -1)))
end

TestFields = {}

function TestFields:test_what_is_not_implemented_is_refused_by_name()
  local text, err = message_of(function() return distributions.RelaxedBernoulli(torch.tensor(1), 0.5).mean end)
  lu.assertStrContains(text, 'RelaxedBernoulli does not implement mean')
  lu.assertEquals(err.code, 'unsupported')
  lu.assertStrContains(message_of(function() return distributions.Poisson(1):entropy() end),
    'Poisson does not implement entropy')
  lu.assertStrContains(message_of(function() return distributions.Bernoulli(0.5):rsample() end),
    'Bernoulli does not implement rsample')
end

function TestFields:test_what_was_not_given_is_computed_once_with_gradients()
  local logits = torch.zeros(3, {requires_grad = true})
  local bernoulli = distributions.Bernoulli{logits = logits}
  local probs = torch.no_grad(function() return bernoulli.probs end)
  lu.assertIs(bernoulli.probs, probs)
  probs:sum():backward()
  lu.assertEquals(logits.grad:tolist(), {0.25, 0.25, 0.25})
end

function TestFields:test_samples_take_no_part_in_the_graph()
  local normal = distributions.Normal(torch.zeros(1, {requires_grad = true}), 1)
  lu.assertFalse(normal:sample().requires_grad)
  lu.assertTrue(normal:rsample().requires_grad)
end

TestOwnFamilies = {}

local Shifted = distributions.Normal:extend('Shifted')

function Shifted:init(loc) distributions.Normal.init(self, loc, 1) end

function TestOwnFamilies:test_one_with_its_own_init_says_how_it_expands()
  local text, err = message_of(Shifted(0).expand, Shifted(0), {2})
  lu.assertStrContains(text, 'Subclass Shifted of Normal that defines a custom init method must also define a custom expand')
  lu.assertEquals(err.code, 'unsupported')
  local Same = distributions.Normal:extend('Same')
  lu.assertEquals(tostring(Same(0, 1):expand{2}), 'Same(loc: torch.Size([2]), scale: torch.Size([2]))')
end

-- The exponential distribution, defined only by its natural parameters.
local Own = distributions.ExponentialFamily:extend('Own')
Own.arg_constraints, Own.support = {rate = constraints.positive}, constraints.nonnegative
Own._mean_carrier_measure = 0
Own._natural_params = distributions.utils.property(function(self) return {-self.rate} end)

function Own:init(rate)
  self.rate = rate
  distributions.Distribution.init(self, rate.shape)
end

function Own:_log_normalizer(x) return -torch.log(-x) end

function TestOwnFamilies:test_natural_parameters_give_entropy_and_divergence()
  local p, q = torch.tensor{0.5, 2}, torch.tensor{1, 3}
  local known_p, known_q = distributions.Exponential(p), distributions.Exponential(q)
  torch.testing.assert_close(Own(p):entropy(), known_p:entropy())
  torch.testing.assert_close(distributions.kl_divergence(Own(p), Own(q)), distributions.kl_divergence(known_p, known_q))
end

function TestOwnFamilies:test_its_parameters_are_checked()
  lu.assertStrContains(message_of(Own, torch.tensor{-1}), 'Expected parameter rate (Tensor of shape (1,)) of distribution '
    .. 'Own(rate: tensor([-1.])) to satisfy the constraint GreaterThan(lower_bound=0.0), but found invalid values:')
end

TestRegistries = {}

function TestRegistries:test_the_most_specific_divergence_counts()
  local Left, Right = distributions.Normal:extend('Left'), distributions.Normal:extend('Right')
  distributions.register_kl(Left, distributions.Normal)(function() return 'left' end)
  lu.assertEquals(distributions.kl_divergence(Left(0, 1), Right(0, 1)), 'left')
  lu.assertEquals(distributions.kl_divergence(Right(0, 1), Left(0, 1)):item(), 0)
  distributions.register_kl(Left, Right, function() return 'both' end)
  lu.assertEquals(distributions.kl_divergence(Left(0, 1), Right(0, 1)), 'both')
  lu.assertStrContains(message_of(distributions.register_kl, {}, Right), 'Expected type_p to be a Distribution subclass')
end

function TestRegistries:test_constraints_of_ones_own()
  local Even = constraints.Constraint:extend('Even')
  lu.assertStrContains(message_of(distributions.biject_to, Even()), 'Cannot transform Even constraints')
  local registry = distributions.ConstraintRegistry()
  registry:register(Even)(function() return transforms.ExpTransform() end)
  lu.assertEquals(tostring(registry(Even())), 'ExpTransform()')
  lu.assertStrContains(message_of(registry.register, registry, 5), 'Expected constraint to be either a Constraint subclass')
end

TestTravel = {}

function TestTravel:test_distributions_reach_workers()
  local mixture = distributions.MixtureSameFamily(distributions.Categorical(torch.ones(2)),
    distributions.TransformedDistribution(distributions.Normal(torch.zeros(2), 1), {transforms.AffineTransform(1, 2)}))
  local copy = closure.load((closure.dump(function() return mixture end)))()
  lu.assertEquals(tostring(copy), tostring(mixture))
  torch.manual_seed(0)
  local drawn = mixture:sample{5}
  torch.manual_seed(0)
  lu.assertTrue(torch.equal(copy:sample{5}, drawn))
  lu.assertTrue(copy.component_distribution.transforms[1] == transforms.AffineTransform(1, 2))
end

os.exit(lu.LuaUnit.run(), true)
