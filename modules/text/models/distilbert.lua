-- text/models/distilbert.lua: DistilBERT (Sanh et al. 2019): half of BERT's layers, no types of tokens, no pooler.

local activation = require 'text.models.activation'
local attention = require 'text.models.attention'
local bert = require 'text.models.bert'
local heads = require 'text.models.heads'
local inputs = require 'text.models.inputs'
local nn = require 'torch.nn'
local pretrained = require 'text.models.pretrained'
local with = require 'text.models.with'

local EPS = 1e-12

local DEFAULTS = {
  vocab_size = 30522, max_position_embeddings = 512, n_layers = 6, n_heads = 12, dim = 768, hidden_dim = 3072, dropout = 0.1,
  attention_dropout = 0.1, activation = 'gelu', initializer_range = 0.02, seq_classif_dropout = 0.2, pad_token_id = 0,
  tie_word_embeddings = true,
}

local Embeddings = nn.Module:extend 'DistilBertEmbeddings'

function Embeddings:init(config)
  self.word_embeddings = nn.Embedding(config.vocab_size, config.dim, {padding_idx = config.pad_token_id})
  self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.dim)
  self.LayerNorm = nn.LayerNorm(config.dim, {eps = EPS})
  self.dropout = nn.Dropout(config.dropout)
end

function Embeddings:forward(ids, at)
  return self.dropout(self.LayerNorm(self.word_embeddings(ids) + self.position_embeddings(at.positions)))
end

local SelfAttention = nn.Module:extend 'DistilBertSelfAttention'

function SelfAttention:init(config)
  self.width, self.dropout = config.dim / config.n_heads, config.attention_dropout
  self.q_lin, self.k_lin = nn.Linear(config.dim, config.dim), nn.Linear(config.dim, config.dim)
  self.v_lin, self.out_lin = nn.Linear(config.dim, config.dim), nn.Linear(config.dim, config.dim)
end

function SelfAttention:forward(x, mask)
  local width, heads_of = self.width, attention.heads_of
  local query, key, value = heads_of(self.q_lin(x), width), heads_of(self.k_lin(x), width), heads_of(self.v_lin(x), width)
  local y = attention.attend(query, key, value, mask, {dropout = self.training and self.dropout or 0})
  return self.out_lin(y)
end

local FFN = nn.Module:extend 'DistilBertFFN'

function FFN:init(config)
  self.lin1, self.lin2 = nn.Linear(config.dim, config.hidden_dim), nn.Linear(config.hidden_dim, config.dim)
  self.act, self.dropout = activation(config.activation), nn.Dropout(config.dropout)
end

function FFN:forward(x) return self.dropout(self.lin2(self.act(self.lin1(x)))) end

local Block = nn.Module:extend 'DistilBertBlock'

function Block:init(config)
  self.attention = SelfAttention(config)
  self.sa_layer_norm = nn.LayerNorm(config.dim, {eps = EPS})
  self.ffn = FFN(config)
  self.output_layer_norm = nn.LayerNorm(config.dim, {eps = EPS})
end

function Block:forward(x, mask)
  x = self.sa_layer_norm(self.attention(x, mask) + x)
  return self.output_layer_norm(self.ffn(x) + x)
end

local OPTIONS = {model_types = {'distilbert'}, defaults = DEFAULTS, prefix = 'distilbert',
                 embedding = 'embeddings.word_embeddings'}

---DistilBERT without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.DistilBertModel: nn.Module
---@overload fun(config?: table): text.DistilBertModel
local DistilBertModel = pretrained.class('DistilBertModel', OPTIONS)

function DistilBertModel:_build(config)
  self.embeddings = Embeddings(config)
  self.transformer = nn.Module()
  self.transformer.layer = nn.ModuleList()
  for _ = 1, config.n_layers do self.transformer.layer:append(Block(config)) end
end

function DistilBertModel:forward(input_ids, given)
  local at = inputs.places(input_ids, given or {}, {causal = false, context = self.config.max_position_embeddings})
  local mask = attention.mask(at)
  local x = self.embeddings(input_ids, at)
  for _, block in ipairs(self.transformer.layer) do x = inputs.checkpointed(self, block, x, mask) end
  return {last_hidden_state = x}
end

---DistilBERT that predicts hidden tokens: ids (n, tokens) → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.DistilBertForMaskedLM: nn.Module
---@overload fun(config?: table): text.DistilBertForMaskedLM
local DistilBertForMaskedLM = bert.with_head('DistilBertForMaskedLM', with(OPTIONS, {
  Base = DistilBertModel,
  build = function(self, config)
    self.act = activation(config.activation)
    self.vocab_transform = nn.Linear(config.dim, config.dim)
    self.vocab_layer_norm = nn.LayerNorm(config.dim, {eps = EPS})
    self.vocab_projector = nn.Linear(config.dim, config.vocab_size)
  end,
  tie = function(self, weight)
    self.vocab_projector.weight = weight
    self._tied_names['vocab_projector.weight'] = 'distilbert.embeddings.word_embeddings.weight'
  end,
  logits = function(self, out)
    return self.vocab_projector(self.vocab_layer_norm(self.act(self.vocab_transform(out.last_hidden_state))))
  end,
  loss = heads.token_loss,
}))

---DistilBERT that gives a text labels: ids (n, tokens) → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.DistilBertForSequenceClassification: nn.Module
---@overload fun(config?: table): text.DistilBertForSequenceClassification
local DistilBertForSequenceClassification = bert.with_head('DistilBertForSequenceClassification', with(OPTIONS, {
  Base = DistilBertModel, ignored_names = {'^%.vocab_'},
  build = function(self, config)
    self.pre_classifier = nn.Linear(config.dim, config.dim)
    self.classifier = nn.Linear(config.dim, heads.num_labels(config))
    self.dropout = nn.Dropout(config.seq_classif_dropout)
  end,
  logits = function(self, out)
    return self.classifier(self.dropout(self.pre_classifier(out.last_hidden_state:select(1, 0)):relu()))
  end,
  loss = heads.text_loss,
}))

return {DistilBertModel = DistilBertModel, DistilBertForMaskedLM = DistilBertForMaskedLM,
        DistilBertForSequenceClassification = DistilBertForSequenceClassification}
