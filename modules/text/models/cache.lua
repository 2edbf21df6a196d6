-- text/models/cache.lua: the keys and values of earlier tokens, of each layer.

local class = require 'base.class'
local torch = require 'torch'

---The keys and values of earlier tokens. It grows with them, as transformers' DynamicCache, until `place` is set: then it
---is a StaticCache, whose tensors keep their sizes.
---@class text.Cache
---@field length integer tokens that all layers have seen
---@field capacity integer|nil tokens for which there is memory from the beginning
---@field place torch.Tensor|nil int64 (1): where the keys and values of the next token go; all of the memory is returned
local Cache = class 'Cache'

---@param capacity? integer
function Cache:init(capacity)
  self.length, self.capacity, self.place = 0, capacity, nil
  self.layers = {}
  self.of_encoder = {} -- keys and values of what an encoder has read, by layer
end

-- Returns memory for at least that many tokens, with what it had. Where all of it will be read the rest is zeros, since
-- 0 · NaN is NaN.
local function grown(self, tensor, like, used, wanted)
  local n, heads, _, width = unpack(like.shape)
  local make = self.capacity and torch.zeros or torch.empty
  local out = make({n, heads, math.max(wanted, 2 * used), width}, {dtype = like.dtype, device = like.device})
  if tensor then out:narrow(2, 0, used):copy_(tensor:narrow(2, 0, used)) end
  return out
end

-- Adds one token at the place.
local function put(self, kept, key, value)
  kept.key:index_copy_(2, self.place, key)
  kept.value:index_copy_(2, self.place, value)
  return kept.key, kept.value
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
  if self.place then return put(self, kept, key, value) end
  local tokens = key.shape[3]
  local total = kept.used + tokens
  if not kept.key or total > kept.key.shape[3] then
    local wanted = math.max(total, self.capacity or 0)
    kept.key = grown(self, kept.key, key, kept.used, wanted)
    kept.value = grown(self, kept.value, value, kept.used, wanted)
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

return Cache
