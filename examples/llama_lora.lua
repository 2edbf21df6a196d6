-- rtrain run examples/llama_lora.lua --set model=FOLDER --set data=answers.jsonl: teaches a language model to answer.
--
-- The folder is one of Hugging Face. The file has an object of JSON in each line: {"messages": [{"role": "user", "content": …},
-- {"role": "assistant", "content": …}]}, or {"text": …}; without a file, two sentences show that it works.
-- Adapters of rank r (LoRA) are trained, for all linear layers; with r = 0 all weights are.
-- A checkpoint has the adapter in peft's files, or the whole model: rtrain predict last --prompt TEXT, or --chat.
local text = require 'text'
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'

local SENTENCES = {{text = 'The sea is blue.'}, {text = 'Grass is green.'}}

local function load_model(config, device)
  local base = text.AutoModelForCausalLM.from_pretrained(config.model, {device = device, dtype = config.dtype})
  if config.r == 0 then return base end
  return text.lora.get_peft_model(base, text.lora.LoraConfig {
    r = config.r, lora_alpha = config.lora_alpha, lora_dropout = config.lora_dropout, target_modules = 'all-linear',
    task_type = 'CAUSAL_LM', base_model_name_or_path = config.model,
  })
end

local function make_loader(config, tokenizer)
  local dataset = text.chat_dataset(config.data ~= '' and config.data or SENTENCES, {
    tokenizer = tokenizer, max_length = config.max_length,
  })
  local loader = data.DataLoader(dataset, {
    batch_size = config.batch_size, shuffle = true, collate_fn = function(samples) return dataset:collate(samples) end,
  })
  return train.torch.prepare_data_loader(loader)
end

local function answer(model, tokenizer, config)
  local messages = {{role = 'user', content = config.question}}
  local prompt = tokenizer:apply_chat_template(messages, {add_generation_prompt = true})
  local device = train.torch.get_device()
  local ids = model:generate(torch.tensor({prompt}, {dtype = 'int64', device = device}), {
    max_new_tokens = config.max_new_tokens,
  })
  return tokenizer:decode(ids[0]:narrow(0, #prompt, ids.shape[2] - #prompt):tolist())
end

-- The mean over the ranks. What a step adds to the state is the same on all of them, so a rank that is replaced gets it too.
local function mean_over_ranks(value)
  local mean = value:detach():clone()
  torch.distributed.all_reduce(mean, 'avg')
  return mean
end

local function train_func(config)
  torch.manual_seed(config.seed)
  local tokenizer = text.Tokenizer.from_pretrained(config.model)
  local net = load_model(config, train.torch.get_device())
  local model = train.torch.prepare_model(net)
  local trained = {}
  for _, parameter in ipairs(net:parameters()) do
    if parameter.requires_grad then trained[#trained + 1] = parameter end
  end
  local optimizer = torch.optim.AdamW(trained, {lr = config.lr})
  local loader = make_loader(config, tokenizer)
  local state = train.state {model = net, optimizer = optimizer, loader = loader, epoch = 0, loss = 0}
  state:load(train.get_checkpoint())

  local function save(loss)
    local rank = train.get_context():get_world_rank()
    if config.question ~= '' and rank == 0 then
      train.log_text('answer', answer(net, tokenizer, config), {step = state.epoch})
    end
    train.tempdir(function(dir)
      state:save(dir)
      if rank == 0 then
        net:save_pretrained(dir)
        tokenizer:save_pretrained(dir)
      end
      train.report({epoch = state.epoch, loss = loss}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end

  train.elastic(state, function()
    while state.epoch < config.epochs do
      loader.sampler:set_epoch(state.epoch)
      net:train()
      for batch in loader do
        local loss = model(batch.input_ids, {attention_mask = batch.attention_mask, labels = batch.labels}).loss
        optimizer:zero_grad()
        loss:backward()
        torch.nn.utils.clip_grad_norm_(trained, 1)
        local mean = mean_over_ranks(loss)
        optimizer:step()
        state.loss = state.loss + mean:item() / #loader
        state:commit()
      end
      local loss = state.loss
      state.epoch, state.loss = state.epoch + 1, 0
      save(loss)
      state:commit()
    end
  end)
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {
    model = '',
    data = '', dtype = 'float32', r = 16, lora_alpha = 32, lora_dropout = 0, max_length = 1024, batch_size = 4, epochs = 3,
    lr = 2e-4, seed = 0, question = '', max_new_tokens = 64,
  },
  scaling_config = train.ScalingConfig {num_workers = 1},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {num_to_keep = 2}},
}:fit()
