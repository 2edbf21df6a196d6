-- torch/nn/attention.lua: MultiheadAttention.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'
local init = require 'torch.nn.init'
local Linear = require('torch.nn.linear').Linear
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local torch = require 'torch'

---Attention with several heads (Vaswani et al. 2017); the names in state_dict are PyTorch's. Arguments: embed_dim,
---num_heads, {dropout = 0, bias = true, batch_first = false, device, dtype}.
---
---```lua
---local torch = require 'torch'
---local attention = torch.nn.MultiheadAttention(8, 2, {batch_first = true})
---local x = torch.randn(4, 5, 8)
---local y, weights = attention(x, x, x)
---assert(y.shape[3] == 8 and weights.shape[2] == 5)
---```
---@class nn.MultiheadAttention: nn.Module
---@overload fun(embed_dim: integer, num_heads: integer, options?: table): nn.MultiheadAttention
local MultiheadAttention = Module:extend('MultiheadAttention')

local signature = args.signature('MultiheadAttention', {'embed_dim', 'num_heads', {'dropout', 0}, {'bias', true},
  {'batch_first', false}, {'device'}, {'dtype'}})

function MultiheadAttention:init(...)
  local a = signature:bind(...)
  if a.embed_dim % a.num_heads ~= 0 then
    errors.raise('argument', ('MultiheadAttention: num_heads = %d must divide embed_dim = %d'):format(a.num_heads,
      a.embed_dim))
  end
  local like = {dtype = a.dtype, device = a.device}
  self.embed_dim, self.num_heads, self.dropout, self.batch_first = a.embed_dim, a.num_heads, a.dropout, a.batch_first
  self.head_dim = a.embed_dim / a.num_heads
  self.in_proj_weight = Parameter(torch.empty({3 * a.embed_dim, a.embed_dim}, like))
  self:register_parameter('in_proj_bias', a.bias and Parameter(torch.empty({3 * a.embed_dim}, like)) or nil)
  self.out_proj = Linear(a.embed_dim, a.embed_dim, {bias = a.bias, device = a.device, dtype = a.dtype})
  init.xavier_uniform_(self.in_proj_weight)
  if a.bias then
    init.zeros_(self.in_proj_bias)
    init.zeros_(self.out_proj.bias)
  end
end

-- (N, L, E) → (N, heads, L, E / heads)
local function split_heads(self, x)
  return x:view{x.shape[1], x.shape[2], self.num_heads, self.head_dim}:transpose(1, 2)
end

local function project(self, query, key, value)
  local dim = self.embed_dim
  local function part(x, index)
    local bias = self.in_proj_bias
    return torch.linear(x, self.in_proj_weight:narrow(0, index * dim, dim), bias and bias:narrow(0, index * dim, dim))
  end
  return part(query, 0), part(key, 1), part(value, 2)
end

-- A mask to add to the scores: boolean masks hold true where attention is not allowed.
local function additive(mask, like)
  if mask.dtype ~= 'bool' then return mask end
  return torch.zeros_like(mask, {dtype = like.dtype}):masked_fill(mask, -math.huge)
end

local function joined_mask(self, options, q)
  local mask = options.attn_mask and additive(options.attn_mask, q)
  if mask and mask:dim() == 3 then mask = mask:view{-1, self.num_heads, mask.shape[2], mask.shape[3]} end
  local padding = options.key_padding_mask
  if not padding then return mask end
  padding = additive(padding, q):unsqueeze(1):unsqueeze(1)
  return mask and mask + padding or padding
end

local function attend(self, q, k, v, mask, need_weights)
  local p = self.training and self.dropout or 0
  if not need_weights then
    return torch.scaled_dot_product_attention(q, k, v, mask, p)
  end
  local scores = torch.matmul(q * (1 / math.sqrt(self.head_dim)), k:transpose(-2, -1))
  if mask then scores = scores + mask end
  local weights = torch.softmax(scores, -1)
  local dropped = p > 0 and torch.dropout(weights, p, true) or weights
  return torch.matmul(dropped, v), weights
end

local OPTIONS = {'key_padding_mask', 'need_weights', 'attn_mask', 'average_attn_weights'}

---L and S are the lengths of query and key, N the batch, E embed_dim; with batch_first N is the first dimension. In masks
---true means that a place must not be looked at, a float is added to its score.
---@param query torch.Tensor (L, N, E)
---@param key torch.Tensor (S, N, E)
---@param value torch.Tensor (S, N, E)
---@param options? table key_padding_mask (N, S), attn_mask (L, S) or (N · heads, L, S), need_weights = true,
---  average_attn_weights = true
---@return torch.Tensor output
---@return torch.Tensor|nil weights (N, L, S), or (N, heads, L, S) when they are not averaged
function MultiheadAttention:forward(query, key, value, options)
  options = args.options(options, OPTIONS, 'MultiheadAttention')
  if query:dim() ~= 3 then
    errors.raise('argument', ('MultiheadAttention: expected 3 dimensions, got %d'):format(query:dim()))
  end
  if not self.batch_first then
    query, key, value = query:transpose(0, 1), key:transpose(0, 1), value:transpose(0, 1)
  end
  local q, k, v = project(self, query, key, value)
  q, k, v = split_heads(self, q), split_heads(self, k), split_heads(self, v)
  local need_weights = options.need_weights ~= false
  local out, weights = attend(self, q, k, v, joined_mask(self, options, q), need_weights)
  out = self.out_proj(out:transpose(1, 2):reshape{query.shape[1], query.shape[2], self.embed_dim})
  if not self.batch_first then out = out:transpose(0, 1) end
  if weights and options.average_attn_weights ~= false then weights = weights:mean(1) end
  return out, weights
end

return {MultiheadAttention = MultiheadAttention}
