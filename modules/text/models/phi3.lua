-- text/models/phi3.lua: Phi-3 (Abdin et al. 2024): Llama whose projections are stored together.

local activation = require 'text.models.activation'
local attention = require 'text.models.attention'
local llama = require 'text.models.llama'
local nn = require 'torch.nn'
local with = require 'text.models.with'

local DEFAULTS = with(llama.DEFAULTS, {
  vocab_size = 32064, hidden_size = 3072, intermediate_size = 8192, max_position_embeddings = 4096,
  original_max_position_embeddings = 4096, rms_norm_eps = 1e-5, pad_token_id = 32000, resid_pdrop = 0, embd_pdrop = 0,
  eos_token_id = 32000, bos_token_id = 1,
})

---@class text.Phi3Attention: text.LlamaAttention
local Attention = llama.Attention:extend 'Phi3Attention'

function Attention:init(config, layer)
  local width = config.head_dim
  self.layer, self.width, self.scale, self.dropout = layer, width, width ^ -0.5, config.attention_dropout
  self.query_width, self.key_width = config.num_attention_heads * width, config.num_key_value_heads * width
  self.o_proj = nn.Linear(self.query_width, config.hidden_size, {bias = false})
  self.qkv_proj = nn.Linear(config.hidden_size, self.query_width + 2 * self.key_width, {bias = false})
end

function Attention:_projected(x)
  local parts = self.qkv_proj(x):split({self.query_width, self.key_width, self.key_width}, -1)
  local width, heads_of = self.width, attention.heads_of
  return heads_of(parts[1], width), heads_of(parts[2], width), heads_of(parts[3], width)
end

local MLP = nn.Module:extend 'Phi3MLP'

function MLP:init(config)
  self.gate_up_proj = nn.Linear(config.hidden_size, 2 * config.intermediate_size, {bias = false})
  self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, {bias = false})
  self.act = activation(config.hidden_act)
end

function MLP:forward(x)
  local parts = self.gate_up_proj(x):chunk(2, -1)
  return self.down_proj(parts[2] * self.act(parts[1]))
end

---Phi-3 that predicts the next token: ids (n, tokens), {labels} → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.Phi3ForCausalLM: nn.Module
---@overload fun(config?: table): text.Phi3ForCausalLM

---Phi-3 without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.Phi3Model: nn.Module
---@overload fun(config?: table): text.Phi3Model
local Phi3Model, Phi3ForCausalLM = llama.family('Phi3', {
  model_types = {'phi3'}, defaults = DEFAULTS, attention = Attention, mlp = MLP,
})

return {Phi3Model = Phi3Model, Phi3ForCausalLM = Phi3ForCausalLM}
