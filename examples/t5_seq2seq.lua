-- rtrain run examples/t5_seq2seq.lua [--set model=FOLDER --set data=FILE]: a T5 that writes a text for a text.
--
-- FILE has an object of JSON in each line, {"input": …, "target": …}; FOLDER is a T5 of Hugging Face. Without them a small
-- T5 learns to write numbers as words, in seconds on 2 cores. A checkpoint has the folder `model`, which transformers
-- loads, and what training needs to continue. At the end of the last epoch the model writes texts for the first inputs, which
-- `rtrain show RUN --media` has, and `exact` is the share of them that are the targets.
local json = require 'json'
local text = require 'text'
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'

local IGNORED = -100  -- the label of padding, which does not count in the loss

local ONES = {'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'}
local TENS = {'twenty', 'thirty', 'forty', 'fifty'}

local function own_rows()
  local rows = {}
  for t, ten in ipairs(TENS) do
    for o, one in ipairs(ONES) do
      rows[#rows + 1] = {input = ('write %d'):format((t + 1) * 10 + o), target = ten .. ' ' .. one}
    end
  end
  return rows
end

-- A tokenizer as T5's: <pad> is 0, </s> ends a text and is 1.
local function own_tokenizer(rows)
  local texts = {}
  for _, row in ipairs(rows) do texts[#texts + 1], texts[#texts + 2] = row.input, row.target end
  local ending = {SpecialToken = {id = '</s>', type_id = 0}}
  local sequence = {Sequence = {id = 'A', type_id = 0}}
  local empty = text.Tokenizer.from_str(json.encode {
    pre_tokenizer = {type = 'ByteLevel', add_prefix_space = false, trim_offsets = true, use_regex = true},
    decoder = {type = 'ByteLevel', add_prefix_space = true, trim_offsets = true, use_regex = true},
    model = {type = 'BPE', vocab = {}, merges = torch.list {}},
    post_processor = {
      type = 'TemplateProcessing', single = {sequence, ending}, pair = torch.list {},
      special_tokens = {['</s>'] = {id = '</s>', ids = {1}, tokens = {'</s>'}}},
    },
  })
  local tokenizer = empty:train_new_from_iterator(texts, {vocab_size = 80, special_tokens = {'<pad>', '</s>', '<unk>'}})
  tokenizer:add_special_tokens {pad_token = '<pad>', eos_token = '</s>', unk_token = '<unk>'}
  return tokenizer
end

local function load_model(config, rows)
  if config.model ~= '' then
    return text.AutoModelForSeq2SeqLM.from_pretrained(config.model), text.Tokenizer.from_pretrained(config.model)
  end
  local tokenizer = own_tokenizer(rows)
  return text.models.T5ForConditionalGeneration {
    vocab_size = tokenizer:get_vocab_size(), d_model = 64, d_kv = 16, d_ff = 128, num_layers = 2, num_heads = 4,
    dropout_rate = 0.05,
  }, tokenizer
end

-- Ids of a column of rows, padded to the longest of them with `filler`.
local function ids_of(rows, name, tokenizer, config, filler)
  local lists, longest = {}, 0
  for i, row in ipairs(rows) do
    lists[i] = tokenizer:encode(row[name]).ids
    longest = math.max(longest, math.min(#lists[i], config.max_length))
  end
  for _, ids in ipairs(lists) do
    for place = #ids + 1, longest do ids[place] = filler end
    for place = #ids, longest + 1, -1 do ids[place] = nil end
  end
  return torch.tensor(lists, {dtype = 'int64', device = train.torch.get_device()})
end

local function make_batch(rows, tokenizer, model, config)
  local input = ids_of(rows, 'input', tokenizer, config, IGNORED)
  local mask = input:ne(IGNORED)
  return {
    input_ids = input:masked_fill(mask:logical_not(), model.config.pad_token_id), attention_mask = mask:to('int64'),
    labels = ids_of(rows, 'target', tokenizer, config, IGNORED),
  }
end

-- Writes texts for rows. Returns the lines to log, and the share of texts that are the targets.
local function write_texts(model, tokenizer, rows, config)
  local batch, lines, exact = make_batch(rows, tokenizer, model, config), {}, 0
  local ids = model:generate(batch.input_ids, {attention_mask = batch.attention_mask, max_new_tokens = config.max_new_tokens})
  for i, row in ipairs(rows) do
    local written = tokenizer:decode(ids[i - 1])
    lines[i] = ('%s → %s'):format(row.input, written)
    if written == row.target then exact = exact + 1 end
  end
  return table.concat(lines, '\n'), exact / #rows
end

-- The mean over the ranks. What a step adds to the state is the same on all of them, so a rank that is replaced gets it too.
local function mean_over_ranks(value)
  local mean = value:detach():clone()
  torch.distributed.all_reduce(mean, 'avg')
  return mean
end

local function train_func(config)
  torch.manual_seed(config.seed)
  local rows = own_rows()
  if config.data ~= '' then
    rows = require('rtrain.data').read_json(config.data):select_columns {'input', 'target'}:take_all()
  end
  local t5, tokenizer = load_model(config, rows)
  t5:to(train.torch.get_device())
  local model = train.torch.prepare_model(t5)
  local optimizer = torch.optim.AdamW(t5:parameters(), {lr = config.lr, weight_decay = 0})
  local loader = train.torch.prepare_data_loader(data.DataLoader(rows, {
    batch_size = config.batch_size, shuffle = true,
    collate_fn = function(samples) return make_batch(samples, tokenizer, t5, config) end,
  }))
  local state = train.state {model = t5, optimizer = optimizer, loader = loader, epoch = 0, loss = 0}
  state:load(train.get_checkpoint())

  local function report(loss)
    local metrics, is_first = {epoch = state.epoch, loss = loss}, train.get_context():get_world_rank() == 0
    if state.epoch == config.epochs and is_first then
      local shown = {unpack(rows, 1, config.shown)}
      local written
      written, metrics.exact = write_texts(t5, tokenizer, shown, config)
      train.log_text('written', written, {step = state.epoch})
      print(written)
    end
    if state.epoch % config.save_every > 0 and state.epoch < config.epochs then return train.report(metrics) end
    train.tempdir(function(dir)
      state:save(dir)
      if is_first then
        t5:save_pretrained(dir .. '/model')
        tokenizer:save_pretrained(dir .. '/model')
      end
      train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end

  train.elastic(state, function()
    while state.epoch < config.epochs do
      loader.sampler:set_epoch(state.epoch)
      t5:train()
      for batch in loader do
        local loss = model(batch.input_ids, {attention_mask = batch.attention_mask, labels = batch.labels}).loss
        optimizer:zero_grad()
        loss:backward()
        torch.nn.utils.clip_grad_norm_(t5:parameters(), 1)
        local mean = mean_over_ranks(loss)
        optimizer:step()
        state.loss = state.loss + mean:item() / #loader
        state:commit()
      end
      local loss = state.loss
      state.epoch, state.loss = state.epoch + 1, 0
      report(loss)
      state:commit()
    end
  end)
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {
    model = '', data = '', lr = 3e-3, batch_size = 6, epochs = 40, save_every = 10, max_length = 128, max_new_tokens = 32,
    shown = 12, seed = 0,
  },
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {num_to_keep = 2}},
}:fit()
