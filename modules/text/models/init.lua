-- text/models/init.lua: the classes of models, a file for each family.
return require 'base.namespace'('text.models', {
  files = {
    {'text.models.gpt2', 'GPT2Model', 'GPT2LMHeadModel'},
    {'text.models.llama', 'LlamaModel', 'LlamaForCausalLM'},
    {'text.models.mistral', 'MistralModel', 'MistralForCausalLM'},
    {'text.models.qwen2', 'Qwen2Model', 'Qwen2ForCausalLM'},
    {'text.models.qwen3', 'Qwen3Model', 'Qwen3ForCausalLM'},
    {'text.models.phi3', 'Phi3Model', 'Phi3ForCausalLM'},
    {'text.models.gemma2', 'Gemma2Model', 'Gemma2ForCausalLM'},
    {'text.models.gemma3', 'Gemma3TextModel', 'Gemma3ForCausalLM'},
    {'text.models.mixtral', 'MixtralModel', 'MixtralForCausalLM'},
    {'text.models.qwen_moe', 'Qwen2MoeModel', 'Qwen2MoeForCausalLM', 'Qwen3MoeModel', 'Qwen3MoeForCausalLM'},
    {'text.models.bert', 'BertModel', 'BertForMaskedLM', 'BertForSequenceClassification'},
    {'text.models.roberta', 'RobertaModel', 'RobertaForMaskedLM', 'RobertaForSequenceClassification'},
    {'text.models.distilbert', 'DistilBertModel', 'DistilBertForMaskedLM', 'DistilBertForSequenceClassification'},
    {'text.models.t5', 'T5Model', 'T5ForConditionalGeneration'},
  },
  modules = {Cache = 'text.models.cache'},
})
