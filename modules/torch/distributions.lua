-- torch/distributions.lua: torch.distributions: probability distributions, with samples, densities and gradients.

local PLACE = 'torch.distributions.'

local CLASSES = {
  Bernoulli = 'bernoulli', Beta = 'beta', Binomial = 'binomial', Categorical = 'categorical', Cauchy = 'cauchy',
  Chi2 = 'chi2', ContinuousBernoulli = 'continuous_bernoulli', Dirichlet = 'dirichlet', Distribution = 'distribution',
  ExpRelaxedCategorical = 'exp_relaxed_categorical', Exponential = 'exponential',
  ExponentialFamily = 'exponential_family', FisherSnedecor = 'fisher_snedecor', Gamma = 'gamma',
  GeneralizedPareto = 'generalized_pareto', Geometric = 'geometric', Gumbel = 'gumbel', HalfCauchy = 'half_cauchy',
  HalfNormal = 'half_normal', Independent = 'independent', InverseGamma = 'inverse_gamma', Kumaraswamy = 'kumaraswamy',
  LKJCholesky = 'lkj_cholesky', Laplace = 'laplace', LogNormal = 'log_normal', LogisticNormal = 'logistic_normal',
  LogitRelaxedBernoulli = 'logit_relaxed_bernoulli', LowRankMultivariateNormal = 'low_rank_multivariate_normal',
  MixtureSameFamily = 'mixture_same_family', Multinomial = 'multinomial', MultivariateNormal = 'multivariate_normal',
  NegativeBinomial = 'negative_binomial', Normal = 'normal', OneHotCategorical = 'one_hot_categorical',
  OneHotCategoricalStraightThrough = 'one_hot_categorical_straight_through', Pareto = 'pareto', Poisson = 'poisson',
  RelaxedBernoulli = 'relaxed_bernoulli', RelaxedOneHotCategorical = 'relaxed_one_hot_categorical',
  StudentT = 'student_t', TransformedDistribution = 'transformed_distribution', Uniform = 'uniform',
  VonMises = 'von_mises', Weibull = 'weibull', Wishart = 'wishart',
}

local modules = {
  constraint_registry = PLACE .. 'constraint_registry', constraints = PLACE .. 'constraints', kl = PLACE .. 'kl',
  transforms = PLACE .. 'transforms', utils = PLACE .. 'utils',
}
for name, file in next, CLASSES do modules[name] = PLACE .. file end

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
