-- torch/nn/functional/attention.lua: multi-head attention on sequences (L, N, E).

local errors = require 'base.errors'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local attention = {}

local function check(condition, message, ...)
  if not condition then errors.raise('argument', 'multi_head_attention_forward: ' .. message:format(...)) end
end

local function check_shapes(p)
  if not p.use_separate_proj_weight then
    checks.tensor('multi_head_attention_forward: in_proj_weight', p.in_proj_weight)
  end
  for _, name in ipairs{'query', 'key', 'value'} do checks.tensor('multi_head_attention_forward: ' .. name, p[name]) end
  local dims = p.query:dim()
  check(dims == 2 or dims == 3, 'query has 2 dimensions, or 3 with a batch; got %d', dims)
  check(p.key:dim() == dims and p.value:dim() == dims, 'query, key and value have as many dimensions')
  check(p.key_padding_mask == nil or p.key_padding_mask:dim() == dims - 1, 'key_padding_mask has %d dimensions', dims - 1)
  check(p.attn_mask == nil or p.attn_mask:dim() == 2 or p.attn_mask:dim() == 3, 'attn_mask has 2 or 3 dimensions')
  check(p.query:size(-1) == p.embed_dim_to_check, 'expected an embedding of %d, got %d', p.embed_dim_to_check,
    p.query:size(-1))
  check(p.embed_dim_to_check % p.num_heads == 0, 'num_heads = %d must divide embed_dim = %d', p.num_heads,
    p.embed_dim_to_check)
  check(not p.is_causal or p.attn_mask ~= nil,
    'is_causal is a hint about attn_mask: give it too (Transformer:generate_square_subsequent_mask)')
end

-- Returns a mask to add to the scores: boolean masks are true where attention is not allowed.
local function additive(mask, name, dtype)
  if mask == nil then return nil end
  check(mask.dtype == 'bool' or mask:is_floating_point(), '%s is boolean or floating-point, not %s', name, mask.dtype)
  if mask.dtype ~= 'bool' then return mask end
  return torch.zeros_like(mask, {dtype = dtype}):masked_fill(mask, -math.huge)
end

local function project(p, query, key, value)
  local dim, bias = p.embed_dim_to_check, p.in_proj_bias
  if query == key and key == value and not p.use_separate_proj_weight then
    local all = torch.linear(query, p.in_proj_weight, bias)
    return all:narrow(-1, 0, dim), all:narrow(-1, dim, dim), all:narrow(-1, 2 * dim, dim)
  end
  local weights = {p.q_proj_weight, p.k_proj_weight, p.v_proj_weight}
  local function part(x, index)
    local weight = p.use_separate_proj_weight and weights[index + 1] or p.in_proj_weight:narrow(0, index * dim, dim)
    return torch.linear(x, weight, bias and bias:narrow(0, index * dim, dim))
  end
  return part(query, 0), part(key, 1), part(value, 2)
end

-- Reshapes (S, N, E) → (N · heads, S, E / heads).
local function split_heads(x, p, batch)
  return x:contiguous():view{x:size(0), batch * p.num_heads, -1}:transpose(0, 1)
end

-- Appends one position to keys and values along `dim`; no mask hides it.
local function extend(state, dim, key, value)
  state.k, state.v = torch.cat({state.k, key}, dim), torch.cat({state.v, value}, dim)
  if state.mask then state.mask = torch.pad(state.mask, {0, 1}) end
  if state.padding then state.padding = torch.pad(state.padding, {0, 1}) end
end

local function add_places(p, state, batch)
  if p.bias_k ~= nil and p.bias_v ~= nil then
    check(p.static_k == nil and p.static_v == nil, 'a bias cannot be added to static keys or values')
    extend(state, 0, p.bias_k:repeat_(1, batch, 1), p.bias_v:repeat_(1, batch, 1))
  end
  state.q = split_heads(state.q, p, batch)
  state.k = p.static_k or split_heads(state.k, p, batch)
  state.v = p.static_v or split_heads(state.v, p, batch)
  if not p.add_zero_attn then return end
  local zeros = state.k:new_zeros{batch * p.num_heads, 1, state.k:size(2)}
  extend(state, 1, zeros, zeros)
end

-- Returns one mask (1 or N · heads, L, S) for attention and padding, or nil.
local function joined_mask(p, state, batch)
  local mask = state.mask
  if mask and mask:dim() == 2 then mask = mask:unsqueeze(0) end
  if state.padding == nil then return mask end
  local length = state.k:size(1)
  local padding = state.padding:view{batch, 1, 1, length}:expand{-1, p.num_heads, -1, -1}
    :reshape{batch * p.num_heads, 1, length}
  return mask and mask + padding or padding
end

local function attend_with_weights(p, state, mask, dropout)
  local q = state.q * math.sqrt(1 / state.q:size(2))
  local keys = state.k:transpose(-2, -1)
  local weights = (mask and torch.baddbmm(mask, q, keys) or torch.bmm(q, keys)):softmax(-1)
  if dropout > 0 then weights = torch.dropout(weights, dropout, true) end
  return torch.bmm(weights, state.v), weights
end

local function attend(p, state, mask, batch, dropout)
  local function heads(x) return x:view{batch, p.num_heads, x:size(1), x:size(2)} end
  if mask then
    mask = mask:size(0) == 1 and mask:unsqueeze(0) or mask:view{batch, p.num_heads, -1, state.k:size(1)}
  end
  local out = torch.scaled_dot_product_attention(heads(state.q), heads(state.k), heads(state.v), mask, dropout,
    state.is_causal)
  return out:reshape{batch * p.num_heads, state.q:size(1), -1}
end

-- Reshapes (N · heads, L, E / heads) → (L, N, E).
local function join_heads(out, p, batch)
  local length = out:size(1)
  local flat = out:transpose(0, 1):reshape{length * batch, p.embed_dim_to_check}
  return torch.linear(flat, p.out_proj_weight, p.out_proj_bias):view{length, batch, -1}
end

local function check_mask(p, mask, batch, length, places)
  if mask == nil then return end
  local wanted = mask:dim() == 2 and {length, places} or {batch * p.num_heads, length, places}
  local text = ('torch.Size([%s])'):format(table.concat(wanted, ', '))
  check(tostring(mask.shape) == text, 'attn_mask is %s, expected %s', tostring(mask.shape), text)
end

-- Returns a single result for a tensor that is passed several times, so that the projections recognize it.
local function unsqueezed(query, key, value)
  local q = query:unsqueeze(1)
  local k = key == query and q or key:unsqueeze(1)
  return q, k, value == key and k or value:unsqueeze(1)
end

---multi_head_attention_forward with its arguments in one table, all of them set. nn.MultiheadAttention calls it.
---@param p table
---@return torch.Tensor output
---@return torch.Tensor|nil weights
function attention._run(p)
  check_shapes(p)
  local alone = p.query:dim() == 2
  local query, key, value, padding = p.query, p.key, p.value, p.key_padding_mask
  if alone then
    query, key, value = unsqueezed(query, key, value)
    padding = padding and padding:unsqueeze(0)
  end
  local batch = query:size(1)
  local state = {is_causal = p.is_causal and padding == nil and not p.need_weights}
  check_mask(p, p.attn_mask, batch, query:size(0), key:size(0))
  state.padding = additive(padding, 'key_padding_mask', query.dtype)
  if not state.is_causal then state.mask = additive(p.attn_mask, 'attn_mask', query.dtype) end
  state.q, state.k, state.v = project(p, query, key, value)
  add_places(p, state, batch)
  local mask, dropout = joined_mask(p, state, batch), p.training and p.dropout_p or 0
  if not p.need_weights then
    local out = join_heads(attend(p, state, mask, batch, dropout), p, batch)
    return alone and out:squeeze(1) or out
  end
  local out, weights = attend_with_weights(p, state, mask, dropout)
  out = join_heads(out, p, batch)
  weights = weights:view{batch, p.num_heads, query:size(0), -1}
  if p.average_attn_weights then weights = weights:mean(1) end
  if alone then return out:squeeze(1), weights:squeeze(0) end
  return out, weights
end

---Computes nn.MultiheadAttention with its parameters as arguments: query (L, N, E), key, value (S, N, E) or without
---N, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p,
---out_proj_weight, out_proj_bias, {training = true, key_padding_mask (N, S), need_weights = true, attn_mask (L, S) or (N ·
---heads, L, S), use_separate_proj_weight = false, q_proj_weight, k_proj_weight, v_proj_weight, static_k, static_v,
---average_attn_weights = true, is_causal = false}. A mask value of true excludes a position; a float is
---added to its score. Returns output (L, N, E) and, unless need_weights is false, weights (N, L, S).
checks.definer(attention)('multi_head_attention_forward', {'query', 'key', 'value', 'embed_dim_to_check', 'num_heads',
  {'in_proj_weight'}, {'in_proj_bias'}, {'bias_k'}, {'bias_v'}, {'add_zero_attn', false}, {'dropout_p', 0},
  {'out_proj_weight'}, {'out_proj_bias'}, {'training', true}, {'key_padding_mask'}, {'need_weights', true}, {'attn_mask'},
  {'use_separate_proj_weight', false}, {'q_proj_weight'}, {'k_proj_weight'}, {'v_proj_weight'}, {'static_k'}, {'static_v'},
  {'average_attn_weights', true}, {'is_causal', false}}, attention._run)

return attention
