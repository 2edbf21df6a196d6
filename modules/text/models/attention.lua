-- text/models/attention.lua: which keys a query sees, attention over heads, and the keys and values of earlier tokens.

local class = require 'base.class'
local torch = require 'torch'
local F = torch.nn.functional

local attention = {}

---Which keys each query sees.
---@class text.AttentionMask
---@field is_causal boolean each query sees itself and earlier keys, and there is nothing else to say
---@field allowed torch.Tensor|nil bool, (n or 1, 1, queries, keys)
---@field documents integer[][]|nil lengths of the documents in each row: tokens see those of their document up to themselves

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

---Returns the mask of queries that stand at the end of the keys.
---@param options table queries, keys: their numbers; causal; is_cross: the keys are those of another text; window: how
---  many keys up to its own a query sees; padding: (n, keys), 0 where there is no token; device;
---  documents: lengths of the documents in each row
---@return text.AttentionMask
function attention.mask(options)
  local queries, keys, window, padding = options.queries, options.keys, options.window, options.padding
  local documents = options.documents
  if window and window >= (documents and longest(documents) or keys) then window = nil end
  if documents and not window then return {is_causal = false, documents = documents} end
  if not padding and not window and (not options.causal or queries == 1) then return {is_causal = false} end
  if not padding and not window and queries == keys then return {is_causal = true} end
  local at_key = torch.arange(keys, {device = options.device}):unsqueeze(0)
  local at_query = torch.arange(keys - queries, keys, {device = options.device}):unsqueeze(1)
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
local function attend_documents(query, key, value, documents, options)
  local rows = {}
  for row, lengths in ipairs(documents) do
    local parts, at = {}, 0
    for i, length in ipairs(lengths) do
      local function part(x) return x:narrow(0, row - 1, 1):narrow(2, at, length) end
      parts[i] = F.scaled_dot_product_attention(part(query), part(key), part(value), options)
      at = at + length
    end
    rows[row] = torch.cat(parts, 2)
  end
  return torch.cat(rows, 0)
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
    local how = {
      attn_mask = mask.allowed, dropout_p = options.dropout or 0, is_causal = mask.is_causal or mask.documents ~= nil,
      scale = options.scale, enable_gqa = groups > 1,
    }
    if mask.documents then return joined(attend_documents(query, key, value, mask.documents, how)) end
    return joined(F.scaled_dot_product_attention(query, key, value, how))
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

---The keys and values of earlier tokens, of each layer. The equivalent in transformers: DynamicCache.
---@class text.Cache
---@field length integer tokens that all layers have seen
local Cache = class('Cache')

function Cache:init()
  self.length = 0
  self.layers = {}
  self.of_encoder = {} -- keys and values of what an encoder has read, by layer
end

-- Returns memory for at least that many tokens, with what it had.
local function grown(tensor, like, used, wanted)
  local n, heads, _, width = unpack(like.shape)
  local out = torch.empty({n, heads, math.max(wanted, 2 * used), width}, {dtype = like.dtype, device = like.device})
  if tensor then out:narrow(2, 0, used):copy_(tensor:narrow(2, 0, used)) end
  return out
end

---Adds keys and values of a layer.
---@param layer integer
---@param key torch.Tensor (n, heads, tokens, width)
---@param value torch.Tensor (n, heads, tokens, width)
---@return torch.Tensor keys all of that layer
---@return torch.Tensor values
function Cache:update(layer, key, value)
  local kept = self.layers[layer] or {used = 0}
  self.layers[layer] = kept
  local tokens = key.shape[3]
  local total = kept.used + tokens
  if not kept.key or total > kept.key.shape[3] then
    kept.key, kept.value = grown(kept.key, key, kept.used, total), grown(kept.value, value, kept.used, total)
  end
  kept.key:narrow(2, kept.used, tokens):copy_(key)
  kept.value:narrow(2, kept.used, tokens):copy_(value)
  kept.used = total
  return kept.key:narrow(2, 0, total), kept.value:narrow(2, 0, total)
end

---Forgets all but the first tokens.
---@param length integer
function Cache:crop(length)
  self.length = math.min(self.length, length)
  for _, kept in ipairs(self.layers) do kept.used = math.min(kept.used, length) end
end

---Takes rows of the batch in another order: of beams that go on.
---@param rows torch.Tensor int64, (n)
function Cache:reorder(rows)
  for _, kept in ipairs(self.layers) do
    kept.key, kept.value = kept.key:index_select(0, rows), kept.value:index_select(0, rows)
  end
  for _, kept in ipairs(self.of_encoder) do
    kept[1], kept[2] = kept[1]:index_select(0, rows), kept[2]:index_select(0, rows)
  end
end

attention.Cache = Cache

return attention
