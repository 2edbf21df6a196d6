-- text/models/t5.lua: T5 (Raffel et al. 2019): an encoder, and a decoder that reads it.

local activation = require 'text.models.activation'
local attention = require 'text.models.attention'
local generate = require 'text.generation.generate'
local heads = require 'text.models.heads'
local inputs = require 'text.models.inputs'
local nn = require 'torch.nn'
local pretrained = require 'text.models.pretrained'
local torch = require 'torch'

local DEFAULTS = {
  vocab_size = 32128, d_model = 512, d_kv = 64, d_ff = 2048, num_layers = 6, num_heads = 8,
  relative_attention_num_buckets = 32, relative_attention_max_distance = 128, dropout_rate = 0.1, layer_norm_epsilon = 1e-6,
  initializer_factor = 1, feed_forward_proj = 'relu', pad_token_id = 0, eos_token_id = 1, tie_word_embeddings = true,
  decoder_start_token_id = function(config) return config.pad_token_id end,
  num_decoder_layers = function(config) return config.num_layers end,
  scale_decoder_outputs = function(config) return config.tie_word_embeddings end,
}

local function norm_of(config) return nn.RMSNorm(config.d_model, {eps = config.layer_norm_epsilon}) end

-- The number of a distance's bias: small distances have their own, large ones share some.
local function bucket_of(distance, is_both_ways, buckets, longest)
  local first = torch.zeros_like(distance)
  if is_both_ways then
    buckets = buckets / 2
    first = distance:gt(0):to('int64') * buckets
    distance = distance:abs()
  else
    distance = -distance:clamp({max = 0})
  end
  local exact = math.floor(buckets / 2)
  local large = exact + ((distance:to('float32') / exact):log() / math.log(longest / exact) * (buckets - exact)):to('int64')
  return first + torch.where(distance:lt(exact), distance, large:clamp({max = buckets - 1}))
end

local Attention = nn.Module:extend 'T5Attention'

function Attention:init(config, options)
  local width = config.num_heads * config.d_kv
  self.layer, self.width, self.dropout = options.layer, config.d_kv, config.dropout_rate
  self.is_causal, self.is_cross = options.is_causal or false, options.is_cross or false
  self.q, self.k = nn.Linear(config.d_model, width, {bias = false}), nn.Linear(config.d_model, width, {bias = false})
  self.v, self.o = nn.Linear(config.d_model, width, {bias = false}), nn.Linear(width, config.d_model, {bias = false})
  self.buckets, self.longest = config.relative_attention_num_buckets, config.relative_attention_max_distance
  if options.has_bias then self.relative_attention_bias = nn.Embedding(self.buckets, config.num_heads) end
end

---Returns the biases of distances, (1, heads, queries, keys).
function Attention:_bias(queries, keys)
  local device = self.q.weight.device
  local distance = torch.arange(keys, {device = device}):unsqueeze(0)
    - torch.arange(keys - queries, keys, {device = device}):unsqueeze(1)
  local buckets = bucket_of(distance, not self.is_causal, self.buckets, self.longest)
  return self.relative_attention_bias(buckets):permute(2, 0, 1):unsqueeze(0)
end

-- Keys and values: of the text itself, with those of earlier tokens, or once of the encoder's.
function Attention:_keys_of(x, source, cache)
  local width, heads_of = self.width, attention.heads_of
  if not self.is_cross then
    local key, value = heads_of(self.k(x), width), heads_of(self.v(x), width)
    if cache then return cache:update(self.layer, key, value) end
    return key, value
  end
  local known = cache and cache.of_encoder[self.layer]
  if known then return known[1], known[2] end
  local key, value = heads_of(self.k(source), width), heads_of(self.v(source), width)
  if cache then cache.of_encoder[self.layer] = {key, value} end
  return key, value
end

function Attention:forward(x, source, mask, bias, cache)
  local query = attention.heads_of(self.q(x), self.width)
  local key, value = self:_keys_of(x, source, cache)
  local y = attention.attend(query, key, value, mask, {scale = 1, bias = bias, dropout = self.training and self.dropout or 0})
  return self.o(y)
end

local FeedForward = nn.Module:extend 'T5DenseReluDense'

function FeedForward:init(config)
  local kind = config.feed_forward_proj
  self.is_gated = kind:sub(1, 6) == 'gated-'
  -- 'gated-gelu' has always meant the approximation.
  self.act = activation(kind == 'gated-gelu' and 'gelu_new' or self.is_gated and kind:sub(7) or kind)
  if self.is_gated then
    self.wi_0 = nn.Linear(config.d_model, config.d_ff, {bias = false})
    self.wi_1 = nn.Linear(config.d_model, config.d_ff, {bias = false})
  else
    self.wi = nn.Linear(config.d_model, config.d_ff, {bias = false})
  end
  self.wo = nn.Linear(config.d_ff, config.d_model, {bias = false})
  self.dropout = nn.Dropout(config.dropout_rate)
end

function FeedForward:forward(x)
  local hidden = self.is_gated and self.act(self.wi_0(x)) * self.wi_1(x) or self.act(self.wi(x))
  return self.wo(self.dropout(hidden))
end

-- A part with the norm before it: its field has the name that files have.
local function part_of(config, name, module)
  local part = nn.Module()
  part[name] = module
  part.layer_norm = norm_of(config)
  return part
end

local Block = nn.Module:extend 'T5Block'

function Block:init(config, number, is_decoder)
  self.is_decoder = is_decoder
  self.layer = nn.ModuleList()
  self.layer:append(part_of(config, 'SelfAttention', Attention(config, {
    layer = number, is_causal = is_decoder, has_bias = number == 1,
  })))
  if is_decoder then
    self.layer:append(part_of(config, 'EncDecAttention', Attention(config, {layer = number, is_cross = true})))
  end
  self.layer:append(part_of(config, 'DenseReluDense', FeedForward(config)))
  self.dropout = nn.Dropout(config.dropout_rate)
end

-- bias: of distances; nil for the first block, which makes it for all: in its own forward, where its parameters are whole
-- if the model is sharded.
function Block:forward(x, bias, context)
  local first = self.layer[1]
  if bias == nil then bias = first.SelfAttention:_bias(context.queries, context.keys) end
  x = x + self.dropout(first.SelfAttention(first.layer_norm(x), nil, context.mask, bias, context.cache))
  if self.is_decoder then
    local cross = self.layer[2]
    x = x + self.dropout(cross.EncDecAttention(cross.layer_norm(x), context.source, context.source_mask, nil, context.cache))
  end
  local last = self.layer[#self.layer]
  return x + self.dropout(last.DenseReluDense(last.layer_norm(x))), bias
end

local Stack = nn.Module:extend 'T5Stack'

function Stack:init(config, embeddings, is_decoder)
  self.is_decoder = is_decoder
  self.embed_tokens = embeddings
  self.block = nn.ModuleList()
  for number = 1, is_decoder and config.num_decoder_layers or config.num_layers do
    self.block:append(Block(config, number, is_decoder))
  end
  self.final_layer_norm = norm_of(config)
  self.dropout = nn.Dropout(config.dropout_rate)
end

-- source: {states (n, tokens, d_model), padding} of the encoder, for a decoder.
function Stack:forward(ids, given, source)
  local at = inputs.places(ids, given, {causal = self.is_decoder})
  local x = self.dropout(self.embed_tokens(ids))
  local mask = attention.mask(at)
  local context = {mask = mask, cache = at.cache, queries = at.queries, keys = at.keys}
  if source then
    context.source = source.states
    context.source_mask = attention.mask {
      queries = at.queries, keys = source.states.shape[2], causal = false, is_cross = true, padding = source.padding,
      device = at.device,
    }
  end
  local bias
  for _, block in ipairs(self.block) do x, bias = inputs.checkpointed(self, block, x, bias, context) end
  if at.cache then at.cache.length = at.keys end
  return self.dropout(self.final_layer_norm(x))
end

local OPTIONS = {model_types = {'t5'}, defaults = DEFAULTS, prefix = 'transformer', embedding = 'shared',
                 ignored_names = {'^%.decoder%.block%.0%.layer%.1%.EncDecAttention%.relative_attention_bias'}}

-- The initialization of Mesh TensorFlow.
local function init_weights(self, module)
  local config, factor = self.config, self.config.initializer_factor
  local function normal(layer, std) if layer then nn.init.normal_(layer.weight, 0, std) end end
  torch.no_grad(function()
    local kind = module.__name
    if kind == 'T5Attention' then
      normal(module.q, factor * (config.d_model * config.d_kv) ^ -0.5)
      normal(module.k, factor * config.d_model ^ -0.5)
      normal(module.v, factor * config.d_model ^ -0.5)
      normal(module.o, factor * (config.num_heads * config.d_kv) ^ -0.5)
      normal(module.relative_attention_bias, factor * config.d_model ^ -0.5)
    elseif kind == 'T5DenseReluDense' then
      for _, name in ipairs {'wi', 'wi_0', 'wi_1'} do normal(module[name], factor * config.d_model ^ -0.5) end
      normal(module.wo, factor * config.d_ff ^ -0.5)
    elseif module == self then
      normal(self.shared, factor)
    elseif kind == 'RMSNorm' then
      nn.init.constant_(module.weight, factor)
    end
  end)
end

local function build(self, config)
  self.shared = nn.Embedding(config.vocab_size, config.d_model)
  self.encoder = Stack(config, self.shared, false)
  self.decoder = Stack(config, self.shared, true)
end

local function tie(self)
  self.encoder.embed_tokens.weight, self.decoder.embed_tokens.weight = self.shared.weight, self.shared.weight
  self._tied_names['encoder.embed_tokens.weight'] = 'shared.weight'
  self._tied_names['decoder.embed_tokens.weight'] = 'shared.weight'
end

-- Returns {states, padding} of the encoder: what it was given, or what it makes of the ids.
local function encoded(self, ids, given)
  if given.encoder_outputs then return given.encoder_outputs end
  return {states = self.encoder(ids, {attention_mask = given.attention_mask}), padding = given.attention_mask}
end

local function decoded(self, ids, given, source)
  return self.decoder(ids, {past_key_values = given.past_key_values, attention_mask = given.decoder_attention_mask}, source)
end

---T5 without a head: ids (n, tokens), {decoder_input_ids} → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.T5Model: nn.Module
---@overload fun(config?: table): text.T5Model
local T5Model = pretrained.class('T5Model', OPTIONS)
T5Model._build, T5Model._init_weights, T5Model._tie = build, init_weights, tie

function T5Model:forward(input_ids, given)
  local source = encoded(self, input_ids, given or {})
  return {last_hidden_state = decoded(self, given.decoder_input_ids, given, source), encoder_outputs = source}
end

---T5 that writes a text for a text: ids (n, tokens), {labels} → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.T5ForConditionalGeneration: nn.Module
---@overload fun(config?: table): text.T5ForConditionalGeneration
local T5ForConditionalGeneration = pretrained.class('T5ForConditionalGeneration', OPTIONS)
T5ForConditionalGeneration._init_weights, T5ForConditionalGeneration.generate = init_weights, generate
T5ForConditionalGeneration.is_encoder_decoder = true

function T5ForConditionalGeneration:_build(config)
  build(self, config)
  self.lm_head = nn.Linear(config.d_model, config.vocab_size, {bias = false})
end

function T5ForConditionalGeneration:_tie()
  tie(self)
  if not self.config.tie_word_embeddings then return end
  self.lm_head.weight = self.shared.weight
  self._tied_names['lm_head.weight'] = 'shared.weight'
end

---Returns the logits of the decoder's states.
---@param hidden torch.Tensor (…, d_model)
---@return torch.Tensor
function T5ForConditionalGeneration:head(hidden)
  if self.config.scale_decoder_outputs then hidden = hidden * self.config.d_model ^ -0.5 end
  return self.lm_head(hidden)
end

---Returns what the decoder reads for the labels: the same one place later.
---@param labels torch.Tensor int64, (n, tokens)
---@return torch.Tensor
function T5ForConditionalGeneration:shifted_right(labels)
  local config = self.config
  local first = torch.full({labels.shape[1], 1}, config.decoder_start_token_id, {dtype = 'int64', device = labels.device})
  local rest = labels:narrow(1, 0, labels.shape[2] - 1)
  return torch.cat({first, rest:masked_fill(rest:eq(-100), config.pad_token_id)}, 1)
end

---Returns the encoder's states, for generate.
---@param input_ids torch.Tensor int64, (n, tokens)
---@param given {attention_mask: torch.Tensor|nil}
---@return {states: torch.Tensor, padding: torch.Tensor|nil}
function T5ForConditionalGeneration:encoded(input_ids, given) return encoded(self, input_ids, given) end

---Computes {logits, loss, last_hidden_state, encoder_outputs}.
---@param input_ids torch.Tensor|nil int64, (n, tokens); nil with encoder_outputs
---@param given table attention_mask, labels or decoder_input_ids, encoder_outputs, past_key_values
---@return table
function T5ForConditionalGeneration:forward(input_ids, given)
  given = given or {}
  local source = encoded(self, input_ids, given)
  local ids = given.decoder_input_ids or self:shifted_right(given.labels)
  local out = {last_hidden_state = decoded(self, ids, given, source), encoder_outputs = source}
  if given.past_key_values then return out end
  out.logits = self:head(out.last_hidden_state)
  if given.labels then out.loss = heads.token_loss(out.logits, given.labels) end
  return out
end

return {T5Model = T5Model, T5ForConditionalGeneration = T5ForConditionalGeneration}
