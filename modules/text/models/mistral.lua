-- text/models/mistral.lua: Mistral (Jiang et al. 2023): Llama whose queries see a window of keys.

local llama = require 'text.models.llama'
local with = require 'text.models.with'

---Mistral that predicts the next token: ids (n, tokens), {labels} → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.MistralForCausalLM: nn.Module
---@overload fun(config?: table): text.MistralForCausalLM

---Mistral without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.MistralModel: nn.Module
---@overload fun(config?: table): text.MistralModel
local MistralModel, MistralForCausalLM = llama.family('Mistral', {
  model_types = {'mistral'},
  defaults = with(llama.DEFAULTS, {intermediate_size = 14336, num_key_value_heads = 8, max_position_embeddings = 131072}),
})

return {MistralModel = MistralModel, MistralForCausalLM = MistralForCausalLM}
