-- text/models/inputs.lua: what the models of a call get apart from ids: positions, padding, keys and values.

local errors = require 'base.errors'
local torch = require 'torch'

local inputs = {}

---What attention.mask needs, and more.
---@class text.Places
---@field queries integer tokens of this call
---@field keys integer with those before
---@field positions torch.Tensor int64, (n or 1, tokens)
---@field cache text.Cache|nil
---@field documents integer[][]|nil lengths of the documents in each row, where position_ids begin again
---@field place torch.Tensor|nil of a cache whose tensors keep their sizes

-- Lengths of the documents in each row, of positions that begin again; nil where every row is one document.
local function documents_of(positions)
  local begins = positions:diff():ne(1)
  if not begins:any():item() then return nil end
  local out, tokens = {}, positions.shape[2]
  for row = 1, positions.shape[1] do
    local lengths, from = {}, 0
    for _, at in ipairs(begins[row - 1]:nonzero():flatten():tolist()) do
      lengths[#lengths + 1], from = at + 1 - from, at + 1
    end
    lengths[#lengths + 1] = tokens - from
    out[row] = lengths
  end
  return out
end

-- What there is for one token behind a cache whose tensors keep their sizes: nothing here reads a number of a tensor.
local function fixed_places(input_ids, given, cache)
  return {queries = 1, keys = cache.capacity, positions = given.position_ids or cache.place:unsqueeze(0), cache = cache,
          place = cache.place, padding = given.attention_mask, causal = true, device = tostring(input_ids.device)}
end

---@param input_ids torch.Tensor int64, (n, tokens)
---@param given table {attention_mask, position_ids, past_key_values}
---@param options {context: integer|nil, causal: boolean|nil} context: most tokens
---@return text.Places
function inputs.places(input_ids, given, options)
  if input_ids:dim() ~= 2 then
    errors.raise('argument', ('expected ids of the shape {n, tokens}, got {%s}'):format(table.concat(input_ids.shape, ', ')))
  end
  local cache = given.past_key_values
  if cache and cache.place then return fixed_places(input_ids, given, cache) end
  local queries = input_ids.shape[2]
  local keys = queries + (cache and cache.length or 0)
  if options.context and keys > options.context then
    errors.raise('argument', ('there are %d tokens, and the model takes %d'):format(keys, options.context))
  end
  local positions = given.position_ids or torch.arange(keys - queries, keys, {device = input_ids.device}):unsqueeze(0)
  local padding = given.attention_mask
  if padding and padding.shape[2] ~= keys then
    errors.raise('argument', ('attention_mask has %d columns for %d tokens'):format(padding.shape[2], keys))
  end
  if padding and padding:ne(0):all():item() then padding = nil end
  local documents = nil
  if given.position_ids and options.causal ~= false and not given.attention_mask and not cache then
    documents = documents_of(given.position_ids)
  end
  return {queries = queries, keys = keys, documents = documents, positions = positions, cache = cache, padding = padding,
          causal = options.causal ~= false, device = tostring(input_ids.device)}
end

---Calls a layer. While the model trains with gradient_checkpointing, its inner values are computed again in backward.
---@param model nn.Module
---@param layer nn.Module
---@param ... any
---@return any
function inputs.checkpointed(model, layer, ...)
  if not model.gradient_checkpointing or not model.training then return layer(...) end
  local given, count = {...}, select('#', ...)
  given[count + 1] = {}  -- options: a table of the layer's own stands before them
  return require('torch.utils.checkpoint').checkpoint(layer, unpack(given, 1, count + 1))
end

return inputs
