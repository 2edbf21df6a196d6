-- text/models/roberta.lua: RoBERTa (Liu et al. 2019): BERT whose places count from behind the padding's.

local bert = require 'text.models.bert'
local heads = require 'text.models.heads'
local nn = require 'torch.nn'
local torch = require 'torch'
local with = require 'text.models.with'
local F = torch.nn.functional

local DEFAULTS = with(bert.DEFAULTS, {
  vocab_size = 50265, pad_token_id = 1, bos_token_id = 0, eos_token_id = 2,
})

local function positions(ids, _, config)
  local is_token = ids:ne(config.pad_token_id):to('int64')
  return is_token:cumsum(1) * is_token + config.pad_token_id
end

local OPTIONS = {model_types = {'roberta'}, defaults = DEFAULTS, prefix = 'roberta',
                 embedding = 'embeddings.word_embeddings', positions = positions}

---RoBERTa without a head: ids (n, tokens) → {last_hidden_state}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.RobertaModel: nn.Module
---@overload fun(config?: table): text.RobertaModel
local RobertaModel = bert.encoder('RobertaModel', OPTIONS)

local LMHead = nn.Module:extend 'RobertaLMHead'

function LMHead:init(config)
  self.dense = nn.Linear(config.hidden_size, config.hidden_size)
  self.layer_norm = bert.norm_of(config)
  self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
  self.bias = nn.Parameter(torch.zeros(config.vocab_size))
end

function LMHead:forward(x) return self.decoder(self.layer_norm(F.gelu(self.dense(x)))) end

---RoBERTa that predicts hidden tokens: ids (n, tokens) → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.RobertaForMaskedLM: nn.Module
---@overload fun(config?: table): text.RobertaForMaskedLM
local RobertaForMaskedLM = bert.with_head('RobertaForMaskedLM', with(OPTIONS, {
  Base = RobertaModel, pools = false, ignored_names = {'^%.roberta%.pooler'},
  build = function(self, config) self.lm_head = LMHead(config) end,
  tie = function(self, weight)
    self.lm_head.decoder.weight, self.lm_head.decoder.bias = weight, self.lm_head.bias
    self._tied_names['lm_head.decoder.weight'] = 'roberta.embeddings.word_embeddings.weight'
    self._tied_names['lm_head.decoder.bias'] = 'lm_head.bias'
  end,
  logits = function(self, out) return self.lm_head(out.last_hidden_state) end,
  loss = heads.token_loss,
}))

local ClassificationHead = nn.Module:extend 'RobertaClassificationHead'

function ClassificationHead:init(config)
  self.dense = nn.Linear(config.hidden_size, config.hidden_size)
  self.dropout = nn.Dropout(config.classifier_dropout or config.hidden_dropout_prob)
  self.out_proj = nn.Linear(config.hidden_size, heads.num_labels(config))
end

function ClassificationHead:forward(x)
  return self.out_proj(self.dropout(self.dense(self.dropout(x:select(1, 0))):tanh()))
end

---RoBERTa that gives a text labels: ids (n, tokens) → {logits, loss}. Argument: config, a table with the names
---of config.json; what is missing is as in transformers.
---@class text.RobertaForSequenceClassification: nn.Module
---@overload fun(config?: table): text.RobertaForSequenceClassification
local RobertaForSequenceClassification = bert.with_head('RobertaForSequenceClassification', with(OPTIONS, {
  Base = RobertaModel, pools = false, ignored_names = {'^%.lm_head%.', '^%.roberta%.pooler'},
  build = function(self, config) self.classifier = ClassificationHead(config) end,
  logits = function(self, out) return self.classifier(out.last_hidden_state) end,
  loss = heads.text_loss,
}))

return {RobertaModel = RobertaModel, RobertaForMaskedLM = RobertaForMaskedLM,
        RobertaForSequenceClassification = RobertaForSequenceClassification}
