-- rtrain run examples/dpo.lua [--set model=FOLDER --set data=FILE]: teaches a language model which answers are preferred.
--
-- Direct preference optimisation (Rafailov et al. 2023). FILE has an object of JSON in each line, {"prompt": …,
-- "chosen": …, "rejected": …}; FOLDER is a language model of Hugging Face. Without them a small Llama learns to prefer
-- polite answers, in seconds on 2 cores. The policy is the model with an adapter of low rank (LoRA), the reference the same
-- model without it; with r=0 all parameters are trained, and the reference is a copy. A checkpoint has the adapter in
-- peft's files (with r=0 the folder `model`), and what training needs to continue.
--
-- `margin` is how much more the policy prefers the chosen answers than the reference does, times beta; `preferred` is the
-- share of the pairs for which that is positive.
local json = require 'json'
local text = require 'text'
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'
local F = torch.nn.functional

local function own_rows()
  local rows = {}
  for _, thing in ipairs {'tea', 'coffee', 'water', 'bread', 'soup', 'rice', 'salt', 'milk'} do
    rows[#rows + 1] = {prompt = ('may i have %s ?'):format(thing), chosen = (' of course , here is %s'):format(thing),
                       rejected = (' no , get %s yourself'):format(thing)}
    rows[#rows + 1] = {prompt = ('is there %s ?'):format(thing), chosen = (' yes , please take %s'):format(thing),
                       rejected = (' who cares about %s'):format(thing)}
  end
  return rows
end

local function own_model(rows)
  local texts = {}
  for _, row in ipairs(rows) do texts[#texts + 1] = row.prompt .. row.chosen .. row.rejected end
  local empty = text.Tokenizer.from_str(json.encode {
    pre_tokenizer = {type = 'ByteLevel', add_prefix_space = false, trim_offsets = true, use_regex = true},
    decoder = {type = 'ByteLevel'}, model = {type = 'BPE', vocab = {}, merges = torch.list {}},
  })
  local tokenizer = empty:train_new_from_iterator(texts, {vocab_size = 200, special_tokens = {'<pad>', '</s>'}})
  tokenizer:add_special_tokens {pad_token = '<pad>', eos_token = '</s>'}
  return text.models.LlamaForCausalLM {
    vocab_size = tokenizer:get_vocab_size(), hidden_size = 64, intermediate_size = 128, num_hidden_layers = 2,
    num_attention_heads = 4, max_position_embeddings = 128, pad_token_id = 0, eos_token_id = 1, initializer_range = 0.1,
  }, tokenizer
end

local function logits_of(model, ids, options) return model(ids, options).logits end

-- Returns the policy, a function that computes the logits of the reference, and the tokenizer.
local function load_models(config, rows, device)
  local base, tokenizer
  if config.model ~= '' then
    base = text.AutoModelForCausalLM.from_pretrained(config.model, {device = device, dtype = config.dtype})
    tokenizer = text.Tokenizer.from_pretrained(config.model)
  else
    base, tokenizer = own_model(rows)
    base:to(device)
  end
  if config.r == 0 then
    local reference = base:deepcopy():eval()
    return base, function(...) return torch.no_grad(logits_of, reference, ...) end, tokenizer
  end
  local policy = text.lora.get_peft_model(base, text.lora.LoraConfig {
    r = config.r, lora_alpha = config.lora_alpha, target_modules = 'all-linear', task_type = 'CAUSAL_LM',
    base_model_name_or_path = config.model,
  })
  return policy, function(...) return policy:disable_adapter(torch.no_grad, logits_of, policy, ...) end, tokenizer
end

-- Ids and labels of a prompt with an answer; only the tokens of the answer, and the end, have labels.
local function encoded(tokenizer, prompt, answer, eos, config)
  local ids = tokenizer:encode(prompt).ids
  local first = #ids
  for _, id in ipairs(tokenizer:encode(answer, {add_special_tokens = false}).ids) do ids[#ids + 1] = id end
  ids[#ids + 1] = eos
  local labels = {}
  for place, id in ipairs(ids) do labels[place] = place > first and id or -100 end
  local length = math.min(#ids, config.max_length)
  return {unpack(ids, 1, length)}, {unpack(labels, 1, length)}
end

-- A batch of twice as many texts as rows: those with the chosen answers, then those with the rejected ones.
local function make_batch(rows, tokenizer, eos, config)
  local ids, labels, longest = {}, {}, 0
  for _, name in ipairs {'chosen', 'rejected'} do
    for _, row in ipairs(rows) do
      local at = #ids + 1
      ids[at], labels[at] = encoded(tokenizer, row.prompt, row[name], eos, config)
      longest = math.max(longest, #ids[at])
    end
  end
  local mask = {}
  for i, list in ipairs(ids) do
    mask[i] = {}
    for place = 1, longest do
      mask[i][place] = list[place] and 1 or 0
      list[place], labels[i][place] = list[place] or 0, labels[i][place] or -100
    end
  end
  local function tensor(values) return torch.tensor(values, {dtype = 'int64', device = train.torch.get_device()}) end
  return {input_ids = tensor(ids), attention_mask = tensor(mask), labels = tensor(labels)}
end

-- The log-probability of each answer: the sum over its tokens, (texts).
local function answer_log_probs(logits, labels)
  local count = labels.shape[2] - 1
  local next_labels = labels:narrow(1, 1, count)
  local is_answer = next_labels:ne(-100)
  local log_probs = F.log_softmax(logits:narrow(1, 0, count):to('float32'), -1)
  local of_tokens = log_probs:gather(2, next_labels:clamp{min = 0}:unsqueeze(2)):squeeze(2)
  return of_tokens:masked_fill(is_answer:logical_not(), 0):sum(1)
end

-- Returns the loss, and beta times how much more the policy prefers each chosen answer than the reference does.
local function dpo_loss(policy_logits, reference_logits, labels, beta)
  local ratios = answer_log_probs(policy_logits, labels) - answer_log_probs(reference_logits, labels)
  local chosen, rejected = unpack(ratios:chunk(2))
  local margins = (chosen - rejected) * beta
  return -F.logsigmoid(margins):mean(), margins:detach()
end

local function train_func(config)
  torch.manual_seed(config.seed)
  local device = train.torch.get_device()
  local rows = config.data == '' and own_rows()
    or require('rtrain.data').read_json(config.data):select_columns {'prompt', 'chosen', 'rejected'}:take_all()
  local policy, reference, tokenizer = load_models(config, rows, device)
  local model_config = (config.r == 0 and policy or policy:get_base_model()).config
  local eos = type(model_config.eos_token_id) == 'table' and model_config.eos_token_id[1] or model_config.eos_token_id
  local model = train.torch.prepare_model(policy)
  local trained = {}
  for _, parameter in ipairs(policy:parameters()) do
    if parameter.requires_grad then trained[#trained + 1] = parameter end
  end
  policy:eval()  -- without dropout: policy and reference are compared by their probabilities
  local optimizer = torch.optim.AdamW(trained, {lr = config.lr, weight_decay = 0})
  local loader = train.torch.prepare_data_loader(data.DataLoader(rows, {
    batch_size = config.batch_size, shuffle = true,
    collate_fn = function(samples) return make_batch(samples, tokenizer, eos, config) end,
  }))
  local none = torch.zeros({4}, {device = device})  -- sums of losses, margins, preferred answers and steps of an epoch
  local state = train.state {model = policy, optimizer = optimizer, loader = loader, epoch = 0, sums = none}
  state:load(train.get_checkpoint())

  local function save(sums)
    local means = (sums / sums[3]):tolist()
    train.tempdir(function(dir)
      state:save(dir)
      if train.get_context():get_world_rank() == 0 then
        local folder = config.r == 0 and dir .. '/model' or dir
        policy:save_pretrained(folder)
        tokenizer:save_pretrained(folder)
      end
      train.report({epoch = state.epoch, loss = means[1], margin = means[2], preferred = means[3]},
        {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end

  train.elastic(state, function()
    while state.epoch < config.epochs do
      loader.sampler:set_epoch(state.epoch)
      for batch in loader do
        local options = {attention_mask = batch.attention_mask}
        local reference_logits = reference(batch.input_ids, options)
        local policy_logits = logits_of(model, batch.input_ids, options)
        local loss, margins = dpo_loss(policy_logits, reference_logits, batch.labels, config.beta)
        optimizer:zero_grad()
        loss:backward()
        torch.nn.utils.clip_grad_norm_(trained, 1)
        local preferred = margins:gt(0):to('float32'):mean()
        local means = torch.stack {loss:detach(), margins:mean(), preferred, torch.ones_like(preferred)}
        torch.distributed.all_reduce(means, 'avg')  -- the same on all ranks: one that is replaced gets it too
        optimizer:step()
        state.sums = state.sums + means
        state:commit()
      end
      local sums = state.sums
      state.epoch, state.sums = state.epoch + 1, none
      save(sums)
      state:commit()
    end
  end)
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {
    model = '', data = '', dtype = 'float32', beta = 0.1, r = 8, lora_alpha = 16, max_length = 512, batch_size = 4, epochs = 10,
    lr = 2e-3, seed = 0,
  },
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {num_to_keep = 2}},
}:fit()
