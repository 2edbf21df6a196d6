-- text/init.lua: tokenizers, with the names of Hugging Face's tokenizers and transformers.
return require 'base.namespace'('text', {
  files = {{'text.tokenizer', 'Tokenizer'}, {'text.encoding', 'Encoding'}, {'text.decode_stream', 'DecodeStream'}},
})
