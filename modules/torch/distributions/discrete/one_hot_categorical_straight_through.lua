-- torch/distributions/discrete/one_hot_categorical_straight_through.lua: OneHotCategorical with gradients for its samples.

local OneHotCategorical = require 'torch.distributions.discrete.one_hot_categorical'

---OneHotCategorical whose samples pass their gradient straight through to the probabilities (Bengio et al. 2013). Arguments
---as OneHotCategorical.
---
---```lua
---local torch = require 'torch'
---local logits = torch.zeros(3, {requires_grad = true})
---local one_hot = torch.distributions.OneHotCategoricalStraightThrough {logits = logits}
---local picked = one_hot:rsample() * torch.arange(3)
---picked:sum():backward()
---assert(logits.grad:abs():sum():item() > 0)
---```
---@class distributions.OneHotCategoricalStraightThrough: distributions.OneHotCategorical
---@overload fun(probs?: torch.Tensor, logits?: torch.Tensor, ...: any): distributions.OneHotCategoricalStraightThrough
local OneHotCategoricalStraightThrough = OneHotCategorical:extend('OneHotCategoricalStraightThrough')
OneHotCategoricalStraightThrough.has_rsample = true

function OneHotCategoricalStraightThrough:_rsample(sample_shape)
  return self:sample(sample_shape) + (self.probs - self.probs:detach())
end

return OneHotCategoricalStraightThrough
