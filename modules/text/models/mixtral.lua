-- text/models/mixtral.lua: Mixtral (Jiang et al. 2024): Mistral whose MLPs are experts.

local activation = require 'text.models.activation'
local experts = require 'text.models.experts'
local llama = require 'text.models.llama'
local nn = require 'torch.nn'
local with = require 'text.models.with'

local DEFAULTS = with(llama.DEFAULTS, {
  intermediate_size = 14336, num_key_value_heads = 8, max_position_embeddings = 131072, rms_norm_eps = 1e-5,
  num_local_experts = 8, num_experts_per_tok = 2, router_aux_loss_coef = 0.001, output_router_logits = false,
})

local Expert = nn.Module:extend 'MixtralExpert'

function Expert:init(config)
  self.w1 = nn.Linear(config.hidden_size, config.intermediate_size, {bias = false})
  self.w2 = nn.Linear(config.intermediate_size, config.hidden_size, {bias = false})
  self.w3 = nn.Linear(config.hidden_size, config.intermediate_size, {bias = false})
  self.act = activation(config.hidden_act)
end

function Expert:forward(x) return self.w2(self.act(self.w1(x)) * self.w3(x)) end

local Layer = llama.DecoderLayer:extend 'MixtralDecoderLayer'

function Layer:init(config, layer)
  self.self_attn = llama.Attention(config, layer)
  self.block_sparse_moe = experts.SparseMoeBlock {
    width = config.hidden_size, count = config.num_local_experts, k = config.num_experts_per_tok, sums_to_one = true,
    make = function() return Expert(config) end,
  }
  self.input_layernorm = nn.RMSNorm(config.hidden_size, {eps = config.rms_norm_eps})
  self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, {eps = config.rms_norm_eps})
end

function Layer:_feed_forward() return self.block_sparse_moe end

---Mixtral that predicts the next token: ids (n, tokens), {labels} → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.MixtralForCausalLM: nn.Module
---@overload fun(config?: table): text.MixtralForCausalLM

---Mixtral without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.MixtralModel: nn.Module
---@overload fun(config?: table): text.MixtralModel
local MixtralModel, MixtralForCausalLM = llama.family('Mixtral', {
  model_types = {'mixtral'}, defaults = DEFAULTS, layer = Layer, aux_loss = experts.aux_loss,
})

return {MixtralModel = MixtralModel, MixtralForCausalLM = MixtralForCausalLM}
