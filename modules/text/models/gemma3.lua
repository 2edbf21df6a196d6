-- text/models/gemma3.lua: Gemma 3 of text (Kamath et al. 2025): five layers of six see a window, and each head has norms.

local gemma2 = require 'text.models.gemma2'
local llama = require 'text.models.llama'
local with = require 'text.models.with'

local DEFAULTS = with(gemma2.DEFAULTS, {
  vocab_size = 262208, max_position_embeddings = 131072, rope_theta = 1000000, rope_local_base_freq = 10000,
  layer_types = function(config)
    local pattern = config.sliding_window_pattern or config._sliding_window_pattern or 6
    local out = {}
    for layer = 1, config.num_hidden_layers do
      out[layer] = layer % pattern == 0 and 'full_attention' or 'sliding_attention'
    end
    return out
  end,
})
DEFAULTS.final_logit_softcapping, DEFAULTS.attn_logit_softcapping = nil, nil

---@class text.Gemma3Attention: text.GemmaAttention
local Attention = gemma2.Attention:extend 'Gemma3Attention'

function Attention:init(config, layer)
  gemma2.Attention.init(self, config, layer)
  self.q_norm = gemma2.GemmaRMSNorm(config.head_dim, config.rms_norm_eps)
  self.k_norm = gemma2.GemmaRMSNorm(config.head_dim, config.rms_norm_eps)
end

function Attention:_projected(x)
  local query, key, value = llama.Attention._projected(self, x)
  return self.q_norm(query), self.k_norm(key), value
end

---Gemma 3 that predicts the next token: ids (n, tokens), {labels} → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.Gemma3ForCausalLM: nn.Module
---@overload fun(config?: table): text.Gemma3ForCausalLM

---Gemma 3 without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.Gemma3TextModel: nn.Module
---@overload fun(config?: table): text.Gemma3TextModel
local Gemma3TextModel, Gemma3ForCausalLM = llama.family('Gemma3', {
  model_types = {'gemma3_text'}, defaults = DEFAULTS, base_name = 'Gemma3TextModel', embed = gemma2.embed,
  norm = gemma2.norm_of, layer = function(config, layer) return gemma2.Layer(config, layer, Attention) end,
})

return {Gemma3TextModel = Gemma3TextModel, Gemma3ForCausalLM = Gemma3ForCausalLM}
