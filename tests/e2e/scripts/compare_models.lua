-- compare_models.lua FOLDER NAME…: reads models that transformers has written, computes what it has computed, writes them again
-- as NAME.saved, and prints a line {name, key → largest difference, or whether ids are equal} of JSON for each.

local json = require 'json'
local text = require 'text'
local torch = require 'torch'

local folder = arg[1]

local function difference(a, b)
  if a:numel() == 0 then return 0 end
  return (a:double() - b:double()):abs():max():item()
end

local function class_of(name)
  if name:find '^t5' then return text.AutoModelForSeq2SeqLM end
  if name:find '-masked$' then return text.AutoModelForMaskedLM end
  if name:find '-sequence$' then return text.AutoModelForSequenceClassification end
  return text.AutoModelForCausalLM
end

local GENERATE = {
  greedy = {max_new_tokens = 12, eos_token_id = {}},
  greedy_masked = {max_new_tokens = 12, eos_token_id = {}, masked = true},
  penalty = {max_new_tokens = 12, eos_token_id = {}, repetition_penalty = 1.5},
  beams = {max_new_tokens = 8, num_beams = 3, eos_token_id = 7, masked = true},
  ended = {max_new_tokens = 12, eos_token_id = {}},
}
GENERATE.looked_up = {max_new_tokens = 12, eos_token_id = {}, prompt_lookup_num_tokens = 3}
for id = 30, 59 do table.insert(GENERATE.ended.eos_token_id, id) end

local function same_ids(model, want, key)
  local options = {pad_token_id = 0}
  for name, value in pairs(GENERATE[key]) do options[name] = value end
  options.masked, options.attention_mask = nil, GENERATE[key].masked and want.mask or nil
  -- Guesses are of one prompt: each row is compared with what is chosen without them.
  if options.prompt_lookup_num_tokens then
    for row = 0, want.ids.shape[1] - 1 do
      local found = model:generate(want.ids:narrow(0, row, 1), options)
      if not torch.equal(found, want.greedy:narrow(0, row, 1)) then return false end
    end
    return true
  end
  local ids = model:generate(want.ids, options)
  return ids.shape[2] == want[key].shape[2] and torch.equal(ids, want[key])
end

-- Whether a cache that keeps its sizes gives the same ids; the reason of a model that cannot have one.
local function same_static_ids(model, want)
  local same = true
  for _, key in ipairs {'greedy', 'greedy_masked', 'penalty', 'ended'} do
    local before = GENERATE[key]
    GENERATE[key] = {cache_implementation = 'static'}
    for option, value in pairs(before) do GENERATE[key][option] = value end
    local ok, found = pcall(same_ids, model, want, key)
    GENERATE[key] = before
    if not ok then return tostring(found) end
    same = same and found
  end
  return same
end

for i = 2, #arg do
  local name = arg[i]
  local Auto, path = class_of(name), folder .. '/' .. name
  local want = torch.load_safetensors(path .. '.safetensors')
  local model = Auto.from_pretrained(path)
  local found = {name = name, grad = 0, step = 0, parameters = 0}
  local out = model(want.ids, {labels = want.labels})
  found.logits, found.loss = difference(out.logits, want.logits), math.abs(out.loss:item() - want.loss[0]:item())
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = 1e-2, eps = 1e-3})
  out.loss:backward()
  for key, parameter in model:named_parameters() do
    local grad = want['grad.' .. key]
    if grad then
      found.parameters = found.parameters + 1
      found.grad = math.max(found.grad, difference(parameter.grad or torch.zeros_like(parameter), grad))
    end
  end
  model:save_pretrained(path .. '.saved')
  torch.no_grad(function()
    local masked = model(want.ids, {attention_mask = want.mask, labels = name:find '^t5' and want.labels or nil}).logits
    local is_text = masked:dim() == 3 and not name:find '^t5'
    if is_text then
      masked, want.masked = masked[want.mask:bool()], want.masked[want.mask:bool()]
    end
    found.masked = difference(masked, want.masked)
    if want.packed then
      found.packed = difference(model(want.ids, {position_ids = want.positions}).logits, want.packed)
    end
  end)
  for key in pairs(GENERATE) do
    if want[key] or key == 'looked_up' and want.greedy then found[key] = same_ids(model, want, key) end
  end
  if want.greedy then found.static = same_static_ids(model, want) end
  optimizer:step()
  for key, parameter in model:named_parameters() do
    if want['step.' .. key] then found.step = math.max(found.step, difference(parameter, want['step.' .. key])) end
  end
  print(json.encode(found))
end
