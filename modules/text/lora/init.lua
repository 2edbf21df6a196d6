-- text/lora/init.lua: adapters of low rank: get_peft_model, PeftModel, LoraConfig, with the names and files of peft.
return require 'base.namespace'('text.lora', {
  files = {{'text.lora.peft_model', 'get_peft_model', 'PeftModel', 'get_peft_model_state_dict'}},
  modules = {LoraConfig = 'text.lora.config'},
})
