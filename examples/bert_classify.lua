-- rtrain run examples/bert_classify.lua [-- --model FOLDER --data FILE]: a BERT that says which label a text has.
--
-- FILE has an object of JSON in each line, {"text": …, "label": …}; a fifth of them are kept for the evaluation. FOLDER is
-- one of Hugging Face: BERT, RoBERTa or DistilBERT. Without them a small BERT learns to tell praise, complaints and questions
-- apart, in seconds on 2 cores. A checkpoint has the folder `model`, which transformers loads, and what training needs
-- to continue. At the end the labels of a few texts are printed.
local argparse = require 'argparse'
local data = require 'rtrain.data'
local json = require 'json'
local text = require 'text'
local torch = require 'torch'
local train = require 'rtrain'

local parser = argparse('bert_classify.lua', 'Teaches a BERT to classify texts.')
parser:option('--model', 'a folder of Hugging Face; default: a small BERT', '')
parser:option('--data', 'JSON lines with text and label; default: made here', '')
local options = parser:parse()

local SUBJECTS = {'the film', 'this book', 'her song', 'our trip', 'the soup', 'that game', 'his talk', 'the hotel', 'my bike'}
local SAID = {
  praise = {'%s was wonderful', 'i loved %s', '%s is a great joy', 'what a delight %s was', 'everyone should try %s'},
  complaint = {'%s was awful', 'i hated %s', '%s is a waste of time', 'what a mess %s was', 'everyone should avoid %s'},
  question = {'how was %s ?', 'did you like %s ?', 'is %s any good ?', 'where can i find %s ?', 'should i try %s ?'},
}

local function own_rows()
  local rows = {}
  for _, label in ipairs {'complaint', 'praise', 'question'} do
    for _, sentence in ipairs(SAID[label]) do
      for _, subject in ipairs(SUBJECTS) do rows[#rows + 1] = {text = sentence:format(subject), label = label} end
    end
  end
  return rows
end

local SPECIAL = {'[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'}  -- their ids are 0 to 4

-- A tokenizer as BERT's, whose words are those of the texts.
local function own_tokenizer(texts)
  local function special(id) return {SpecialToken = {id = id, type_id = 0}} end
  local function ids_of(token, id) return {id = token, ids = {id}, tokens = {token}} end
  local empty = text.Tokenizer.from_str(json.encode {
    normalizer = {type = 'BertNormalizer', clean_text = true, handle_chinese_chars = true, lowercase = true},
    pre_tokenizer = {type = 'BertPreTokenizer'}, decoder = {type = 'WordPiece', prefix = '##', cleanup = true},
    model = {type = 'WordPiece', vocab = {['[UNK]'] = 0}, unk_token = '[UNK]', continuing_subword_prefix = '##',
             max_input_chars_per_word = 100},
    post_processor = {
      type = 'TemplateProcessing', single = {special '[CLS]', {Sequence = {id = 'A', type_id = 0}}, special '[SEP]'},
      pair = torch.list {}, special_tokens = {['[CLS]'] = ids_of('[CLS]', 2), ['[SEP]'] = ids_of('[SEP]', 3)},
    },
  })
  local tokenizer = empty:train_new_from_iterator(texts, {vocab_size = 400, special_tokens = SPECIAL})
  tokenizer:add_special_tokens {
    pad_token = '[PAD]', unk_token = '[UNK]', cls_token = '[CLS]', sep_token = '[SEP]', mask_token = '[MASK]',
  }
  return tokenizer
end

-- Makes the last layer as wide as there are labels, and writes their names into the config.
local function with_labels(model, labels)
  local owner, name = model, 'classifier'
  for path in model:named_modules() do
    if path == 'classifier.out_proj' then owner, name = model.classifier, 'out_proj' end  -- RoBERTa's
  end
  local width = owner[name].weight.shape[2]
  if owner[name].weight.shape[1] ~= #labels then owner[name] = torch.nn.Linear(width, #labels) end
  model.config.num_labels, model.config.id2label, model.config.label2id = nil, {}, {}
  for i, label in ipairs(labels) do
    model.config.id2label[tostring(i - 1)], model.config.label2id[label] = label, i - 1
  end
  return model
end

local function make_model(config, vocab_size, labels)
  if options.model ~= '' then
    return with_labels(text.AutoModelForSequenceClassification.from_pretrained(options.model), labels)
  end
  return with_labels(text.models.BertForSequenceClassification {
    vocab_size = vocab_size, hidden_size = config.hidden_size, intermediate_size = 2 * config.hidden_size,
    num_hidden_layers = 2, num_attention_heads = 4, max_position_embeddings = config.max_length,
    initializer_range = 0.1,  -- more than a large model's: a small one begins to learn sooner
  }, labels)
end

-- Pads the ids of a batch to the longest of them.
local function padded(batch, config, device)
  local longest = 0
  for _, ids in ipairs(batch.ids) do longest = math.max(longest, math.min(#ids, config.max_length)) end
  local ids, mask = {}, {}
  for row, given in ipairs(batch.ids) do
    ids[row], mask[row] = {}, {}
    for place = 1, longest do
      ids[row][place], mask[row][place] = given[place] or config.pad_token_id, given[place] and 1 or 0
    end
  end
  local function tensor(values) return torch.tensor(values, {dtype = 'int64', device = device}) end
  return tensor(ids), {attention_mask = tensor(mask), labels = batch.label and batch.label:to(device)}
end

-- Share of the texts whose label is found, over all ranks.
local function evaluate(model, shard, config, device)
  local correct, seen = 0, 0
  model:eval()
  torch.no_grad(function()
    for batch in shard:iter_torch_batches {batch_size = 32, collate_fn = function(rows) return rows end} do
      local ids, given = padded(batch, config, device)
      correct = correct + model(ids, given).logits:argmax(1):eq(given.labels):sum():item()
      seen = seen + given.labels.shape[1]
    end
  end)
  local sums = torch.distributed.all_reduce(torch.tensor({correct, seen}, {device = device}))
  return (sums[0] / sums[1]):item()
end

local all = options.data == '' and data.from_items(own_rows()) or data.read_json(options.data):select_columns {'text', 'label'}
local texts = {}
if options.model == '' then
  for row in all:iter_rows() do texts[#texts + 1] = row.text end
end
local tokenizer = options.model ~= '' and text.Tokenizer.from_pretrained(options.model) or own_tokenizer(texts)
local P = data.preprocessors
local encoder = P.LabelEncoder 'label'
local preprocessor = P.Chain(encoder, P.Tokenizer {columns = {'text'}, tokenization_fn = tokenizer, output_columns = {'ids'}})
preprocessor:fit(all)
local labels = encoder.stats_['unique_values(label)']
local train_rows, test_rows = unpack(all:random_shuffle {seed = 0}:materialize():split_proportionately {0.8})

local function train_func(config)
  torch.manual_seed(config.seed)
  local device = train.torch.get_device()
  local bert = make_model(config, tokenizer:get_vocab_size(), labels)
  config.pad_token_id = bert.config.pad_token_id
  config.max_length = math.min(config.max_length, bert.config.max_position_embeddings)
  local model = train.torch.prepare_model(bert)
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = config.lr})
  local shard, test = train.get_dataset_shard 'train', train.get_dataset_shard 'test'
  local state = train.state {model = bert, optimizer = optimizer, shard = shard, epoch = 0, loss = 0, steps = 0}
  state:load(train.get_checkpoint())

  local function save(loss)
    local metrics = {epoch = state.epoch, loss = loss, accuracy = evaluate(bert, test, config, device)}
    train.tempdir(function(dir)
      state:save(dir)
      if train.get_context():get_world_rank() == 0 then
        bert:save_pretrained(dir .. '/model')
        tokenizer:save_pretrained(dir .. '/model')
      end
      train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end

  train.elastic(state, function()
    while state.epoch < config.epochs do
      bert:train()
      local rows = {batch_size = config.batch_size, collate_fn = function(batch) return batch end}
      for batch in shard:iter_torch_batches(rows) do
        local ids, given = padded(batch, config, device)
        local loss = model(ids, given).loss
        optimizer:zero_grad()
        loss:backward()
        torch.nn.utils.clip_grad_norm_(bert:parameters(), 1)
        local mean = loss:detach():clone()
        torch.distributed.all_reduce(mean, 'avg')  -- the same on all ranks: one that is replaced gets it too
        optimizer:step()
        state.loss, state.steps = state.loss + mean:item(), state.steps + 1
        state:commit()
      end
      local loss = state.loss / state.steps
      state.epoch, state.loss, state.steps = state.epoch + 1, 0, 0
      save(loss)
      state:commit()
    end
  end)
end

local result = train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {lr = 1e-3, batch_size = 8, epochs = 12, hidden_size = 64, max_length = 128, seed = 0},
  datasets = {train = preprocessor:transform(train_rows:random_shuffle {seed = 1}), test = preprocessor:transform(test_rows)},
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {checkpoint_config = {num_to_keep = 2, checkpoint_score_attribute = 'accuracy'}},
}:fit()

print(('accuracy %.3f'):format(result.metrics.accuracy))
local bert = text.AutoModelForSequenceClassification.from_pretrained(result.checkpoint.path .. '/model')
for _, row in ipairs(test_rows:take(3)) do
  local ids = torch.tensor({tokenizer:encode(row.text).ids}, {dtype = 'int64'})
  print(('%s: %s'):format(encoder:labels_of(bert(ids).logits:argmax(1))[1], row.text))
end
