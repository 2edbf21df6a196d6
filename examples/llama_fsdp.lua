-- rtrain run examples/llama_fsdp.lua [--set text=FILE]: a Llama of which each worker has a part, from random weights.
--
-- FILE has a document in each line; without one, sums are made up, which the model learns in seconds on 2 cores. The model is
-- made without memory, divided, and then filled, so that no worker ever has all of it. A checkpoint is written by all
-- workers, and any number of them continues from it. The last one also has the folder `model`, which transformers loads.
local data = require 'rtrain.data'
local text = require 'text'
local torch = require 'torch'
local train = require 'rtrain'
local fsdp, nn = torch.distributed.fsdp, torch.nn

local function read_documents(config)
  if config.text ~= '' then return data.read_text(config.text) end
  local rows = {}
  for a = 0, 19 do
    for b = 0, 19 do rows[#rows + 1] = {text = ('%d plus %d is %d.'):format(a, b, a + b)} end
  end
  return data.from_items(rows):random_shuffle {seed = config.seed}
end

local tokenizer  -- made when the config is known; it travels with the train function

local function make_datasets(config)
  local documents = read_documents(config)
  tokenizer = text.Tokenizer.from_str [[{"model": {"type": "BPE", "vocab": {}, "merges": []},
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}}]]
  local rows = documents:iter_rows()
  tokenizer = tokenizer:train_new_from_iterator(function()
    local row = rows()
    return row and row.text
  end, {vocab_size = config.vocab_size})
  tokenizer:add_special_tokens {eos_token = '<|endoftext|>'}
  local blocks = text.pack(documents, {tokenizer = tokenizer, length = config.length})
  return {train = blocks:random_shuffle {seed = config.seed}}
end

local function model_config(config)
  return {
    vocab_size = tokenizer:get_vocab_size(), hidden_size = config.hidden_size, intermediate_size = 3 * config.hidden_size,
    num_hidden_layers = config.layers, num_attention_heads = config.heads, num_key_value_heads = config.heads / 2,
    max_position_embeddings = config.length, bos_token_id = tokenizer.eos_token_id, eos_token_id = tokenizer.eos_token_id,
  }
end

local function is_layer(module) return module.__name == 'LlamaDecoderLayer' end

-- Each layer is gathered by itself; embedding, last norm and head with the model.
local function make_model(config)
  local device = train.torch.get_device()
  local model = torch.device('meta', text.models.LlamaForCausalLM, model_config(config))
  model.model.gradient_checkpointing = config.checkpoint_layers
  model = train.torch.prepare_model(model, {
    parallel_strategy = 'fsdp',
    parallel_strategy_kwargs = {
      wrap = is_layer,
      mp_policy = device ~= 'cpu' and fsdp.MixedPrecisionPolicy {param_dtype = 'bfloat16', reduce_dtype = 'float32'} or nil,
    },
  })
  model:to_empty {device = device}
  -- Each worker fills its rows: with one seed the rows of all workers would be the same.
  torch.manual_seed(config.seed + train.get_context():get_world_rank())
  model:init_weights()
  return model
end

-- Up to lr over the first steps, then down to a tenth of it along a cosine.
local function make_scheduler(config, optimizer)
  return torch.optim.lr_scheduler.LambdaLR(optimizer, function(step)
    if step < config.warmup_steps then return (step + 1) / config.warmup_steps end
    local done = math.min(1, (step - config.warmup_steps) / math.max(1, config.steps - config.warmup_steps))
    return 0.1 + 0.45 * (1 + math.cos(math.pi * done))
  end)
end

-- Writes the whole model for transformers. All workers call it: each tensor is gathered once, and rank 0 keeps it.
local function export(model, config, folder)
  local state_dict = torch.distributed.checkpoint.state_dict
  local state = state_dict.get_model_state_dict(model, {full_state_dict = true, cpu_offload = true})
  if train.get_context():get_world_rank() > 0 then return end
  local whole = torch.device('meta', text.models.LlamaForCausalLM, model_config(config))
  whole:load_state_dict(state, {assign = true})
  whole:save_pretrained(folder)
  tokenizer:save_pretrained(folder)
end

local function train_func(config)
  local model = make_model(config)
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = config.lr, betas = {0.9, 0.95}, weight_decay = 0.1})
  local state = train.state {
    model = model, optimizer = optimizer, scheduler = make_scheduler(config, optimizer),
    rows = train.get_dataset_shard 'train', step = 0,
  }
  state:load(train.get_checkpoint())
  assert(state.rows:count() >= config.batch_size, 'there are fewer blocks than a batch: more text, or a smaller length')

  local function report(loss)
    local metrics, is_last = {step = state.step, loss = loss}, state.step == config.steps
    if not is_last and state.step % config.save_steps > 0 then
      if state.step % config.report_steps == 0 then train.report(metrics) end
      return
    end
    train.tempdir(function(dir)
      state:save(dir)
      if is_last then export(model, config, dir .. '/model') end
      train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end

  while state.step < config.steps do
    for batch in state.rows:iter_torch_batches {batch_size = config.batch_size, drop_last = true} do
      local loss = model(batch.input_ids, {position_ids = batch.position_ids, labels = batch.labels}).loss
      optimizer:zero_grad()
      loss:backward()
      nn.utils.clip_grad_norm_(model:parameters(), 1)
      optimizer:step()
      state.scheduler:step()
      state.step = state.step + 1
      local mean = loss:detach():clone()
      torch.distributed.all_reduce(mean, 'avg')
      report(mean:item())
      if state.step == config.steps then return end
    end
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {
    text = '', vocab_size = 300, length = 32, hidden_size = 64, layers = 3, heads = 4, checkpoint_layers = false,
    batch_size = 8, steps = 100, warmup_steps = 10, lr = 1e-2, report_steps = 10, save_steps = 50, seed = 0,
  },
  datasets = make_datasets,
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {num_to_keep = 2}},
}:fit()
