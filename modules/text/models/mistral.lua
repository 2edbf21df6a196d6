-- text/models/mistral.lua: Mistral (Jiang et al. 2023): Llama whose queries see a window of keys.

local llama = require 'text.models.llama'
local with = require 'text.models.with'

local MistralModel, MistralForCausalLM = llama.family('Mistral', {
  model_types = {'mistral'},
  defaults = with(llama.DEFAULTS, {intermediate_size = 14336, num_key_value_heads = 8, max_position_embeddings = 131072}),
})

return {MistralModel = MistralModel, MistralForCausalLM = MistralForCausalLM}
