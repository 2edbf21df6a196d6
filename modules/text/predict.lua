-- text/predict.lua: `rtrain predict RUN --prompt TEXT` and `--chat`: a checkpoint's language model writes on.

local auto = require 'text.models.auto'
local configs = require 'text.models.config'
local errors = require 'base.errors'
local overrides = require 'base.overrides'
local system = require 'base._system'
local Tokenizer = require('text.tokenizer').Tokenizer
local torch = require 'torch'

local predict = {}

-- Options of model:generate that --set takes, with a value of their type.
local OPTIONS = {
  max_new_tokens = 256, do_sample = false, temperature = 1, top_k = 50, top_p = 1, min_p = 0, repetition_penalty = 1, seed = 0,
  prompt_lookup_num_tokens = 8,
}
-- These mean that one samples.
local OF_SAMPLING = {'temperature', 'top_k', 'top_p', 'min_p', 'seed'}

local function raise(...) errors.raise('usage', 'predict: ' .. (...):format(select(2, ...))) end

local function has(folder, file) return system.path_kind(folder .. '/' .. file) == 'file' end

local function options_of(settings)
  local typed, out = overrides.apply(OPTIONS, settings, 'generate'), {max_new_tokens = OPTIONS.max_new_tokens}
  for _, setting in ipairs(settings) do
    local name = setting:match '^[^=]+'
    out[name] = typed[name]
  end
  for _, name in ipairs(OF_SAMPLING) do
    if out[name] ~= nil and out.do_sample == nil then out.do_sample = true end
  end
  return out
end

-- The folder of the model itself: that of the checkpoint, or the one whose adapter the checkpoint is.
local function base_of(folder)
  if has(folder, 'config.json') then return folder end
  if not has(folder, 'adapter_config.json') then
    raise('%s has neither config.json nor adapter_config.json: --prompt and --chat need a checkpoint of a language model, '
      .. 'written by model:save_pretrained(dir) and tokenizer:save_pretrained(dir)', folder)
  end
  local base = configs.read(folder, 'adapter_config.json').base_model_name_or_path
  if type(base) ~= 'string' or not has(base, 'config.json') then
    raise("%s/adapter_config.json: base_model_name_or_path = '%s' is not a folder of a model here", folder, tostring(base))
  end
  return base
end

local function load_model(folder, device)
  local base = base_of(folder)
  local config = configs.read(base)
  local is_pair = config.is_encoder_decoder or config.model_type == 't5'
  local Auto = is_pair and auto.AutoModelForSeq2SeqLM or auto.AutoModelForCausalLM
  local model = Auto.from_pretrained(base, {device = device})
  if base ~= folder then
    model = require('text.lora').PeftModel.from_pretrained(model, folder):merge_and_unload()
  end
  local tokenizer = Tokenizer.from_pretrained(has(folder, 'tokenizer.json') and folder or base)
  return model, tokenizer
end

-- Writes what the model says after the ids, as it comes; returns it.
local function write_on(self, ids)
  local stream, said = self.tokenizer:decode_stream(), {}
  local function write(text)
    said[#said + 1] = text
    io.write(text)
    io.flush()
  end
  local options = {streamer = function(tokens)
    self.tokens = self.tokens + 1
    write(stream:step(tokens:item()))
  end}
  for name, value in next, self.options do options[name] = value end
  local start = system.monotonic()
  self.model:generate(torch.tensor({ids}, {dtype = 'int64', device = self.device}), options)
  self.seconds = self.seconds + system.monotonic() - start
  write(stream:finish())
  io.write '\n'
  return table.concat(said)
end

local function answer(self, messages)
  local ids = self.tokenizer:apply_chat_template(messages, {add_generation_prompt = true})
  local said = write_on(self, ids)
  messages[#messages + 1] = {role = 'assistant', content = said}
end

-- A question in each line of stdin, until its end.
local function converse(self, is_terminal)
  local messages = {}
  while true do
    if is_terminal then
      io.stderr:write '> '
      io.stderr:flush()
    end
    local line = io.read '*l'
    if line == nil then return end
    if line:find '%S' then
      messages[#messages + 1] = {role = 'user', content = line}
      answer(self, messages)
    end
  end
end

---Writes to stdout what the language model of a checkpoint says after a prompt, or in a conversation.
---
---The checkpoint's folder is one that model:save_pretrained has written, or an adapter, whose base model is where its
---adapter_config.json says. The defaults of the options are those of its generation_config.json.
---@param request {folder: string, prompt: string|nil, chat: boolean|nil, set: string[], device: string|nil} set: options of
---  model:generate; chat: the prompt is what a user says; without one each line of stdin is
---Errors: 'usage' for a folder that is not of a language model, or without a chat template; 'config' for a wrong option.
function predict.run(request)
  local options = options_of(request.set or {})
  local device = request.device or torch.cuda.is_available() and 'cuda' or 'cpu'
  local model, tokenizer = load_model(request.folder, device)
  if request.chat and not tokenizer.chat_template then
    raise('%s: its tokenizer has no chat_template: leave out --chat', request.folder)
  end
  local self = {model = model, tokenizer = tokenizer, options = options, device = device, tokens = 0, seconds = 0}
  if not request.chat then
    local ids = tokenizer:encode(request.prompt).ids
    if #ids == 0 then raise("--prompt: '%s' has no tokens", request.prompt) end
    write_on(self, ids)
  elseif request.prompt then
    answer(self, {{role = 'user', content = request.prompt}})
  else
    converse(self, system.is_terminal(0))
  end
  io.stderr:write(('%s on %s: %d tokens, %.1f a second\n'):format(model.__name, device, self.tokens,
    self.tokens / math.max(self.seconds, 1e-9)))
end

return predict
