-- torch/nn/distance.lua: CosineSimilarity, PairwiseDistance.

local stateless = require 'torch.nn.stateless'
local torch = require 'torch'

---x1 · x2 / max(‖x1‖ · ‖x2‖, eps) along `dim`: forward(x1, x2). Arguments: dim = 1, eps = 1e-8.
---
---```lua
---local torch = require 'torch'
---local similarity = torch.nn.CosineSimilarity(1)
---assert(math.abs(similarity(torch.ones(1, 3), -torch.ones(1, 3)):item() + 1) < 1e-6)
---```
---@class nn.CosineSimilarity: nn.Module
---@overload fun(dim?: integer, eps?: number): nn.CosineSimilarity
local CosineSimilarity = stateless('CosineSimilarity', {{'dim', 1}, {'eps', 1e-8}}, function(self, x1, x2)
  return torch.cosine_similarity(x1, x2, self.dim, self.eps)
end, {}, {'x1', 'x2'})

---‖x1 - x2 + eps‖_p of each row: (N, D), (N, D) → (N). Arguments: p = 2, eps = 1e-6, keepdim = false.
---@class nn.PairwiseDistance: nn.Module
---@overload fun(p?: number, eps?: number, keepdim?: boolean): nn.PairwiseDistance
local PairwiseDistance = stateless('PairwiseDistance', {{'p', 2}, {'eps', 1e-6}, {'keepdim', false}},
  function(self, x1, x2) return torch.pairwise_distance(x1, x2, self.p, self.eps, self.keepdim) end, {}, {'x1', 'x2'})

return {CosineSimilarity = CosineSimilarity, PairwiseDistance = PairwiseDistance}
