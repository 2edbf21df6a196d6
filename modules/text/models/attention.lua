-- text/models/attention.lua: which keys a query sees, and attention over heads.

local torch = require 'torch'
local varlen = require 'torch.nn.attention.varlen'
local F = torch.nn.functional

local attention = {}

---Which keys each query sees.
---@class text.AttentionMask
---@field is_causal boolean each query sees itself and earlier keys, and there is nothing else to say
---@field allowed torch.Tensor|nil bool, (n or 1, 1, queries, keys)
---@field documents integer[][]|nil lengths of the documents in each row: tokens see those of their document up to themselves
---@field ends torch.Tensor|nil where the documents begin, once a layer has asked
---@field seen torch.Tensor|nil bool, (n or 1, 1, tokens, tokens), once a layer has asked

-- Whether tokens are of the same document, (rows, tokens, tokens).
local function same_document(documents, device)
  local numbers = {}
  for row, lengths in ipairs(documents) do
    local counts = torch.tensor(lengths, {dtype = 'int64'})
    numbers[row] = torch.arange(#lengths):repeat_interleave(counts)
  end
  local of = torch.stack(numbers):to(device)
  return of:unsqueeze(2):eq(of:unsqueeze(1))
end

local function longest(documents)
  local out = 0
  for _, lengths in ipairs(documents) do
    for _, length in ipairs(lengths) do out = math.max(out, length) end
  end
  return out
end

-- Where the documents of all rows begin, and where the last one ends, int32.
local function ends_of(documents, device)
  local ends = {0}
  for _, lengths in ipairs(documents) do
    for _, length in ipairs(lengths) do ends[#ends + 1] = ends[#ends] + length end
  end
  return torch.tensor(ends, {dtype = 'int32'}):to(device)
end

---Returns the mask of queries that stand at the end of the keys.
---@param options table queries, keys: their numbers; causal; is_cross: the keys are those of another text; window: how
---  many keys up to its own a query sees; padding: (n, keys), 0 where there is no token; device;
---  documents: lengths of the documents in each row; place: int64 (1), where the one query stands instead: keys behind it
---  are not seen
---@return text.AttentionMask
function attention.mask(options)
  local queries, keys, window, padding = options.queries, options.keys, options.window, options.padding
  local documents = options.documents
  if window and window >= (documents and longest(documents) or keys) then window = nil end
  if documents and not window then return {is_causal = false, documents = documents} end
  if not padding and not window and not options.place then
    if not options.causal or queries == 1 then return {is_causal = false} end
    if queries == keys then return {is_causal = true} end
  end
  local at_key = torch.arange(keys, {device = options.device}):unsqueeze(0)
  local at_query = (options.place or torch.arange(keys - queries, keys, {device = options.device})):unsqueeze(1)
  local allowed = options.causal and at_key:le(at_query)
    or torch.ones({queries, keys}, {dtype = 'bool', device = options.device})
  if window then allowed = allowed:logical_and(at_key:gt(at_query - window)) end
  allowed = allowed:view(1, 1, queries, keys)
  if documents then allowed = allowed:logical_and(same_document(documents, options.device):unsqueeze(1)) end
  if padding then
    allowed = allowed:logical_and(padding:to('bool'):view(-1, 1, 1, keys))
    -- A query of padding sees itself: with no key at all it would be NaN.
    if not options.is_cross then allowed = allowed:logical_or(at_key:eq(at_query)) end
  end
  return {is_causal = false, allowed = allowed}
end

---Splits the last dimension of x, (n, tokens, heads · width), into heads: (n, heads, tokens, width).
---@param x torch.Tensor
---@param width integer of a head
---@return torch.Tensor
function attention.heads_of(x, width) return x:unflatten(-1, {-1, width}):transpose(1, 2) end

-- Puts the heads of (n, heads, tokens, width) next to each other: (n, tokens, heads · width).
local function joined(y) return y:transpose(1, 2):flatten(2) end

-- Attention within each document: what crosses documents is not computed.
local function attend_documents(query, key, value, mask, options)
  local function packed(x) return x:transpose(1, 2):flatten(0, 1) end
  local ends = mask.ends or ends_of(mask.documents, query.device)
  mask.ends = ends
  local most = longest(mask.documents)
  local y = varlen.varlen_attn(packed(query), packed(key), packed(value), ends, ends, most, most,
    {window_size = {-1, 0}, dropout_p = options.dropout, scale = options.scale})
  return y:flatten(1):unflatten(0, {query.shape[1], query.shape[3]})
end

-- Which keys each query sees, for scores of the shape (n, heads, queries, keys); nil for all. Made once for all
-- layers that share the mask.
local function seen_of(mask, scores)
  if mask.allowed or not (mask.is_causal or mask.documents) then return mask.allowed end
  if not mask.seen then
    mask.seen = torch.ones({scores.shape[3], scores.shape[4]}, {dtype = 'bool', device = scores.device}):tril()
    if mask.documents then
      mask.seen = mask.seen:logical_and(same_document(mask.documents, scores.device):unsqueeze(1))
    end
  end
  return mask.seen
end

---Returns softmax(query · keyᵀ · scale) · value, (n, queries, heads · width). There may be fewer heads of keys and values.
---@param query torch.Tensor (n, heads, queries, width)
---@param key torch.Tensor (n, key heads, keys, width)
---@param value torch.Tensor (n, key heads, keys, width)
---@param mask text.AttentionMask
---@param options {scale: number|nil, dropout: number|nil, softcap: number|nil, bias: torch.Tensor|nil}
---  softcap: scores are between -softcap and softcap; bias: added to the scores
---@return torch.Tensor
function attention.attend(query, key, value, mask, options)
  local groups = query.shape[2] / key.shape[2]
  if not options.softcap and not options.bias then
    if mask.documents then return attend_documents(query, key, value, mask, options) end
    return joined(F.scaled_dot_product_attention(query, key, value, {
      attn_mask = mask.allowed, dropout_p = options.dropout or 0, is_causal = mask.is_causal, scale = options.scale,
      enable_gqa = groups > 1,
    }))
  end
  if groups > 1 then key, value = key:repeat_interleave(groups, 1), value:repeat_interleave(groups, 1) end
  local scores = query:matmul(key:transpose(-1, -2)) * (options.scale or query.shape[4] ^ -0.5)
  if options.softcap then scores = (scores / options.softcap):tanh() * options.softcap end
  if options.bias then scores = scores + options.bias end
  local allowed = seen_of(mask, scores)
  if allowed then scores = scores:masked_fill(allowed:logical_not(), -math.huge) end
  local weights = F.softmax(scores, {dim = -1, dtype = 'float32'}):to(query.dtype)
  if (options.dropout or 0) > 0 then weights = F.dropout(weights, {p = options.dropout}) end
  return joined(weights:matmul(value))
end

return attention
