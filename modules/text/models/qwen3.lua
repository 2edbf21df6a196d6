-- text/models/qwen3.lua: Qwen 3 (Yang et al. 2025): Llama with a norm of each head's queries and keys.

local llama = require 'text.models.llama'
local nn = require 'torch.nn'
local with = require 'text.models.with'

local DEFAULTS = with(llama.DEFAULTS, {
  vocab_size = 151936, intermediate_size = 22016, num_key_value_heads = 32, head_dim = 128, max_position_embeddings = 32768,
  use_sliding_window = false, sliding_window = 4096, max_window_layers = 28,
})

---@class text.Qwen3Attention: text.LlamaAttention
local Attention = llama.Attention:extend 'Qwen3Attention'

function Attention:init(config, layer)
  llama.Attention.init(self, config, layer)
  self.q_norm = nn.RMSNorm(config.head_dim, {eps = config.rms_norm_eps})
  self.k_norm = nn.RMSNorm(config.head_dim, {eps = config.rms_norm_eps})
end

function Attention:_projected(x)
  local query, key, value = llama.Attention._projected(self, x)
  return self.q_norm(query), self.k_norm(key), value
end

---Qwen 3 that predicts the next token: ids (n, tokens), {labels} → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.Qwen3ForCausalLM: nn.Module
---@overload fun(config?: table): text.Qwen3ForCausalLM

---Qwen 3 without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.Qwen3Model: nn.Module
---@overload fun(config?: table): text.Qwen3Model
local Qwen3Model, Qwen3ForCausalLM = llama.family('Qwen3', {
  model_types = {'qwen3'}, defaults = DEFAULTS, attention = Attention,
})

return {Qwen3Model = Qwen3Model, Qwen3ForCausalLM = Qwen3ForCausalLM, Attention = Attention, DEFAULTS = DEFAULTS}
