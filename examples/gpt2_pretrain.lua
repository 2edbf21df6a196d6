-- rtrain run examples/gpt2_pretrain.lua --set text=FILE: trains a GPT-2 of 124M parameters from random weights.
--
-- The text has a document in each line; or it is JSON lines or Parquet with a column `text`; without one, sums are made up.
-- tokenizer is a folder or a tokenizer.json; without one, a byte-level BPE of vocab_size tokens is trained on the text.
-- A checkpoint is a folder that transformers reads too: rtrain predict last --prompt 'Once upon'.
local data = require 'rtrain.data'
local text = require 'text'
local torch = require 'torch'
local train = require 'rtrain'
local nn = torch.nn

local function read_documents(config)
  local path = config.text
  if path:find '%.parquet$' then return data.read_parquet(path) end
  if path:find '%.jsonl?$' then return data.read_json(path) end
  if path ~= '' then return data.read_text(path) end
  math.randomseed(config.seed)
  local rows = {}
  for i = 1, 4000 do
    local a, b = math.random(0, 9), math.random(0, 9)
    rows[i] = {text = ('%d plus %d is %d.'):format(a, b, a + b)}
  end
  return data.from_items(rows)
end

local function make_tokenizer(config, documents)
  if config.tokenizer:find '%.json$' then return text.Tokenizer.from_file(config.tokenizer) end
  if config.tokenizer ~= '' then return text.Tokenizer.from_pretrained(config.tokenizer) end
  local empty = text.Tokenizer.from_str [[{"model": {"type": "BPE", "vocab": {}, "merges": []},
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}}]]
  local rows = documents:iter_rows()
  return empty:train_new_from_iterator(function()
    local row = rows()
    return row and row.text
  end, {vocab_size = config.vocab_size})
end

local tokenizer  -- made when the config is known; it travels with the train function

local function make_datasets(config)
  local documents = read_documents(config)
  tokenizer = make_tokenizer(config, documents)
  if not tokenizer.eos_token then tokenizer:add_special_tokens {eos_token = '<|endoftext|>'} end
  local blocks = text.pack(documents, {tokenizer = tokenizer, length = config.length})
  local training, held_out = blocks:train_test_split(config.held_out)
  return {train = training:random_shuffle {seed = config.seed}, valid = held_out}
end

local function make_model(config)
  return text.models.GPT2LMHeadModel {
    vocab_size = tokenizer:get_vocab_size(), n_positions = config.length, n_embd = config.n_embd, n_layer = config.n_layer,
    n_head = config.n_head, resid_pdrop = 0, embd_pdrop = 0, attn_pdrop = 0,
    bos_token_id = tokenizer.eos_token_id, eos_token_id = tokenizer.eos_token_id,
  }
end

-- Weight decay belongs to matrices, not to biases and norms.
local function make_optimizer(config, model)
  local decayed, others = {}, {}
  for _, parameter in ipairs(model:parameters()) do
    table.insert(parameter:dim() > 1 and decayed or others, parameter)
  end
  return torch.optim.AdamW({{params = decayed, weight_decay = 0.1}, {params = others, weight_decay = 0}},
    {lr = config.lr, betas = {0.9, 0.95}})
end

-- Up to lr over the first steps, then down to a tenth of it along a cosine.
local function make_scheduler(config, optimizer)
  return torch.optim.lr_scheduler.LambdaLR(optimizer, function(step)
    if step < config.warmup_steps then return (step + 1) / config.warmup_steps end
    local done = math.min(1, (step - config.warmup_steps) / math.max(1, config.steps - config.warmup_steps))
    return 0.1 + 0.45 * (1 + math.cos(math.pi * done))
  end)
end

local function loss_of(model, batch)
  local kind = train.torch.get_device():match '^%a+'
  return torch.autocast(kind, {dtype = 'bfloat16', enabled = kind == 'cuda'}, function()
    return model(batch.input_ids, {position_ids = batch.position_ids, labels = batch.labels}).loss
  end)
end

local function evaluate(model, config)
  local total, batches = 0, 0
  model:eval()
  torch.no_grad(function()
    for batch in train.get_dataset_shard 'valid':iter_torch_batches {batch_size = config.batch_size} do
      total, batches = total + loss_of(model, batch):item(), batches + 1
    end
  end)
  model:train()
  local sums = torch.distributed.all_reduce(torch.tensor {total, batches})
  return (sums[0] / sums[1]):item()
end

-- The mean over the ranks. What a step adds to the state is the same on all of them, so a rank that is replaced gets it too.
local function mean_over_ranks(value)
  local mean = value:detach():clone()
  torch.distributed.all_reduce(mean, 'avg')
  return mean
end

local function train_func(config)
  torch.manual_seed(config.seed)
  local net = make_model(config)
  local model = train.torch.prepare_model(net)
  local optimizer = make_optimizer(config, net)
  local state = train.state {
    model = model, optimizer = optimizer, scheduler = make_scheduler(config, optimizer),
    rows = train.get_dataset_shard 'train', step = 0, loss = 0,
  }
  state:load(train.get_checkpoint())
  assert(state.rows:count() >= config.batch_size, 'there are fewer blocks than a batch: more text, or a smaller length')

  local function save()
    local valid_loss = evaluate(net, config)
    train.tempdir(function(dir)
      state:save(dir)
      if train.get_context():get_world_rank() == 0 then
        net:save_pretrained(dir)
        tokenizer:save_pretrained(dir)
      end
      train.report({step = state.step, loss = state.loss, valid_loss = valid_loss, lr = state.scheduler:get_last_lr()[1]},
        {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end

  train.elastic(state, function()
    local parts, loss = 0, 0
    optimizer:zero_grad()
    while state.step < config.steps do
      for batch in state.rows:iter_torch_batches {batch_size = config.batch_size, drop_last = true} do
        parts = parts + 1
        local is_last = parts % config.accumulate == 0
        local function backward()
          local part = loss_of(model, batch) / config.accumulate
          part:backward()
          loss = loss + part:item()
        end
        if is_last or model == net then backward() else model:no_sync(backward) end
        if is_last then
          nn.utils.clip_grad_norm_(net:parameters(), 1)
          local mean = mean_over_ranks(torch.tensor(loss, {device = train.torch.get_device()}))
          optimizer:step()
          optimizer:zero_grad()
          state.scheduler:step()
          state.step, state.loss, loss = state.step + 1, mean:item(), 0
          if state.step % config.save_steps == 0 or state.step == config.steps then
            save()
          elseif state.step % config.report_steps == 0 then
            train.report {step = state.step, loss = state.loss, lr = state.scheduler:get_last_lr()[1]}
          end
          state:commit()
          if state.step == config.steps then return end
        end
      end
    end
  end)
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {
    text = '', tokenizer = '', vocab_size = 32000, length = 1024, held_out = 0.05, n_layer = 12, n_head = 12, n_embd = 768,
    batch_size = 8, accumulate = 4, steps = 2000, warmup_steps = 200, lr = 6e-4, report_steps = 10, save_steps = 200, seed = 0,
  },
  datasets = make_datasets,
  scaling_config = train.ScalingConfig {num_workers = 1},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {num_to_keep = 2}},
}:fit()
