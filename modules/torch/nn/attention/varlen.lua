-- torch/nn/attention/varlen.lua: torch.nn.attention.varlen: attention within sequences of different lengths that are packed
-- one after the other, without padding.

local args = require 'base.args'
local errors = require 'base.errors'
local shown = require 'base.shown'
local torch = require 'torch'

local varlen = {}

local OPTIONS = {'scale', 'window_size', 'dropout_p'}

local function raise(text, ...) errors.raise('argument', 'varlen_attn: ' .. text:format(...)) end

local function check_tensor(name, tensor, dims)
  if not torch.is_tensor(tensor) or tensor:dim() ~= dims then
    raise('%s: expected a tensor of %d dimension%s, got %s', name, dims, dims == 1 and '' or 's', shown(tensor))
  end
end

local function check(query, key, value, ends_q, ends_k)
  check_tensor('query', query, 3)
  check_tensor('key', key, 3)
  check_tensor('value', value, 3)
  check_tensor('cu_seq_q', ends_q, 1)
  check_tensor('cu_seq_k', ends_k, 1)
  if ends_q:numel() ~= ends_k:numel() or ends_q:numel() == 0 then
    raise('cu_seq_q has %d numbers and cu_seq_k %d: both have one more than there are sequences', ends_q:numel(),
      ends_k:numel())
  end
  local heads, key_heads = query:size(1), key:size(1)
  if key_heads ~= value:size(1) or heads % key_heads ~= 0 then
    raise('query has %d heads, key %d and value %d: key and value have as many, which divide those of query', heads, key_heads,
      value:size(1))
  end
end

local FLASH_DTYPES = {float16 = true, bfloat16 = true}

-- Whether FlashAttention's kernel takes the tensors: from compute capability 8.0 on.
local function has_kernel(query)
  if not query.is_cuda or not FLASH_DTYPES[query.dtype] then return false end
  local width = query:size(2)
  local major = torch.cuda.get_device_capability(query.device)
  return width % 8 == 0 and width <= 256 and major >= 8 and torch.backends.cuda.flash_sdp_enabled()
end

local function with_kernel(query, key, value, ends, longest, how)
  return (torch._flash_attention_forward(query, key, value, ends[1], ends[2], longest[1], longest[2], how.dropout_p,
    how.left == -1 and how.right == 0, false, {scale = how.scale, window_size_left = how.left, window_size_right = how.right}))
end

-- Which keys each query of one sequence sees: the last query stands at the last key.
local function seen(queries, keys, how, device)
  if how.left == -1 and how.right == -1 then return nil end
  local at_key = torch.arange(keys, {device = device}):unsqueeze(0)
  local at_query = torch.arange(keys - queries, keys, {device = device}):unsqueeze(1)
  local allowed = torch.ones({queries, keys}, {dtype = 'bool', device = device})
  if how.left >= 0 then allowed = allowed:logical_and(at_key:ge(at_query - how.left)) end
  if how.right >= 0 then allowed = allowed:logical_and(at_key:le(at_query + how.right)) end
  return allowed
end

-- One sequence after the other.
local function one_by_one(query, key, value, ends, how)
  local of_queries, of_keys, parts = ends[1]:tolist(), ends[2]:tolist(), {}
  local function part(x, list, i) return x:narrow(0, list[i], list[i + 1] - list[i]):transpose(0, 1):unsqueeze(0) end
  for i = 1, #of_queries - 1 do
    local q, k = part(query, of_queries, i), part(key, of_keys, i)
    local is_causal = how.left == -1 and how.right == 0 and q:size(2) == k:size(2)
    local options = {
      attn_mask = not is_causal and seen(q:size(2), k:size(2), how, query.device) or nil, is_causal = is_causal,
      dropout_p = how.dropout_p, scale = how.scale, enable_gqa = query:size(1) ~= key:size(1),
    }
    parts[i] = torch.scaled_dot_product_attention(q, k, part(value, of_keys, i), options):squeeze(0):transpose(0, 1)
  end
  return #parts > 0 and torch.cat(parts, 0) or torch.zeros_like(query)
end

---Returns attention within sequences that are packed one after the other, (tokens, heads, width). A GPU computes all of
---them with one kernel in float16 and bfloat16; elsewhere, and in other dtypes, they are computed one by one.
---
---Options: scale (default: 1 / √width); window_size = {-1, -1}: how many keys before and behind its own place a query sees,
----1: all of them; {-1, 0} is causal; dropout_p = 0, which Python's has not.
---@param query torch.Tensor (tokens, heads, width)
---@param key torch.Tensor (keys, key heads, width): the heads divide those of query
---@param value torch.Tensor as key
---@param cu_seq_q torch.Tensor int32, (sequences + 1): where each sequence of query begins, and where the last one ends
---@param cu_seq_k torch.Tensor the same of key
---@param max_q integer the longest sequence of query
---@param max_k integer the longest one of key
---@param options? table
---@return torch.Tensor
---Errors: 'argument' for other shapes. PyTorch equivalent: torch.nn.attention.varlen.varlen_attn.
---
---```lua
---local torch = require 'torch'
---local varlen = torch.nn.attention.varlen
---local x = torch.randn(5, 2, 8)
---local ends = torch.tensor({0, 2, 5}, {dtype = 'int32'})  -- a sequence of two tokens and one of three
---local y = varlen.varlen_attn(x, x, x, ends, ends, 3, 3, {window_size = {-1, 0}})
---assert(torch.allclose(y[2], x[2]))  -- the first token of the second one sees itself alone
---```
function varlen.varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, options)
  options = args.options(options, OPTIONS, 'varlen_attn')
  check(query, key, value, cu_seq_q, cu_seq_k)
  local window = options.window_size or {-1, -1}
  local how = {scale = options.scale, dropout_p = options.dropout_p or 0, left = window[1], right = window[2]}
  local ends = {cu_seq_q, cu_seq_k}
  if has_kernel(query) then return with_kernel(query, key, value, ends, {max_q, max_k}, how) end
  return one_by_one(query, key, value, ends, how)
end

return require 'base.namespace'('torch.nn.attention.varlen', {
  absent = {AuxRequest = 'its log-sum-exp is not returned'},
}, varlen)
