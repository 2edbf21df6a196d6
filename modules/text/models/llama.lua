-- text/models/llama.lua: Llama 2 and 3 (Touvron et al. 2023, Grattafiori et al. 2024), and what later families share with it.

local activation = require 'text.models.activation'
local attention = require 'text.models.attention'
local causal_lm = require 'text.models.causal_lm'
local inputs = require 'text.models.inputs'
local nn = require 'torch.nn'
local pretrained = require 'text.models.pretrained'
local rotary = require 'text.models.rotary'

local llama = {}

local DEFAULTS = {
  vocab_size = 32000, hidden_size = 4096, intermediate_size = 11008, num_hidden_layers = 32, num_attention_heads = 32,
  hidden_act = 'silu', max_position_embeddings = 2048, initializer_range = 0.02, rms_norm_eps = 1e-6,
  tie_word_embeddings = false, attention_bias = false, attention_dropout = 0, mlp_bias = false,
  num_key_value_heads = function(config) return config.num_attention_heads end,
  head_dim = function(config) return config.hidden_size / config.num_attention_heads end,
}

---Attention with rotary embeddings and, if the config says so, fewer heads of keys and values.
---@class text.LlamaAttention: nn.Module
local Attention = nn.Module:extend 'LlamaAttention'

function Attention:init(config, layer, options)
  options = options or {}
  local width, heads, key_heads = config.head_dim, config.num_attention_heads, config.num_key_value_heads
  local bias = options.bias
  if bias == nil then bias = config.attention_bias end
  local output_bias = options.output_bias
  if output_bias == nil then output_bias = bias end
  self.layer, self.width, self.dropout, self.scale = layer, width, config.attention_dropout or 0, width ^ -0.5
  self.q_proj = nn.Linear(config.hidden_size, heads * width, {bias = bias})
  self.k_proj = nn.Linear(config.hidden_size, key_heads * width, {bias = bias})
  self.v_proj = nn.Linear(config.hidden_size, key_heads * width, {bias = bias})
  self.o_proj = nn.Linear(heads * width, config.hidden_size, {bias = output_bias})
end

---Returns queries, keys and values, (n, heads, tokens, width).
function Attention:_projected(x)
  local width, heads_of = self.width, attention.heads_of
  return heads_of(self.q_proj(x), width), heads_of(self.k_proj(x), width), heads_of(self.v_proj(x), width)
end

function Attention:forward(x, tables, mask, cache)
  local query, key, value = self:_projected(x)
  query, key = rotary.apply(query, key, tables)
  if cache then key, value = cache:update(self.layer, key, value) end
  local y = attention.attend(query, key, value, mask, {
    scale = self.scale, softcap = self.softcap, dropout = self.training and self.dropout or 0,
  })
  return self.o_proj(y)
end

---down(act(gate(x)) · up(x)), (n, tokens, hidden_size).
---@class text.LlamaMLP: nn.Module
local MLP = nn.Module:extend 'LlamaMLP'

function MLP:init(config, width)
  width = width or config.intermediate_size
  self.gate_proj = nn.Linear(config.hidden_size, width, {bias = config.mlp_bias or false})
  self.up_proj = nn.Linear(config.hidden_size, width, {bias = config.mlp_bias or false})
  self.down_proj = nn.Linear(width, config.hidden_size, {bias = config.mlp_bias or false})
  self.act = activation(config.hidden_act)
end

function MLP:forward(x) return self.down_proj(self.act(self.gate_proj(x)):mul(self.up_proj(x))) end

---@class text.LlamaDecoderLayer: nn.Module
local DecoderLayer = nn.Module:extend 'LlamaDecoderLayer'

function DecoderLayer:init(config, layer, parts)
  self.self_attn = parts.attention(config, layer)
  self.mlp = parts.mlp(config, layer)
  self.input_layernorm = nn.RMSNorm(config.hidden_size, {eps = config.rms_norm_eps})
  self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, {eps = config.rms_norm_eps})
end

function DecoderLayer:forward(x, tables, mask, cache)
  x = x + self.self_attn(self.input_layernorm(x), tables, mask, cache)
  return x + self:_feed_forward()(self.post_attention_layernorm(x))
end

---The part behind the attention.
function DecoderLayer:_feed_forward() return self.mlp end

---The kind of each layer: 'full_attention' or 'sliding_attention'.
---@param config table
---@return string[]
function llama.layer_types(config)
  if config.layer_types then return config.layer_types end
  local out = {}
  for layer = 1, config.num_hidden_layers do
    out[layer] = config.sliding_window and config.use_sliding_window ~= false
      and layer > (config.max_window_layers or 0) and 'sliding_attention' or 'full_attention'
  end
  return out
end

---Makes the classes of a family: its model, and that with a head for the next token.
---@param name string 'Llama'
---@param options table model_types, defaults, ignored_names: as of pretrained.class; attention, mlp, layer (config,
---  number): make a part of a layer, or all of it; norm(config): makes the last norm; embed(model, ids); base_name: of the
---  first class; aux_loss(logits of the layers, config, padding)
---@return table Model
---@return table ForCausalLM
function llama.family(name, options)
  local parts = {attention = options.attention or Attention, mlp = options.mlp or function(config) return MLP(config) end}
  local layer_of = options.layer or function(config, layer) return DecoderLayer(config, layer, parts) end
  local norm_of = options.norm or function(config) return nn.RMSNorm(config.hidden_size, {eps = config.rms_norm_eps}) end
  local common = {model_types = options.model_types, defaults = options.defaults, prefix = 'model', embedding = 'embed_tokens',
                  ignored_names = options.ignored_names}
  local Model = pretrained.class(options.base_name or name .. 'Model', common)

  function Model:_build(config)
    self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size, {padding_idx = config.pad_token_id})
    self.layers = nn.ModuleList()
    for layer = 1, config.num_hidden_layers do self.layers:append(layer_of(config, layer)) end
    self.norm = norm_of(config)
    self.layer_types = llama.layer_types(config)
    self.ropes = {}
    for _, kind in ipairs(self.layer_types) do
      self.ropes[kind] = self.ropes[kind] or rotary.parameters(config, kind)
    end
  end

  if options.embed then Model.embed = options.embed else
    function Model:embed(ids) return self.embed_tokens(ids) end
  end

  -- Masks and rotary tables of each kind of layer.
  local function kinds_of(self, at, dtype)
    local config, masks, tables = self.config, {}, {}
    for kind, rope in pairs(self.ropes) do
      at.window = kind == 'sliding_attention' and config.sliding_window or nil
      masks[kind] = attention.mask(at)
      tables[kind] = rotary.tables(at.positions, config.head_dim, config, rope, dtype, at.keys)
    end
    return masks, tables
  end

  function Model:forward(input_ids, given)
    local at = inputs.places(input_ids, given or {}, {})
    local x = self:embed(input_ids)
    local masks, tables = kinds_of(self, at, x.dtype)
    local routed = {}
    for number, layer in ipairs(self.layers) do
      local kind = self.layer_types[number]
      x = inputs.checkpointed(self, layer, x, tables[kind], masks[kind], at.cache)
      if options.aux_loss then routed[#routed + 1] = layer:_feed_forward().router_logits end
    end
    if at.cache then at.cache.length = at.keys end
    local out = {last_hidden_state = self.norm(x), past_key_values = at.cache}
    if options.aux_loss and self.config.output_router_logits and given and given.labels then
      out.aux_loss = options.aux_loss(routed, self.config, at.padding)
    end
    return out
  end

  return Model, causal_lm(name .. 'ForCausalLM', {
    model_types = common.model_types, defaults = common.defaults, prefix = 'model', embedding = common.embedding,
    Base = Model,
    ignored_names = common.ignored_names,
  })
end

llama.DEFAULTS = DEFAULTS
llama.Attention, llama.MLP, llama.DecoderLayer = Attention, MLP, DecoderLayer

---Llama that predicts the next token: ids (n, tokens), {labels} → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.LlamaForCausalLM: nn.Module
---@overload fun(config?: table): text.LlamaForCausalLM

---Llama without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.LlamaModel: nn.Module
---@overload fun(config?: table): text.LlamaModel
llama.LlamaModel, llama.LlamaForCausalLM = llama.family('Llama', {model_types = {'llama'}, defaults = DEFAULTS})

return llama
