-- torch/distributions/transforms.lua: torch.distributions.transforms: invertible functions of samples.

local ComposeTransform = require 'torch.distributions.transforms.compose'

local PLACE = 'torch.distributions.transforms.'

return require 'base.namespace'('torch.distributions.transforms', {
  files = {
    {PLACE .. 'elementwise', 'ExpTransform', 'SigmoidTransform', 'SoftplusTransform', 'TanhTransform', 'AbsTransform'},
    {PLACE .. 'simplex', 'SoftmaxTransform', 'StickBreakingTransform'},
    {PLACE .. 'cholesky', 'LowerCholeskyTransform', 'PositiveDefiniteTransform'},
    {PLACE .. 'sequence', 'CatTransform', 'StackTransform'},
  },
  modules = {
    Transform = PLACE .. 'transform', ComposeTransform = PLACE .. 'compose', IndependentTransform = PLACE .. 'independent',
    ReshapeTransform = PLACE .. 'reshape', PowerTransform = PLACE .. 'power', AffineTransform = PLACE .. 'affine',
    CorrCholeskyTransform = PLACE .. 'corr_cholesky',
    CumulativeDistributionTransform = PLACE .. 'cumulative_distribution',
  },
}, {identity_transform = ComposeTransform{}})
