-- text/models/auto.lua: text.AutoModel and its like: classes of models, chosen by the model_type in config.json.

local class = require 'base.class'
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

-- Reads the model of a folder with the class of its family for the task.
local function read(owner, task, folder, options)
  local kind = configs.read(folder).model_type
  local family = FAMILIES[kind]
  if not family then
    errors.raise('unsupported', ("%s: %s/config.json: model_type = '%s': rtrain has %s"):format(owner, folder, tostring(kind),
      table.concat(ordered.names_of(FAMILIES), ', ')))
  end
  if not family[task] then
    errors.raise('unsupported', ("%s: %s/config.json: a model of model_type '%s' has no such head"):format(owner, folder, kind))
  end
  return require('text.models.' .. family[1])[family[task]].from_pretrained(folder, options)
end

---Reads models without a head: from_pretrained(folder) chooses the class by config.json.
---@class text.AutoModel
local AutoModel = class.new 'AutoModel'

---Reads a model without a head: config.json chooses the class. The equivalent in transformers: AutoModel.
---@param folder string with config.json, and model.safetensors or shards with an index
---@param options? {dtype: string, device: string} of the parameters; default: as in the files, on the CPU
---@return nn.Module # ids (n, tokens), {attention_mask} → {last_hidden_state}
---Errors: those of AutoModelForCausalLM.from_pretrained.
function AutoModel.from_pretrained(folder, options) return read('AutoModel', 'base', folder, options) end

---Reads models that predict the next token: from_pretrained(folder) chooses the class by config.json.
---@class text.AutoModelForCausalLM
local AutoModelForCausalLM = class.new 'AutoModelForCausalLM'

---Reads a model that predicts the next token: GPT-2, Llama, Mistral, Qwen 2 and 3, Gemma 2 and 3, Phi-3, Mixtral, Qwen of
---experts. The equivalent in transformers: AutoModelForCausalLM.
---
---The values stay in the files until they are used. `loading_info` of the model has missing_keys and unexpected_keys.
---
---```lua
---local text, torch = require 'text', require 'torch'
---local folder = os.tmpname()
---os.remove(folder)
---local small = text.models.GPT2LMHeadModel {vocab_size = 10, n_embd = 8, n_layer = 1, n_head = 2, n_positions = 16}
---small:save_pretrained(folder)
---local model = text.AutoModelForCausalLM.from_pretrained(folder)
---local ids = torch.tensor({{1, 2, 3}}, {dtype = 'int64'})
---assert(model(ids, {labels = ids}).loss:item() > 0 and model(ids).logits.shape[3] == 10)
---assert(model:generate(ids, {max_new_tokens = 4, eos_token_id = {}}).shape[2] == 7)
---os.execute('rm -r ' .. folder)
---```
---@param folder string with config.json, and model.safetensors or shards with an index
---@param options? {dtype: string, device: string} of the parameters; default: as in the files, on the CPU
---@return nn.Module # ids (n, tokens), {attention_mask, labels} → {logits, loss, last_hidden_state}
---Errors: 'not_found' without a file; 'unsupported' for another family, activation or kind of rotary embeddings; 'argument'
---for shapes that config.json does not make, damaged files, and an index that names what is not there.
function AutoModelForCausalLM.from_pretrained(folder, options)
  return read('AutoModelForCausalLM', 'causal', folder, options)
end

---Reads models that predict hidden tokens: from_pretrained(folder) chooses the class by config.json.
---@class text.AutoModelForMaskedLM
local AutoModelForMaskedLM = class.new 'AutoModelForMaskedLM'

---Reads a model that predicts hidden tokens: BERT, RoBERTa, DistilBERT. The equivalent in transformers:
---AutoModelForMaskedLM.
---@param folder string
---@param options? {dtype: string, device: string}
---@return nn.Module # ids (n, tokens), {attention_mask, labels} → {logits, loss, last_hidden_state}
---Errors: those of AutoModelForCausalLM.from_pretrained.
function AutoModelForMaskedLM.from_pretrained(folder, options)
  return read('AutoModelForMaskedLM', 'masked', folder, options)
end

---Reads models that give texts labels: from_pretrained(folder) chooses the class by config.json.
---@class text.AutoModelForSequenceClassification
local AutoModelForSequenceClassification = class.new 'AutoModelForSequenceClassification'

---Reads a model that gives a text one of num_labels labels, several, or a number: BERT, RoBERTa, DistilBERT. The equivalent
---in transformers: AutoModelForSequenceClassification.
---@param folder string
---@param options? {dtype: string, device: string}
---@return nn.Module # ids (n, tokens), {attention_mask, labels} → {logits (n, labels), loss}
---Errors: those of AutoModelForCausalLM.from_pretrained.
function AutoModelForSequenceClassification.from_pretrained(folder, options)
  return read('AutoModelForSequenceClassification', 'sequence', folder, options)
end

---Reads models that write a text for a text: from_pretrained(folder) chooses the class by config.json.
---@class text.AutoModelForSeq2SeqLM
local AutoModelForSeq2SeqLM = class.new 'AutoModelForSeq2SeqLM'

---Reads a model that writes a text for a text: T5. The equivalent in transformers: AutoModelForSeq2SeqLM.
---@param folder string
---@param options? {dtype: string, device: string}
---@return nn.Module # ids (n, tokens), {attention_mask, labels} → {logits, loss}
---Errors: those of AutoModelForCausalLM.from_pretrained.
function AutoModelForSeq2SeqLM.from_pretrained(folder, options)
  return read('AutoModelForSeq2SeqLM', 'seq2seq', folder, options)
end

return {AutoModel = AutoModel, AutoModelForCausalLM = AutoModelForCausalLM, AutoModelForMaskedLM = AutoModelForMaskedLM,
        AutoModelForSequenceClassification = AutoModelForSequenceClassification, AutoModelForSeq2SeqLM = AutoModelForSeq2SeqLM}
