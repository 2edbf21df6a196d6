-- text/models/gpt2.lua: GPT-2 (Radford et al. 2019).

local activation = require 'text.models.activation'
local attention = require 'text.models.attention'
local causal_lm = require 'text.models.causal_lm'
local inputs = require 'text.models.inputs'
local nn = require 'torch.nn'
local pretrained = require 'text.models.pretrained'
local torch = require 'torch'

local DEFAULTS = {
  vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12, activation_function = 'gelu_new',
  resid_pdrop = 0.1, embd_pdrop = 0.1, attn_pdrop = 0.1, layer_norm_epsilon = 1e-5, initializer_range = 0.02,
  scale_attn_weights = true, scale_attn_by_inverse_layer_idx = false, tie_word_embeddings = true,
  bos_token_id = 50256, eos_token_id = 50256, n_inner = function(config) return 4 * config.n_embd end,
}

-- A linear layer whose weight is stored the other way round: (inputs, outputs).
local Conv1D = nn.Module:extend 'Conv1D'

function Conv1D:init(outputs, width)
  self.weight = nn.Parameter(torch.empty(width, outputs))
  self.bias = nn.Parameter(torch.zeros(outputs))
end

function Conv1D:forward(x)
  local width = self.weight.shape[1]
  return torch.addmm(self.bias, x:reshape(-1, width), self.weight):view(x.shape[1], x.shape[2], -1)
end

local Attention = nn.Module:extend 'GPT2Attention'

function Attention:init(config, layer)
  self.layer, self.heads, self.dropout = layer, config.n_head, config.attn_pdrop
  self.width = config.n_embd / config.n_head
  self.scale = config.scale_attn_weights and self.width ^ -0.5 or 1
  if config.scale_attn_by_inverse_layer_idx then self.scale = self.scale / layer end
  self.c_attn = Conv1D(3 * config.n_embd, config.n_embd)
  self.c_proj = Conv1D(config.n_embd, config.n_embd)
  self.resid_dropout = nn.Dropout(config.resid_pdrop)
end

function Attention:forward(x, mask, cache)
  local qkv = self.c_attn(x):unflatten(-1, {3, self.heads, self.width}):permute(2, 0, 3, 1, 4)
  local query, key, value = unpack(qkv:unbind(0))
  if cache then key, value = cache:update(self.layer, key, value) end
  local y = attention.attend(query, key, value, mask, {scale = self.scale, dropout = self.training and self.dropout or 0})
  return self.resid_dropout(self.c_proj(y))
end

local MLP = nn.Module:extend 'GPT2MLP'

function MLP:init(config)
  self.c_fc = Conv1D(config.n_inner, config.n_embd)
  self.c_proj = Conv1D(config.n_embd, config.n_inner)
  self.act = activation(config.activation_function)
  self.dropout = nn.Dropout(config.resid_pdrop)
end

function MLP:forward(x) return self.dropout(self.c_proj(self.act(self.c_fc(x)))) end

local Block = nn.Module:extend 'GPT2Block'

function Block:init(config, layer)
  local function norm() return nn.LayerNorm(config.n_embd, {eps = config.layer_norm_epsilon}) end
  self.ln_1 = norm()
  self.attn = Attention(config, layer)
  self.ln_2 = norm()
  self.mlp = MLP(config)
end

function Block:forward(x, mask, cache)
  x = x + self.attn(self.ln_1(x), mask, cache)
  return x + self.mlp(self.ln_2(x))
end

local OPTIONS = {model_types = {'gpt2'}, defaults = DEFAULTS, prefix = 'transformer', embedding = 'wte'}

---GPT-2 without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.GPT2Model: nn.Module
---@overload fun(config?: table): text.GPT2Model
local GPT2Model = pretrained.class('GPT2Model', OPTIONS)

function GPT2Model:_build(config)
  self.wte = nn.Embedding(config.vocab_size, config.n_embd)
  self.wpe = nn.Embedding(config.n_positions, config.n_embd)
  self.drop = nn.Dropout(config.embd_pdrop)
  self.h = nn.ModuleList()
  for layer = 1, config.n_layer do self.h:append(Block(config, layer)) end
  self.ln_f = nn.LayerNorm(config.n_embd, {eps = config.layer_norm_epsilon})
end

-- The projections back to the residual stream begin smaller, as in the paper.
function GPT2Model:_init_weights(module)
  GPT2Model._init_normal(self, module)
  if module.__name ~= 'GPT2Attention' and module.__name ~= 'GPT2MLP' then return end
  torch.no_grad(function()
    nn.init.normal_(module.c_proj.weight, 0, self.config.initializer_range / math.sqrt(2 * self.config.n_layer))
  end)
end

function GPT2Model:forward(input_ids, given)
  local at = inputs.places(input_ids, given, {context = self.config.n_positions})
  local x = self.drop(self.wte(input_ids) + self.wpe(at.positions))
  local mask = attention.mask(at)
  for _, block in ipairs(self.h) do x = inputs.checkpointed(self, block, x, mask, at.cache) end
  if at.cache then at.cache.length = at.keys end
  return {last_hidden_state = self.ln_f(x), past_key_values = at.cache}
end

---GPT-2 that predicts the next token: ids (n, tokens), {labels} → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.GPT2LMHeadModel: nn.Module
---@overload fun(config?: table): text.GPT2LMHeadModel
local GPT2LMHeadModel = causal_lm('GPT2LMHeadModel', {
  model_types = OPTIONS.model_types, defaults = DEFAULTS, prefix = OPTIONS.prefix, embedding = OPTIONS.embedding,
  Base = GPT2Model, hidden_size = 'n_embd',
})

return {GPT2Model = GPT2Model, GPT2LMHeadModel = GPT2LMHeadModel}
