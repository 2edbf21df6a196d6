-- rtrain run examples/llama_lora.lua --set model=FOLDER --set data=answers.jsonl: teaches a language model to answer.
--
-- The folder is one of Hugging Face. The file has an object of JSON in each line: {"messages": [{"role": "user", "content": …},
-- {"role": "assistant", "content": …}]}, or {"text": …}. Adapters of low rank (LoRA) are trained, for all linear layers.
-- A checkpoint has the adapter in peft's files, and what training needs to continue; the model itself is not in it.
local text = require 'text'
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'

local function load_model(config, device)
  local base = text.AutoModelForCausalLM.from_pretrained(config.model, {device = device, dtype = config.dtype})
  local lora = text.lora.LoraConfig {
    r = config.r, lora_alpha = config.lora_alpha, lora_dropout = config.lora_dropout, target_modules = 'all-linear',
    task_type = 'CAUSAL_LM', base_model_name_or_path = config.model,
  }
  return text.lora.get_peft_model(base, lora)
end

local function make_loader(config, tokenizer)
  local dataset = text.chat_dataset(config.data, {tokenizer = tokenizer, max_length = config.max_length})
  local loader = data.DataLoader(dataset, {
    batch_size = config.batch_size, shuffle = true, collate_fn = function(samples) return dataset:collate(samples) end,
  })
  return train.torch.prepare_data_loader(loader)
end

local function answer(model, tokenizer, config, question)
  local messages = {{role = 'user', content = question}}
  local prompt = tokenizer:apply_chat_template(messages, {add_generation_prompt = true})
  local device = train.torch.get_device()
  local ids = model:generate(torch.tensor({prompt}, {dtype = 'int64', device = device}), {
    max_new_tokens = config.max_new_tokens,
  })
  return tokenizer:decode(ids[0]:narrow(0, #prompt, ids.shape[2] - #prompt):tolist())
end

local function train_func(config)
  torch.manual_seed(config.seed)
  local device = train.torch.get_device()
  local tokenizer = text.Tokenizer.from_pretrained(config.model)
  local adapted = load_model(config, device)
  local model = train.torch.prepare_model(adapted)
  local trained = {}
  for _, parameter in ipairs(adapted:parameters()) do
    if parameter.requires_grad then trained[#trained + 1] = parameter end
  end
  local optimizer = torch.optim.AdamW(trained, {lr = config.lr})
  local loader = make_loader(config, tokenizer)
  local state = train.state {model = adapted, optimizer = optimizer, loader = loader, epoch = 0}
  state:load(train.get_checkpoint())
  for epoch = state.epoch + 1, config.epochs do
    state.epoch = epoch
    loader.sampler:set_epoch(epoch)
    adapted:train()
    local total = 0
    for batch in loader do
      local loss = model(batch.input_ids, {attention_mask = batch.attention_mask, labels = batch.labels}).loss
      optimizer:zero_grad()
      loss:backward()
      torch.nn.utils.clip_grad_norm_(trained, 1)
      optimizer:step()
      total = total + loss:item()
    end
    if config.question ~= '' and train.get_context():get_world_rank() == 0 then
      train.log_text('answer', answer(adapted, tokenizer, config, config.question), {step = epoch})
    end
    train.tempdir(function(dir)
      state:save(dir)
      adapted:save_pretrained(dir)
      train.report({epoch = epoch, loss = total / #loader}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {
    model = '', data = '', dtype = 'float32', r = 16, lora_alpha = 32, lora_dropout = 0, max_length = 1024, batch_size = 4,
    epochs = 3, lr = 2e-4, seed = 0, question = '', max_new_tokens = 64,
  },
  scaling_config = train.ScalingConfig {num_workers = 1},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {num_to_keep = 2}},
}:fit()
