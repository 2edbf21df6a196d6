-- text/models/bert.lua: BERT (Devlin et al. 2018), and the encoder that RoBERTa shares.

local activation = require 'text.models.activation'
local attention = require 'text.models.attention'
local heads = require 'text.models.heads'
local inputs = require 'text.models.inputs'
local nn = require 'torch.nn'
local pretrained = require 'text.models.pretrained'
local torch = require 'torch'
local with = require 'text.models.with'

local bert = {}

bert.DEFAULTS = {
  vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12, intermediate_size = 3072,
  hidden_act = 'gelu', hidden_dropout_prob = 0.1, attention_probs_dropout_prob = 0.1, max_position_embeddings = 512,
  type_vocab_size = 2, initializer_range = 0.02, layer_norm_eps = 1e-12, pad_token_id = 0, tie_word_embeddings = true,
}

local function norm_of(config) return nn.LayerNorm(config.hidden_size, {eps = config.layer_norm_eps}) end

-- Places that count from 0.
local function bert_positions(_, at) return at.positions end

local Embeddings = nn.Module:extend 'BertEmbeddings'

function Embeddings:init(config, positions_of)
  self.positions_of, self.config = positions_of or bert_positions, config
  self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, {padding_idx = config.pad_token_id})
  self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
  self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
  self.LayerNorm = norm_of(config)
  self.dropout = nn.Dropout(config.hidden_dropout_prob)
end

function Embeddings:forward(ids, at, types)
  local positions = self.positions_of(ids, at, self.config)
  local x = self.word_embeddings(ids) + self.token_type_embeddings(types or torch.zeros_like(ids))
  return self.dropout(self.LayerNorm(x + self.position_embeddings(positions)))
end

local SelfAttention = nn.Module:extend 'BertSelfAttention'

function SelfAttention:init(config)
  local width = config.hidden_size
  self.width, self.dropout = width / config.num_attention_heads, config.attention_probs_dropout_prob
  self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
end

function SelfAttention:forward(x, mask)
  local width, heads_of = self.width, attention.heads_of
  local query, key, value = heads_of(self.query(x), width), heads_of(self.key(x), width), heads_of(self.value(x), width)
  return attention.attend(query, key, value, mask, {dropout = self.training and self.dropout or 0})
end

-- A projection whose sum with the input is normalized.
local Output = nn.Module:extend 'BertOutput'

function Output:init(config, width)
  self.dense = nn.Linear(width, config.hidden_size)
  self.LayerNorm = norm_of(config)
  self.dropout = nn.Dropout(config.hidden_dropout_prob)
end

function Output:forward(x, residual) return self.LayerNorm(self.dropout(self.dense(x)) + residual) end

local Attention = nn.Module:extend 'BertAttention'

function Attention:init(config)
  self.self = SelfAttention(config)
  self.output = Output(config, config.hidden_size)
end

function Attention:forward(x, mask) return self.output(self.self(x, mask), x) end

local Intermediate = nn.Module:extend 'BertIntermediate'

function Intermediate:init(config)
  self.dense = nn.Linear(config.hidden_size, config.intermediate_size)
  self.act = activation(config.hidden_act)
end

function Intermediate:forward(x) return self.act(self.dense(x)) end

local Layer = nn.Module:extend 'BertLayer'

function Layer:init(config)
  self.attention = Attention(config)
  self.intermediate = Intermediate(config)
  self.output = Output(config, config.intermediate_size)
end

function Layer:forward(x, mask)
  x = self.attention(x, mask)
  return self.output(self.intermediate(x), x)
end

local Encoder = nn.Module:extend 'BertEncoder'

function Encoder:init(config)
  self.layer = nn.ModuleList()
  for _ = 1, config.num_hidden_layers do self.layer:append(Layer(config)) end
end

local Pooler = nn.Module:extend 'BertPooler'

function Pooler:init(config) self.dense = nn.Linear(config.hidden_size, config.hidden_size) end

function Pooler:forward(x) return self.dense(x:select(1, 0)):tanh() end

---Makes the class of an encoder: ids (n, tokens) → {last_hidden_state, pooler_output}.
---@param name string
---@param options {model_types: string[], defaults: table, prefix: string, positions: function|nil}
---@return table
function bert.encoder(name, options)
  local Model = pretrained.class(name, options)

  function Model:_build(config)
    self.embeddings = Embeddings(config, options.positions)
    self.encoder = Encoder(config)
    if config._pools ~= false then self.pooler = Pooler(config) end
    config._pools = nil
  end

  function Model:forward(input_ids, given)
    given = given or {}
    local at = inputs.places(input_ids, given, {causal = false, context = self.config.max_position_embeddings})
    local mask = attention.mask(at)
    local x = self.embeddings(input_ids, at, given.token_type_ids)
    for _, layer in ipairs(self.encoder.layer) do x = inputs.checkpointed(self, layer, x, mask) end
    return {last_hidden_state = x, pooler_output = self.pooler and self.pooler(x) or nil}
  end

  return Model
end

---Makes the class of an encoder with a head.
---@param name string
---@param options table as of bert.encoder, and {Base: its class, pools: boolean, build: function(self, config), logits:
---  function(self, out), loss: function(logits, labels, config), tie: function(self)|nil}
---@return table
function bert.with_head(name, options)
  local Model = pretrained.class(name, options)
  local prefix = options.prefix

  function Model:_build(config)
    self[prefix] = options.Base(with(config, {_pools = options.pools}), true)
    options.build(self, config)
  end

  if options.tie then
    function Model:_tie()
      if self.config.tie_word_embeddings then options.tie(self, self[prefix]:get_input_embeddings().weight) end
    end
  end

  function Model:forward(input_ids, given)
    given = given or {}
    local out = self[prefix](input_ids, given)
    out.logits = options.logits(self, out)
    if given.labels then out.loss = options.loss(out.logits, given.labels, self.config) end
    return out
  end

  return Model
end

local OPTIONS = {model_types = {'bert'}, defaults = bert.DEFAULTS, prefix = 'bert', embedding = 'embeddings.word_embeddings'}

---BERT without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.BertModel: nn.Module
---@overload fun(config?: table): text.BertModel
bert.BertModel = bert.encoder('BertModel', OPTIONS)

local Predictions = nn.Module:extend 'BertLMPredictionHead'

function Predictions:init(config)
  self.transform = nn.Module()
  self.transform.dense = nn.Linear(config.hidden_size, config.hidden_size)
  self.transform.LayerNorm = norm_of(config)
  self.act = activation(config.hidden_act)
  self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
  self.bias = nn.Parameter(torch.zeros(config.vocab_size))
end

function Predictions:forward(x)
  return self.decoder(self.transform.LayerNorm(self.act(self.transform.dense(x))))
end

---BERT that predicts hidden tokens: ids (n, tokens) → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.BertForMaskedLM: nn.Module
---@overload fun(config?: table): text.BertForMaskedLM
bert.BertForMaskedLM = bert.with_head('BertForMaskedLM', with(OPTIONS, {
  Base = bert.BertModel, pools = false, ignored_names = {'^%.cls%.seq_relationship', '^%.bert%.pooler'},
  build = function(self, config)
    self.cls = nn.Module()
    self.cls.predictions = Predictions(config)
  end,
  tie = function(self, weight)
    local head = self.cls.predictions
    head.decoder.weight, head.decoder.bias = weight, head.bias
    self._tied_names['cls.predictions.decoder.weight'] = 'bert.embeddings.word_embeddings.weight'
    self._tied_names['cls.predictions.decoder.bias'] = 'cls.predictions.bias'
  end,
  logits = function(self, out) return self.cls.predictions(out.last_hidden_state) end,
  loss = heads.token_loss,
}))

---BERT that gives a text labels: ids (n, tokens) → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.BertForSequenceClassification: nn.Module
---@overload fun(config?: table): text.BertForSequenceClassification
bert.BertForSequenceClassification = bert.with_head('BertForSequenceClassification', with(OPTIONS, {
  Base = bert.BertModel, ignored_names = {'^%.cls%.'},
  build = function(self, config)
    self.dropout = nn.Dropout(config.classifier_dropout or config.hidden_dropout_prob)
    self.classifier = nn.Linear(config.hidden_size, heads.num_labels(config))
  end,
  logits = function(self, out) return self.classifier(self.dropout(out.pooler_output)) end,
  loss = heads.text_loss,
}))

bert.norm_of = norm_of

return bert
