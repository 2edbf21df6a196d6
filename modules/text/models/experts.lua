-- text/models/experts.lua: layers of experts, of which each token uses a few (Shazeer et al. 2017).

local nn = require 'torch.nn'
local torch = require 'torch'
local F = torch.nn.functional

local experts = {}

---Routes tokens: a linear layer's logits, and the k likeliest experts of each token with their weights.
---@param logits torch.Tensor (tokens, experts)
---@param k integer
---@param sums_to_one boolean whether the weights of the chosen experts are divided by their sum
---@return torch.Tensor weights (tokens, k), float32
---@return torch.Tensor chosen int64, (tokens, k)
function experts.route(logits, k, sums_to_one)
  local probabilities = F.softmax(logits, {dim = -1, dtype = 'float32'})
  local weights, chosen = probabilities:topk(k, -1)
  if sums_to_one then weights = weights / weights:sum(-1, true) end
  return weights, chosen
end

---Returns the sum of the chosen experts' outputs, (tokens, width). An expert gets the tokens that chose it.
---@param x torch.Tensor (tokens, width)
---@param modules nn.ModuleList
---@param weights torch.Tensor (tokens, k)
---@param chosen torch.Tensor int64, (tokens, k)
---@return torch.Tensor
function experts.mixture(x, modules, weights, chosen)
  local out = torch.zeros_like(x)
  for number, expert in ipairs(modules) do
    local where = chosen:eq(number - 1):nonzero()
    if where.shape[1] > 0 then
      local tokens = where:select(1, 0)
      local weight = weights[{tokens, where:select(1, 1)}]
      out = out:index_add(0, tokens, (expert(x:index_select(0, tokens)) * weight:unsqueeze(1)):to(x.dtype))
    end
  end
  return out
end

---The loss that is least where all experts get as many tokens (Fedus et al. 2021, equations 4 to 6).
---@param layers torch.Tensor[] logits of each layer, (tokens, experts)
---@param k integer
---@param padding torch.Tensor|nil (n, tokens), 0 where there is no token
---@return torch.Tensor
function experts.balance(layers, k, padding)
  local count = layers[1].shape[2]
  local used, likely, rows = 0, 0, 0
  local mask = padding and padding:reshape(-1, 1):to('float32')
    or torch.ones({layers[1].shape[1], 1}, {device = layers[1].device})
  for _, logits in ipairs(layers) do
    local probabilities = F.softmax(logits, {dim = -1})
    local _, chosen = probabilities:topk(k, -1)
    used = used + (F.one_hot(chosen, count):sum(1):to('float32') * mask):sum(0)
    likely = likely + (probabilities:to('float32') * mask):sum(0)
    rows = rows + mask:sum()
  end
  return (used / rows * (likely / rows)):sum() * count
end

---A layer of experts behind the linear layer `gate`.
---@class text.SparseMoeBlock: nn.Module
local SparseMoeBlock = nn.Module:extend 'SparseMoeBlock'

---@param options {width: integer, count: integer, k: integer, sums_to_one: boolean, make: fun(): nn.Module}
function SparseMoeBlock:init(options)
  self.k, self.sums_to_one = options.k, options.sums_to_one
  self.gate = nn.Linear(options.width, options.count, {bias = false})
  self.experts = nn.ModuleList()
  for _ = 1, options.count do self.experts:append(options.make()) end
end

function SparseMoeBlock:forward(x)
  local n, tokens, width = unpack(x.shape)
  local flat = x:reshape(-1, width)
  self.router_logits = self.gate(flat)
  local weights, chosen = experts.route(self.router_logits, self.k, self.sums_to_one)
  local out = experts.mixture(flat, self.experts, weights, chosen)
  if self.shared_expert then
    out = out + self.shared_expert_gate(flat):sigmoid() * self.shared_expert(flat)
  end
  return out:view(n, tokens, width)
end

experts.SparseMoeBlock = SparseMoeBlock

---The balance loss of a config, for llama.family.
---@param layers torch.Tensor[]
---@param config table
---@param padding torch.Tensor|nil
---@return torch.Tensor
function experts.aux_loss(layers, config, padding) return experts.balance(layers, config.num_experts_per_tok, padding) end

return experts
