-- text/models/qwen2.lua: Qwen 2 and 2.5 (Yang et al. 2024): Llama with biases of queries, keys and values.

local llama = require 'text.models.llama'
local with = require 'text.models.with'

local DEFAULTS = with(llama.DEFAULTS, {
  vocab_size = 151936, intermediate_size = 22016, num_key_value_heads = 32, max_position_embeddings = 32768,
  use_sliding_window = false, sliding_window = 4096, max_window_layers = 28,
})

local function attention_of(config, layer) return llama.Attention(config, layer, {bias = true, output_bias = false}) end

---Qwen 2 that predicts the next token: ids (n, tokens), {labels} → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.Qwen2ForCausalLM: nn.Module
---@overload fun(config?: table): text.Qwen2ForCausalLM

---Qwen 2 without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.Qwen2Model: nn.Module
---@overload fun(config?: table): text.Qwen2Model
local Qwen2Model, Qwen2ForCausalLM = llama.family('Qwen2', {
  model_types = {'qwen2'}, defaults = DEFAULTS, attention = attention_of,
})

return {Qwen2Model = Qwen2Model, Qwen2ForCausalLM = Qwen2ForCausalLM, DEFAULTS = DEFAULTS, attention_of = attention_of}
