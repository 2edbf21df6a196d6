-- text/models/qwen_moe.lua: Qwen 2 and 3 whose MLPs are experts; in Qwen 2 there is one for all tokens too.

local experts = require 'text.models.experts'
local llama = require 'text.models.llama'
local nn = require 'torch.nn'
local qwen2 = require 'text.models.qwen2'
local qwen3 = require 'text.models.qwen3'
local with = require 'text.models.with'

local function count_of(config) return config.num_local_experts or config.num_experts end

-- Some layers may have an ordinary MLP.
local function is_sparse(config, layer)
  for _, each in ipairs(config.mlp_only_layers or {}) do
    if each == layer - 1 then return false end
  end
  return count_of(config) > 0 and layer % (config.decoder_sparse_step or 1) == 0
end

local function mlp_of(config, layer)
  if not is_sparse(config, layer) then return llama.MLP(config) end
  local block = experts.SparseMoeBlock {
    width = config.hidden_size, count = count_of(config), k = config.num_experts_per_tok,
    sums_to_one = config.norm_topk_prob, make = function() return llama.MLP(config, config.moe_intermediate_size) end,
  }
  if config.shared_expert_intermediate_size then
    block.shared_expert = llama.MLP(config, config.shared_expert_intermediate_size)
    block.shared_expert_gate = nn.Linear(config.hidden_size, 1, {bias = false})
  end
  return block
end

local COMMON = {num_experts_per_tok = 4, norm_topk_prob = false, router_aux_loss_coef = 0.001, output_router_logits = false,
                decoder_sparse_step = 1}

---Qwen 2 of experts that predicts the next token: ids (n, tokens), {labels} → {logits, loss}. Argument: config, a table with
---the names of config.json; what is missing is as in transformers.
---@class text.Qwen2MoeForCausalLM: nn.Module
---@overload fun(config?: table): text.Qwen2MoeForCausalLM

---Qwen 2 of experts without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.Qwen2MoeModel: nn.Module
---@overload fun(config?: table): text.Qwen2MoeModel
local Qwen2MoeModel, Qwen2MoeForCausalLM = llama.family('Qwen2Moe', {
  model_types = {'qwen2_moe'}, attention = qwen2.attention_of, mlp = mlp_of, aux_loss = experts.aux_loss,
  defaults = with(qwen2.DEFAULTS, with(COMMON, {
    hidden_size = 2048, intermediate_size = 5632, num_hidden_layers = 24, num_attention_heads = 16, num_key_value_heads = 16,
    num_experts = 60, moe_intermediate_size = 1408, shared_expert_intermediate_size = 5632,
  })),
})

---Qwen 3 of experts that predicts the next token: ids (n, tokens), {labels} → {logits, loss}. Argument: config, a table with
---the names of config.json; what is missing is as in transformers.
---@class text.Qwen3MoeForCausalLM: nn.Module
---@overload fun(config?: table): text.Qwen3MoeForCausalLM

---Qwen 3 of experts without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.Qwen3MoeModel: nn.Module
---@overload fun(config?: table): text.Qwen3MoeModel
local Qwen3MoeModel, Qwen3MoeForCausalLM = llama.family('Qwen3Moe', {
  model_types = {'qwen3_moe'}, attention = qwen3.Attention, mlp = mlp_of, aux_loss = experts.aux_loss,
  defaults = with(qwen3.DEFAULTS, with(COMMON, {
    hidden_size = 2048, intermediate_size = 6144, num_hidden_layers = 24, num_attention_heads = 32, num_key_value_heads = 4,
    head_dim = 64, num_experts = 128, num_experts_per_tok = 8, moe_intermediate_size = 768,
  })),
})

return {Qwen2MoeModel = Qwen2MoeModel, Qwen2MoeForCausalLM = Qwen2MoeForCausalLM, Qwen3MoeModel = Qwen3MoeModel,
        Qwen3MoeForCausalLM = Qwen3MoeForCausalLM}
