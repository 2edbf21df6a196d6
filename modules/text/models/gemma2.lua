-- text/models/gemma2.lua: Gemma 2 (Riviere et al. 2024): norms before and after each part, scores and logits within bounds.

local llama = require 'text.models.llama'
local nn = require 'torch.nn'
local torch = require 'torch'
local with = require 'text.models.with'

local DEFAULTS = with(llama.DEFAULTS, {
  vocab_size = 256000, hidden_size = 2304, intermediate_size = 9216, num_hidden_layers = 26, num_attention_heads = 8,
  num_key_value_heads = 4, head_dim = 256, max_position_embeddings = 8192, hidden_activation = 'gelu_pytorch_tanh',
  query_pre_attn_scalar = 256, sliding_window = 4096, final_logit_softcapping = 30, attn_logit_softcapping = 50,
  tie_word_embeddings = true, pad_token_id = 0, eos_token_id = 1, bos_token_id = 2,
  hidden_act = function(config) return config.hidden_activation or 'gelu_pytorch_tanh' end,
  layer_types = function(config)
    local out = {}
    for layer = 1, config.num_hidden_layers do out[layer] = layer % 2 == 1 and 'sliding_attention' or 'full_attention' end
    return out
  end,
})

---A norm whose weight is a difference from one. It computes in float32.
---@class text.GemmaRMSNorm: nn.Module
local GemmaRMSNorm = nn.Module:extend 'GemmaRMSNorm'
GemmaRMSNorm.begins_at_zero = true

function GemmaRMSNorm:init(width, eps)
  self.eps = eps
  self.weight = nn.Parameter(torch.zeros(width))
end

function GemmaRMSNorm:forward(x)
  local weight = self.weight:to('float32') + 1
  return torch.rms_norm(x:to('float32'), self.weight.shape, weight, self.eps):to(x.dtype)
end

---@class text.GemmaAttention: text.LlamaAttention
local Attention = llama.Attention:extend 'GemmaAttention'

function Attention:init(config, layer)
  llama.Attention.init(self, config, layer)
  self.scale, self.softcap = config.query_pre_attn_scalar ^ -0.5, config.attn_logit_softcapping
end

---@class text.GemmaDecoderLayer: nn.Module
local Layer = llama.DecoderLayer:extend 'GemmaDecoderLayer'

function Layer:init(config, layer, attention)
  local function norm() return GemmaRMSNorm(config.hidden_size, config.rms_norm_eps) end
  self.self_attn = (attention or Attention)(config, layer)
  self.mlp = llama.MLP(config)
  self.input_layernorm, self.post_attention_layernorm = norm(), norm()
  self.pre_feedforward_layernorm, self.post_feedforward_layernorm = norm(), norm()
end

function Layer:forward(x, tables, mask, cache)
  x = x + self.post_attention_layernorm(self.self_attn(self.input_layernorm(x), tables, mask, cache))
  return x + self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x)))
end

-- Embeddings are as large as the other values of the residual stream.
local function embed(self, ids)
  local x = self.embed_tokens(ids)
  return x * torch.tensor(self.config.hidden_size ^ 0.5, {dtype = x.dtype, device = x.device})
end

local function norm_of(config) return GemmaRMSNorm(config.hidden_size, config.rms_norm_eps) end

---Gemma 2 that predicts the next token: ids (n, tokens), {labels} → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.Gemma2ForCausalLM: nn.Module
---@overload fun(config?: table): text.Gemma2ForCausalLM

---Gemma 2 without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.Gemma2Model: nn.Module
---@overload fun(config?: table): text.Gemma2Model
local Gemma2Model, Gemma2ForCausalLM = llama.family('Gemma2', {
  model_types = {'gemma2'}, defaults = DEFAULTS, layer = Layer, norm = norm_of, embed = embed,
})

return {Gemma2Model = Gemma2Model, Gemma2ForCausalLM = Gemma2ForCausalLM, GemmaRMSNorm = GemmaRMSNorm, Layer = Layer,
        Attention = Attention, DEFAULTS = DEFAULTS, embed = embed, norm_of = norm_of}
