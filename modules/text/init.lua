-- text/init.lua: tokenizers, language models, adapters and generation, with the names of Hugging Face's tokenizers,
-- transformers and peft.
return require 'base.namespace'('text', {
  files = {
    {'text.tokenizer', 'Tokenizer'}, {'text.encoding', 'Encoding'}, {'text.decode_stream', 'DecodeStream'},
    {'text.models.auto', 'AutoModel', 'AutoModelForCausalLM', 'AutoModelForMaskedLM', 'AutoModelForSequenceClassification',
     'AutoModelForSeq2SeqLM'},
  },
  modules = {models = 'text.models', lora = 'text.lora', linear_cross_entropy = 'text.linear_cross_entropy',
             chat_dataset = 'text.chat_dataset', pack = 'text.pack'},
})
