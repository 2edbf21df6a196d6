-- compare_adapters.lua FOLDER: reads adapters that peft has written, computes what it has computed, and writes them again as
-- NAME.saved, and merged into their models as NAME.merged. Prints a line of JSON for each.

local json = require 'json'
local text = require 'text'
local torch = require 'torch'

local folder = arg[1]
local BASES = {{'gpt2-lora', 'gpt2'}, {'llama-lora', 'llama'}, {'qwen2-dora', 'qwen2'}}

local function difference(a, b) return (a:double() - b:double()):abs():max():item() end

for _, pair in ipairs(BASES) do
  local name, path = pair[1], folder .. '/' .. pair[1]
  local want = torch.load_safetensors(path .. '.safetensors')
  local base = text.AutoModelForCausalLM.from_pretrained(folder .. '/' .. pair[2])
  local model = text.lora.PeftModel.from_pretrained(base, path, {is_trainable = true})
  model:eval()
  local found = {name = name, grad = 0, parameters = 0, trained = 0}
  local out = model(want.ids, {labels = want.ids})
  found.logits, found.loss = difference(out.logits, want.logits), math.abs(out.loss:item() - want.loss[0]:item())
  out.loss:backward()
  for key, parameter in model:named_parameters() do
    local grad = want['grad.' .. key]
    if parameter.requires_grad then found.trained = found.trained + 1 end
    if grad then
      found.parameters, found.grad = found.parameters + 1, math.max(found.grad, difference(parameter.grad, grad))
    end
  end
  model:merge_adapter()
  found.merged = difference(model(want.ids).logits, want.logits)
  model:unmerge_adapter()
  found.unmerged = difference(model(want.ids).logits, out.logits)
  model:save_pretrained(path .. '.saved')
  model:merge_and_unload():save_pretrained(path .. '.merged')
  print(json.encode(found))
end
