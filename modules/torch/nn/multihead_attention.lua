-- torch/nn/multihead_attention.lua: MultiheadAttention.

local args = require 'base.args'
local checks = require 'torch.functions.checks'
local errors = require 'base.errors'
local init = require 'torch.nn.init'
local NonDynamicallyQuantizableLinear = require('torch.nn.linear').NonDynamicallyQuantizableLinear
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local attend = require('torch.nn.functional.attention')._run
local torch = require 'torch'

---Attention with several heads (Vaswani et al. 2017); the names in state_dict are PyTorch's. Arguments: embed_dim,
---num_heads, {dropout = 0, bias = true, add_bias_kv = false, add_zero_attn = false, kdim, vdim (default embed_dim),
---batch_first = false, device, dtype}.
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
  {'add_bias_kv', false}, {'add_zero_attn', false}, {'kdim'}, {'vdim'}, {'batch_first', false}, {'device'}, {'dtype'}})

-- Registers one weight for queries, keys and values of the same size, else three.
local function register_projections(self, a, like)
  local dim = a.embed_dim
  if self._qkv_same_embed_dim then
    self.in_proj_weight = Parameter(torch.empty({3 * dim, dim}, like))
    for _, name in ipairs{'q_proj_weight', 'k_proj_weight', 'v_proj_weight'} do self:register_parameter(name, nil) end
    return
  end
  self.q_proj_weight = Parameter(torch.empty({dim, dim}, like))
  self.k_proj_weight = Parameter(torch.empty({dim, self.kdim}, like))
  self.v_proj_weight = Parameter(torch.empty({dim, self.vdim}, like))
  self:register_parameter('in_proj_weight', nil)
end

function MultiheadAttention:init(...)
  local a = signature:bind(...)
  if a.embed_dim <= 0 or a.num_heads <= 0 or a.embed_dim % a.num_heads ~= 0 then
    errors.raise('argument', ('MultiheadAttention: num_heads = %d must divide embed_dim = %d'):format(a.num_heads,
      a.embed_dim))
  end
  local like = {dtype = a.dtype, device = a.device}
  self.embed_dim, self.num_heads, self.dropout, self.batch_first = a.embed_dim, a.num_heads, a.dropout, a.batch_first
  self.kdim, self.vdim, self.head_dim = a.kdim or a.embed_dim, a.vdim or a.embed_dim, a.embed_dim / a.num_heads
  self.add_zero_attn = a.add_zero_attn
  self._qkv_same_embed_dim = self.kdim == a.embed_dim and self.vdim == a.embed_dim
  register_projections(self, a, like)
  self:register_parameter('in_proj_bias', a.bias and Parameter(torch.empty({3 * a.embed_dim}, like)) or nil)
  self.out_proj = NonDynamicallyQuantizableLinear(a.embed_dim, a.embed_dim, {bias = a.bias, device = a.device,
    dtype = a.dtype})
  if a.add_bias_kv then
    self.bias_k = Parameter(torch.empty({1, 1, a.embed_dim}, like))
    self.bias_v = Parameter(torch.empty({1, 1, a.embed_dim}, like))
  end
  self:_reset_parameters()
end

function MultiheadAttention:_reset_parameters()
  for _, name in ipairs{'in_proj_weight', 'q_proj_weight', 'k_proj_weight', 'v_proj_weight'} do
    if self[name] ~= nil then init.xavier_uniform_(self[name]) end
  end
  if self.in_proj_bias ~= nil then
    init.zeros_(self.in_proj_bias)
    init.zeros_(self.out_proj.bias)
  end
  if self.bias_k ~= nil then
    init.xavier_normal_(self.bias_k)
    init.xavier_normal_(self.bias_v)
  end
end

local forward_signature = args.signature('MultiheadAttention', {'query', 'key', 'value', {'key_padding_mask'},
  {'need_weights', true}, {'attn_mask'}, {'average_attn_weights', true}, {'is_causal', false}})

-- Transposes a tensor only once if it is passed several times, so that the projections recognize it.
local function swapped(query, key, value)
  local q = query:transpose(0, 1)
  local k = key == query and q or key:transpose(0, 1)
  return q, k, value == key and k or value:transpose(0, 1)
end

---L and S are the lengths of query and key, N the batch, E embed_dim; with batch_first N is the first dimension; without a
---batch N is absent. A mask value of true excludes a position; a float is added to its score. Arguments:
---query (L, N, E), key (S, N, kdim), value (S, N, vdim), {key_padding_mask (N, S), need_weights = true, attn_mask (L, S) or
---(N · heads, L, S), average_attn_weights = true, is_causal = false (a hint that attn_mask is causal)}.
---@param ... any
---@return torch.Tensor output
---@return torch.Tensor|nil weights (N, L, S), or (N, heads, L, S) if they are not averaged
function MultiheadAttention:forward(...)
  local a = forward_signature:bind(...)
  local query, key, value = a.query, a.key, a.value
  checks.tensor('MultiheadAttention: query', query)
  local swaps = self.batch_first and query:dim() == 3
  if swaps then query, key, value = swapped(query, key, value) end
  local out, weights = attend{
    query = query, key = key, value = value, embed_dim_to_check = self.embed_dim, num_heads = self.num_heads,
    in_proj_weight = self.in_proj_weight, in_proj_bias = self.in_proj_bias, bias_k = self.bias_k, bias_v = self.bias_v,
    add_zero_attn = self.add_zero_attn, dropout_p = self.dropout, out_proj_weight = self.out_proj.weight,
    out_proj_bias = self.out_proj.bias, training = self.training, key_padding_mask = a.key_padding_mask,
    need_weights = a.need_weights, attn_mask = a.attn_mask, use_separate_proj_weight = not self._qkv_same_embed_dim,
    q_proj_weight = self.q_proj_weight, k_proj_weight = self.k_proj_weight, v_proj_weight = self.v_proj_weight,
    average_attn_weights = a.average_attn_weights, is_causal = a.is_causal}
  return swaps and out:transpose(0, 1) or out, weights
end

return {MultiheadAttention = MultiheadAttention}
