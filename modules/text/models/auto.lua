-- text/models/auto.lua: text.AutoModel and its like: classes of models, chosen by the model_type in config.json.

local configs = require 'text.models.config'
local errors = require 'base.errors'
local ordered = require 'base.ordered'

-- model_type → the file of the family, and its classes by task.
local FAMILIES = {
  gpt2 = {'gpt2', base = 'GPT2Model', causal = 'GPT2LMHeadModel'},
  llama = {'llama', base = 'LlamaModel', causal = 'LlamaForCausalLM'},
  mistral = {'mistral', base = 'MistralModel', causal = 'MistralForCausalLM'},
  qwen2 = {'qwen2', base = 'Qwen2Model', causal = 'Qwen2ForCausalLM'},
  qwen3 = {'qwen3', base = 'Qwen3Model', causal = 'Qwen3ForCausalLM'},
  phi3 = {'phi3', base = 'Phi3Model', causal = 'Phi3ForCausalLM'},
  gemma2 = {'gemma2', base = 'Gemma2Model', causal = 'Gemma2ForCausalLM'},
  gemma3_text = {'gemma3', base = 'Gemma3TextModel', causal = 'Gemma3ForCausalLM'},
  mixtral = {'mixtral', base = 'MixtralModel', causal = 'MixtralForCausalLM'},
  qwen2_moe = {'qwen_moe', base = 'Qwen2MoeModel', causal = 'Qwen2MoeForCausalLM'},
  bert = {'bert', base = 'BertModel', masked = 'BertForMaskedLM', sequence = 'BertForSequenceClassification'},
  roberta = {'roberta', base = 'RobertaModel', masked = 'RobertaForMaskedLM', sequence = 'RobertaForSequenceClassification'},
  distilbert = {'distilbert', base = 'DistilBertModel', masked = 'DistilBertForMaskedLM',
                sequence = 'DistilBertForSequenceClassification'},
  t5 = {'t5', base = 'T5Model', seq2seq = 'T5ForConditionalGeneration'},
  qwen3_moe = {'qwen_moe', base = 'Qwen3MoeModel', causal = 'Qwen3MoeForCausalLM'},
}

local auto = {}

local function class_of(owner, task, folder)
  local kind = configs.read(folder).model_type
  local family = FAMILIES[kind]
  if not family then
    errors.raise('unsupported', ("%s: %s/config.json: model_type = '%s': rtrain has %s"):format(owner, folder, tostring(kind),
      table.concat(ordered.names_of(FAMILIES), ', ')))
  end
  if not family[task] then
    errors.raise('unsupported', ("%s: %s/config.json: a model of model_type '%s' has no such head"):format(owner, folder, kind))
  end
  return require('text.models.' .. family[1])[family[task]]
end

local function chooser(name, task)
  auto[name] = {
    from_pretrained = function(folder, options)
      return class_of(name, task, folder).from_pretrained(folder, options)
    end,
  }
end

chooser('AutoModel', 'base')
chooser('AutoModelForCausalLM', 'causal')
chooser('AutoModelForMaskedLM', 'masked')
chooser('AutoModelForSequenceClassification', 'sequence')
chooser('AutoModelForSeq2SeqLM', 'seq2seq')

return auto
