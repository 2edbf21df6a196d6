-- text/pack/init.lua: documents as blocks of equal length, for the training of language models.

local args = require 'base.args'
local class = require 'base.class'
local Dataset = require 'rtrain.data.dataset'
local errors = require 'base.errors'
local PackedSource = require('text.pack.packed_source').PackedSource
local Plan = require 'rtrain.data.executor.plan'
local Strings = require 'torch.utils.data.strings'
local system = require 'base._system'
local token_file = require 'text.pack.token_file'
local Tokenizer = require('text.tokenizer').Tokenizer

local NAMES = {'length', 'tokenizer', 'separator', 'shuffle', 'seed', 'column', 'add_special_tokens', 'folder'}

local function fail(format, ...) errors.raise('argument', 'text.pack: ' .. format:format(...)) end

-- The id that stands behind each document; nil for none.
local function separator_of(tokenizer, given)
  if given == false then return nil end
  if type(given) == 'number' then return given end
  local token = given or tokenizer.eos_token
  if not token then fail "the tokenizer names no eos_token: give separator, a token, its id, or false for none" end
  local id = tokenizer:token_to_id(token)
  if not id then fail("the separator '%s' is not a token of the tokenizer", tostring(token)) end
  return id
end

local function checked(dataset, options)
  options = args.options(options, NAMES, 'text.pack')
  if not class.is(dataset, Dataset) then
    fail('expected a dataset of rtrain.data, got a %s: rtrain.data.read_text(path), read_json(path), from_items{…}',
      type(dataset))
  end
  if not class.is(options.tokenizer, Tokenizer) then fail 'expected {tokenizer = a text.Tokenizer}' end
  local length = options.length
  if type(length) ~= 'number' or length < 2 or length % 1 ~= 0 then
    fail('length is a whole number of tokens from 2 on, got %s', tostring(length))
  end
  return options
end

-- The dataset whose rows are the ids of some documents, as bytes.
local function tokenized(dataset, tokenizer, column, how)
  return dataset:map_batches(function(batch)
    local texts = batch[column]
    if not texts then fail("there is no column '%s': give the option column", column) end
    for i, text in ipairs(texts) do
      if type(text) ~= 'string' then fail("column '%s': row %d of its block has no string", column, i) end
    end
    local ids, lengths = tokenizer:_pack_ids(texts, how)
    return {ids = Strings.from_list({ids}, 1, true), lengths = Strings.from_list({lengths}, 1, true)}
  end, {batch_size = nil})
end

local function default_folder()
  local cache = os.getenv 'XDG_CACHE_HOME' or ''
  return (cache ~= '' and cache or (os.getenv 'HOME' or '/tmp') .. '/.cache') .. '/rtrain/packed'
end

-- Says what the tokens are made of: what is to be run, and size and time of the files that it reads. nil if that is not
-- known, as of an object store.
local function fingerprint(dataset)
  local parts = {(require('base._closure').dump(dataset._plan))}
  for _, path in ipairs(dataset:input_files()) do
    local stamp = system.file_stamp(path)
    if stamp == '' then return nil end
    parts[#parts + 1] = path .. '\n' .. stamp
  end
  return system.hash(table.concat(parts, '\n'))
end

local function parts_of(dataset)
  local next_row = dataset:iter_rows()
  return function()
    local row = next_row()
    return row and {ids = row.ids, lengths = row.lengths}
  end
end

---Options of text.pack.
---@class text.PackOptions
---@field tokenizer text.Tokenizer
---@field length integer tokens of a block
---@field separator? string|integer|false a token or its id, behind each document; false: none (the tokenizer's eos_token)
---@field shuffle? boolean blocks in a new order each epoch (false)
---@field seed? integer of the order
---@field column? string 'text'
---@field add_special_tokens? boolean what the post-processor adds to each document (false)
---@field folder? string of the file ($XDG_CACHE_HOME/rtrain/packed); on several nodes one that all have

---Documents as blocks of `length` tokens: all tokens one after another, in the order of the documents, with a separator
---behind each; what does not fill the last block is left out.
---
---A row has `input_ids`; `position_ids`, from 0 in each document; and `labels`, where the first token of a document is
----100. Models that get position_ids see, of each token, the same document alone (as transformers does with packed
---sequences). Tokens are made once, on the threads of the dataset, and kept in a file of `folder`: the next call reads it.
---So every row has its number: shares of workers, shuffles and continuing in the middle are those of any dataset.
---Equivalents: run_clm's group_texts, transformers' DataCollatorWithFlattening, TRL's packing.
---
---```lua
---local data, text = require 'rtrain.data', require 'text'
---local tokenizer = text.Tokenizer.from_str[[{"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, ".": 2},
---  "unk_token": "a"}, "pre_tokenizer": {"type": "Whitespace"}}]]
---local folder = os.tmpname() .. '.tokens'
---local packed = text.pack(data.from_items{{text = 'a b'}, {text = 'b b a'}}, {
---  tokenizer = tokenizer, length = 3, separator = '.', folder = folder})
---local rows = packed:take_all()
---assert(#rows == 2 and table.concat(rows[2].input_ids:tolist(), ' ') == '1 1 0')
---assert(table.concat(rows[1].input_ids:tolist(), ' ') == '0 1 2')
---assert(table.concat(rows[2].labels:tolist(), ' ') == '-100 1 0')
---require('base._system').remove_tree(folder)
---```
---@param dataset rtrain.data.Dataset with a column of texts
---@param options text.PackOptions
---@return rtrain.data.Dataset packed input_ids, position_ids, labels: int64 (length)
---Errors: 'argument' for a row without a text, a text that is not UTF-8, and fewer tokens than one block has.
return function(dataset, options)
  options = checked(dataset, options)
  local tokenizer, length = options.tokenizer, options.length
  local how = {
    add_special_tokens = options.add_special_tokens == true, separator = separator_of(tokenizer, options.separator),
    id_bytes = tokenizer:get_vocab_size() <= 2 ^ 16 and 2 or 4,
  }
  local texts = tokenized(dataset, tokenizer, options.column or 'text', how)
  local mark = fingerprint(texts)
  local path = ('%s/%s.safetensors'):format(system.absolute(options.folder or default_folder()),
    mark or require 'base.random_hex'(16))
  local file = mark and token_file.open(path)
  if not file then
    token_file.write(path, parts_of(texts), how.id_bytes)
    file = token_file.open(path)
  end
  local counts = {tokens = file.tokens:numel(), documents = file.documents:numel()}
  if counts.tokens < length then
    fail('%d documents have %d tokens, and a block has %d', counts.documents, counts.tokens, length)
  end
  local packed = Dataset(Plan(PackedSource(path, length, counts)))
  return options.shuffle and packed:random_shuffle {seed = options.seed} or packed
end
