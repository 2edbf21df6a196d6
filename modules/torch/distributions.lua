-- torch/distributions.lua: torch.distributions: probability distributions, with samples, densities and gradients.

local PLACE = 'torch.distributions.'

-- Sub-folder → class → file.
local CLASSES = {
  [''] = {
    Beta = 'beta', Cauchy = 'cauchy', Chi2 = 'chi2', ContinuousBernoulli = 'continuous_bernoulli',
    Distribution = 'distribution', Exponential = 'exponential', ExponentialFamily = 'exponential_family',
    FisherSnedecor = 'fisher_snedecor', Gamma = 'gamma', GeneralizedPareto = 'generalized_pareto', Gumbel = 'gumbel',
    HalfCauchy = 'half_cauchy', HalfNormal = 'half_normal', Independent = 'independent',
    InverseGamma = 'inverse_gamma', Kumaraswamy = 'kumaraswamy', Laplace = 'laplace', LogNormal = 'log_normal',
    MixtureSameFamily = 'mixture_same_family', Normal = 'normal', Pareto = 'pareto', StudentT = 'student_t',
    TransformedDistribution = 'transformed_distribution', Uniform = 'uniform', VonMises = 'von_mises',
    Weibull = 'weibull',
  },
  discrete = {
    Bernoulli = 'bernoulli', Binomial = 'binomial', Categorical = 'categorical', Geometric = 'geometric',
    Multinomial = 'multinomial', NegativeBinomial = 'negative_binomial', OneHotCategorical = 'one_hot_categorical',
    OneHotCategoricalStraightThrough = 'one_hot_categorical_straight_through', Poisson = 'poisson',
  },
  multivariate = {
    Dirichlet = 'dirichlet', LKJCholesky = 'lkj_cholesky', LogisticNormal = 'logistic_normal',
    LowRankMultivariateNormal = 'low_rank_multivariate_normal', MultivariateNormal = 'multivariate_normal',
    Wishart = 'wishart',
  },
  relaxed = {
    ExpRelaxedCategorical = 'exp_relaxed_categorical', LogitRelaxedBernoulli = 'logit_relaxed_bernoulli',
    RelaxedBernoulli = 'relaxed_bernoulli', RelaxedOneHotCategorical = 'relaxed_one_hot_categorical',
  },
}

local modules = {
  constraint_registry = PLACE .. 'constraint_registry', constraints = PLACE .. 'constraints', kl = PLACE .. 'kl',
  transforms = PLACE .. 'transforms', utils = PLACE .. 'utils',
}
for folder, classes in next, CLASSES do
  for name, file in next, classes do modules[name] = PLACE .. (folder ~= '' and folder .. '.' or '') .. file end
end

return require 'base.namespace'('torch.distributions', {
  files = {
    {PLACE .. 'constraint_registry', 'ConstraintRegistry', 'biject_to', 'transform_to'},
    {PLACE .. 'kl', 'kl_divergence', 'register_kl'},
    -- As in Python, these are available here too.
    {PLACE .. 'transforms', 'AbsTransform', 'AffineTransform', 'CatTransform', 'ComposeTransform', 'CorrCholeskyTransform',
     'CumulativeDistributionTransform', 'ExpTransform', 'IndependentTransform', 'LowerCholeskyTransform',
     'PositiveDefiniteTransform', 'PowerTransform', 'ReshapeTransform', 'SigmoidTransform', 'SoftmaxTransform',
     'SoftplusTransform', 'StackTransform', 'StickBreakingTransform', 'TanhTransform', 'Transform', 'identity_transform'},
  },
  modules = modules,
})
