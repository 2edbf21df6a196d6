-- text/tokenizer.lua: text to ids and back, as tokenizers' Tokenizer.
--
-- host/text does the work; this file handles the arguments.

local args = require 'base.args'
local batches = require 'text.batches'
local class = require 'base.class'
local errors = require 'base.errors'
local json = require 'json'
local ordered = require 'base.ordered'
local read_file = require 'base.read_file'
local system = require 'base._system'
local write_file = require 'base.write_file'

local C = require 'text._C'
local Encoding = require('text.encoding').Encoding

---Makes ids of text and text of ids, as a `tokenizer.json` says. Every model (BPE, WordPiece, Unigram, WordLevel),
---normalizer, pre-tokenizer, post-processor and decoder of that format is there. Ids are those of Hugging Face's
---tokenizers. A tokenizer may be an upvalue of a train function.
---
---```lua
---local text = require 'text'
---local tokenizer = text.Tokenizer.from_str[[{
---  "added_tokens": [{"id": 3, "content": "<s>", "special": true}],
---  "pre_tokenizer": {"type": "Whitespace"},
---  "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
---    {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
---    "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}},
---  "model": {"type": "WordLevel", "vocab": {"hello": 0, "world": 1, "?": 2}, "unk_token": "?"}}]]
---assert(table.concat(tokenizer:encode('hello world').ids, ' ') == '3 0 1')
---assert(tokenizer:decode{0, 1} == 'hello world')
---```
---@class text.Tokenizer
---@field chat_template string? in Jinja, for apply_chat_template
---@field bos_token string? of the model's folder, as eos_token, pad_token, unk_token, sep_token, cls_token, mask_token
---@field bos_token_id integer? and those of the others
---@field eos_token string?
---@field eos_token_id integer?
---@field pad_token string?
---@field pad_token_id integer?
local Tokenizer = class.new('Tokenizer', nil, {userdata = true})

-- Makes fields such as eos_token and eos_token_id.
local function name_special_tokens(self, tokens)
  for name, token in next, tokens do
    if type(token) == 'string' and name:find '_token$' then
      self[name], self[name .. '_id'] = token, self._handle:token_to_id(token)
    end
  end
end

local function wrap(handle, config)
  local self = Tokenizer.__new(Tokenizer)
  self._handle, self._config, self._templates = handle, config or {}, {}
  self.chat_template = self._config.chat_template
  name_special_tokens(self, self._config.special_tokens or {})
  return self
end

function Tokenizer:init()
  errors.raise('argument', 'Tokenizer: make one by Tokenizer.from_file(path), from_pretrained(folder) or from_str(json)')
end

local function check_text(owner, value)
  if type(value) ~= 'string' then
    errors.raise('argument', ('%s: expected a string, got %s'):format(owner, type(value)))
  end
  return value
end

local function read(owner, path)
  local text, reason = read_file(check_text(owner, path))
  if not text then errors.raise('not_found', ('%s: %s'):format(owner, reason)) end
  return text
end

---Makes a tokenizer of the text of a tokenizer.json.
---@param text string
---@return text.Tokenizer
---Errors: 'argument' naming the component that is wrong; also for a vocabulary of more than 4 million tokens.
function Tokenizer.from_str(text) return wrap(C.from_json(check_text('Tokenizer.from_str', text))) end

---Reads a tokenizer.json.
---
---```lua
---local text = require 'text'
---local path = os.tmpname()
---text.Tokenizer.from_str[[{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}]]:save(path)
---assert(text.Tokenizer.from_file(path):get_vocab_size() == 1)
---os.remove(path)
---```
---@param path string
---@return text.Tokenizer
---Errors: 'not_found' if it cannot be read; as of from_str.
function Tokenizer.from_file(path) return wrap(C.from_json(read('Tokenizer.from_file', path))) end

---Reads the tokenizer of a model's folder: tokenizer.json, else SentencePiece's or tiktoken's tokenizer.model, else
---vocab.json with merges.txt (GPT-2, RoBERTa, Qwen 2), else vocab.txt (BERT). Added and special tokens and the chat
---template are those of tokenizer_config.json, special_tokens_map.json and chat_template.jinja.
---@param folder string
---@return text.Tokenizer
---Errors: 'not_found' for a folder without a tokenizer; 'argument' naming the file that is wrong.
function Tokenizer.from_pretrained(folder)
  return wrap(C.from_pretrained(check_text('Tokenizer.from_pretrained', folder)))
end

-- It travels as its tokenizer.json.
function Tokenizer:__pack()
  local config = {special_tokens = self._config.special_tokens, chat_template = self.chat_template}
  return 'text.tokenizer', '_unpack', {json = self:to_str(), config = config}
end

local ENCODE = {'add_special_tokens', 'return_overflowing_tokens'}

-- add_special_tokens, return_overflowing_tokens
local function encode_flags(options) return options.add_special_tokens ~= false, options.return_overflowing_tokens == true end

---Makes ids of a text, or of a pair of texts.
---
---```lua
---local text = require 'text'
---local tokenizer = text.Tokenizer.from_str[[{"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"},
---  "pre_tokenizer": {"type": "Whitespace"}}]]
---local encoding = tokenizer:encode('a b', 'b', {add_special_tokens = false})
---assert(table.concat(encoding.ids, ' ') == '0 1 1' and table.concat(encoding.type_ids, ' ') == '0 0 1')
---tokenizer:enable_truncation(3, {stride = 1})
---encoding = tokenizer:encode('a b b a b', {return_overflowing_tokens = true})
---assert(table.concat(encoding.ids, ' ') == '0 1 1' and table.concat(encoding.overflowing[1].ids, ' ') == '1 0 1')
---```
---With `return_overflowing_tokens`, `encoding.overflowing` has what truncation cut off, as in tokenizers. Where both texts
---of a pair are cut, each part of one goes with each part of the other.
---@param sequence string UTF-8
---@param ... any pair (a string or nil), {add_special_tokens = true, return_overflowing_tokens = false}
---@return text.Encoding
---Errors: 'argument' for a text that is not UTF-8, where the vocabulary lacks the token for what is unknown, and for a stride
---that is not less than the number of tokens that stay of a text, or gives more than 16 million tokens.
function Tokenizer:encode(sequence, ...)
  local options, count = args.trailing('encode', ENCODE, ...)
  local pair = nil
  if count > 0 then pair = (...) end
  return Encoding(self._handle:encode(sequence, pair, encode_flags(options)))
end

---Makes ids of many texts on several threads.
---
---```lua
---local text = require 'text'
---local tokenizer = text.Tokenizer.from_str[[{"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"},
---  "pre_tokenizer": {"type": "Whitespace"}}]]
---tokenizer:enable_padding()
---local batch = tokenizer:encode_batch{'a b', 'b'}
---assert(table.concat(batch[2].ids, ' ') == '1 0' and table.concat(batch[2].attention_mask, ' ') == '1 0')
---tokenizer:enable_truncation(2)
---local all, overflow_to_sample_mapping = tokenizer:encode_batch({'a b b', 'b'}, {return_overflowing_tokens = true})
---assert(#all == 3 and table.concat(overflow_to_sample_mapping, ' ') == '1 1 2')
---```
---With `return_overflowing_tokens`, what truncation cut off of a text follows its encoding in the list, as in transformers.
---`overflow_to_sample_mapping` says of which text each encoding is: `input[overflow_to_sample_mapping[i]]`, from 1.
---@param input string[]|string[][] texts, or pairs {text, pair}
---@param options? {add_special_tokens: boolean, return_overflowing_tokens: boolean, num_threads: integer} true; false;
---  0: all cores
---@return text.Encoding[]
---@return integer[]? overflow_to_sample_mapping with return_overflowing_tokens
---Errors: as of encode.
function Tokenizer:encode_batch(input, options)
  options = args.options(options, {'add_special_tokens', 'return_overflowing_tokens', 'num_threads'}, 'encode_batch')
  local texts, pairs_ = batches.texts_and_pairs(input)
  local adds_special_tokens, overflowing = encode_flags(options)
  local made = self._handle:encode_batch(texts, pairs_, adds_special_tokens, overflowing, options.num_threads or 0)
  for i, handle in ipairs(made) do made[i] = Encoding(handle) end
  if overflowing then return batches.with_overflowing(made) end
  return made
end

-- For text.pack: ids of texts one after another, as bytes; and how many each has. `how`: add_special_tokens, separator,
-- id_bytes.
function Tokenizer:_pack_ids(texts, how) return self._handle:pack_ids(texts, how) end

local function list_of(ids)
  if type(ids) == 'table' and getmetatable(ids) == nil then return ids end
  local ok, list = pcall(function() return ids:tolist() end)
  return ok and list or ids
end

local function skips_special_tokens(options) return options.skip_special_tokens ~= false end

---Makes text of ids. Ids without a token are left out.
---@param ids integer[]|torch.Tensor a list or a tensor of one dimension
---@param options? {skip_special_tokens: boolean} true
---@return string text
function Tokenizer:decode(ids, options)
  options = args.options(options, {'skip_special_tokens'}, 'decode')
  return self._handle:decode(list_of(ids), skips_special_tokens(options))
end

---Makes text of each list of ids, on several threads.
---@param sequences integer[][]
---@param options? {skip_special_tokens: boolean, num_threads: integer} true; 0: all cores
---@return string[] texts
function Tokenizer:decode_batch(sequences, options)
  options = args.options(options, {'skip_special_tokens', 'num_threads'}, 'decode_batch')
  local lists = {}
  for i, ids in ipairs(list_of(sequences)) do lists[i] = list_of(ids) end
  return self._handle:decode_batch(lists, skips_special_tokens(options), options.num_threads or 0)
end

---Returns a decoder for ids that come one by one.
---@param options? {skip_special_tokens: boolean} true
---@return text.DecodeStream
function Tokenizer:decode_stream(options)
  options = args.options(options, {'skip_special_tokens'}, 'decode_stream')
  return require('text.decode_stream').DecodeStream(self._handle:decode_stream(skips_special_tokens(options)))
end

---@param token string
---@return integer? id nil for an unknown token
function Tokenizer:token_to_id(token) return self._handle:token_to_id(token) end

---@param id integer
---@return string? token nil for an unknown id
function Tokenizer:id_to_token(id) return self._handle:id_to_token(id) end

---Returns all tokens and their ids.
---@param options? {with_added_tokens: boolean} true
---@return table<string, integer>
function Tokenizer:get_vocab(options)
  options = args.options(options, {'with_added_tokens'}, 'get_vocab')
  return self._handle:vocabulary(options.with_added_tokens ~= false)
end

---Returns how many tokens there are.
---@param options? {with_added_tokens: boolean} true
---@return integer
function Tokenizer:get_vocab_size(options)
  options = args.options(options, {'with_added_tokens'}, 'get_vocab_size')
  return self._handle:vocabulary_size(options.with_added_tokens ~= false)
end

---Adds tokens that are found before the model sees a text. A token of the vocabulary keeps its id.
---
---```lua
---local text = require 'text'
---local tokenizer = text.Tokenizer.from_str[[{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}]]
---assert(tokenizer:add_tokens{'<tool>', {content = '<mask>', lstrip = true}} == 2)
---assert(tokenizer:token_to_id '<mask>' == 2)
---```
---@param tokens (string|table)[] texts, or {content, single_word, lstrip, rstrip, normalized, special}
---@return integer count how many are new
function Tokenizer:add_tokens(tokens) return self._handle:add_tokens(tokens, false) end

---Adds special tokens, which `decode` leaves out. A map gives them names, as in transformers.
---
---```lua
---local text = require 'text'
---local tokenizer = text.Tokenizer.from_str[[{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}]]
---assert(tokenizer:add_special_tokens{eos_token = '</s>', pad_token = '<pad>'} == 2)
---assert(tokenizer.eos_token == '</s>' and tokenizer.eos_token_id == 1)
---```
---@param tokens (string|table)[]|table<string, string> as of add_tokens; or eos_token, pad_token, … → the token
---@return integer count how many are new
function Tokenizer:add_special_tokens(tokens)
  if type(tokens) ~= 'table' or tokens[1] ~= nil then return self._handle:add_tokens(tokens, true) end
  local kept, list = self._config.special_tokens or {}, {}
  for _, name in ipairs(ordered.keys_of(tokens)) do
    if type(name) ~= 'string' or not name:find '_token$' or type(tokens[name]) ~= 'string' then
      errors.raise('argument', ("add_special_tokens: '%s': expected names such as eos_token, and a token for each"):format(
        tostring(name)))
    end
    kept[name], list[#list + 1] = tokens[name], tokens[name]
  end
  self._config.special_tokens = kept
  local count = self._handle:add_tokens(list, true)
  name_special_tokens(self, kept)
  return count
end

---Returns how many tokens the post-processor adds to a text or a pair.
---@param is_pair boolean
---@return integer
function Tokenizer:num_special_tokens_to_add(is_pair) return self._handle:num_special_tokens(is_pair and true or false) end

local STRATEGIES = {longest_first = 'LongestFirst', only_first = 'OnlyFirst', only_second = 'OnlySecond'}
local DIRECTIONS = {left = 'Left', right = 'Right'}

local function named(owner, names, value)
  local list = {}
  for name in next, names do list[#list + 1] = name end
  table.sort(list)
  return names[args.one_of(owner, value, list)]
end

local function direction_of(owner, options) return named(owner .. ': direction', DIRECTIONS, options.direction or 'right') end

local function check_stride(self, max_length, stride)
  if type(max_length) ~= 'number' or type(stride) ~= 'number' then return end  -- set_truncation refuses them
  local most = max_length - self:num_special_tokens_to_add(false)
  if most < 0 or stride <= most then return end
  errors.raise('argument', ('enable_truncation: stride %s is more than the %s tokens that stay of a text: choose a smaller '
    .. 'one, or a larger max_length'):format(stride, most))
end

---Cuts texts to this number of tokens, those of the post-processor included. What is cut off is kept where encode gets
---`return_overflowing_tokens`: in parts of the same length, of which each has `stride` tokens in common with the one before
---it. A max_length that is less than the number of special tokens cuts nothing, as in tokenizers.
---@param max_length integer
---@param options? {stride: integer, strategy: string, direction: string} 0; 'longest_first', 'only_first' or 'only_second';
---'right' or 'left'
---Errors: 'argument' for a stride that is more than max_length less the number of special tokens of one text.
function Tokenizer:enable_truncation(max_length, options)
  options = args.options(options, {'stride', 'strategy', 'direction'}, 'enable_truncation')
  local stride = options.stride or 0
  check_stride(self, max_length, stride)
  self._handle:set_truncation{
    max_length = max_length, stride = stride, direction = direction_of('enable_truncation', options),
    strategy = named('enable_truncation: strategy', STRATEGIES, options.strategy or 'longest_first'),
  }
end

---Ends what enable_truncation began.
function Tokenizer:no_truncation() self._handle:set_truncation(nil) end

---Options of `Tokenizer:enable_padding`.
---@class text.PaddingOptions
---@field direction? string 'right' (default) or 'left'
---@field pad_id? integer 0
---@field pad_type_id? integer 0
---@field pad_token? string '[PAD]'
---@field length? integer of all texts; without it that of the longest of a batch
---@field pad_to_multiple_of? integer

---Makes all texts of a batch of equal length.
---@param options? text.PaddingOptions
function Tokenizer:enable_padding(options)
  options = args.options(options, {'direction', 'pad_id', 'pad_type_id', 'pad_token', 'length', 'pad_to_multiple_of'},
    'enable_padding')
  self._handle:set_padding{
    strategy = options.length and {Fixed = options.length} or 'BatchLongest',
    direction = direction_of('enable_padding', options), pad_id = options.pad_id or 0,
    pad_type_id = options.pad_type_id or 0, pad_token = options.pad_token or '[PAD]',
    pad_to_multiple_of = options.pad_to_multiple_of,
  }
end

---Ends what enable_padding began.
function Tokenizer:no_padding() self._handle:set_padding(nil) end

---Returns the text of a tokenizer.json, which tokenizers reads.
---@param options? {pretty: boolean} false
---@return string json
function Tokenizer:to_str(options)
  options = args.options(options, {'pretty'}, 'to_str')
  return self._handle:to_json(options.pretty == true)
end

---Writes a tokenizer.json. The file appears complete or not at all.
---@param path string
---@param options? {pretty: boolean} true
---Errors: 'environment' if it cannot be written.
function Tokenizer:save(path, options)
  options = args.options(options, {'pretty'}, 'save')
  write_file(check_text('save', path), self._handle:to_json(options.pretty ~= false))
end

---Writes tokenizer.json and tokenizer_config.json, which from_pretrained and transformers read.
---@param folder string is made where it is not there
---Errors: 'environment' if they cannot be written.
function Tokenizer:save_pretrained(folder)
  system.make_folders(check_text('save_pretrained', folder))
  self:save(folder .. '/tokenizer.json')
  local config = ordered.new {{'tokenizer_class', 'PreTrainedTokenizerFast'}}
  for _, name in ipairs(ordered.keys_of(self._config.special_tokens or {})) do
    config[name] = self._config.special_tokens[name]
  end
  config.chat_template = self.chat_template
  write_file(folder .. '/tokenizer_config.json', json.encode(config, {indent = 2}) .. '\n')
end

local CHAT = {'add_generation_prompt', 'tokenize', 'chat_template', 'tools', 'documents', 'variables'}

-- What a template reads besides the messages.
local function chat_variables(self, messages, options)
  local variables = {}
  for name, value in next, self._config.special_tokens or {} do variables[name] = value end
  for name, value in next, options.variables or {} do variables[name] = value end
  variables.messages, variables.tools, variables.documents = messages, options.tools, options.documents
  variables.add_generation_prompt = options.add_generation_prompt == true
  return variables
end

---Options of `Tokenizer:apply_chat_template`.
---@class text.ChatOptions
---@field add_generation_prompt? boolean false
---@field tokenize? boolean true: gives ids; false: gives the text
---@field chat_template? string in place of the tokenizer's
---@field tools? table[]
---@field documents? table[]
---@field variables? table<string, any> more names for the template

---Writes a conversation as the model's chat template does, and makes its ids. Templates are in the part of Jinja that
---those of Llama, Mistral, Qwen, Gemma, Phi and ChatML need. A table's keys have no order in Lua: what `tojson` writes of
---tools is sorted by name, unless a map is a base.ordered.
---
---```lua
---local text = require 'text'
---local tokenizer = text.Tokenizer.from_str[[{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}]]
---tokenizer.chat_template = "{% for m in messages %}<{{ m.role }}> {{ m.content | trim }}\n{% endfor %}"
---local written = tokenizer:apply_chat_template({{role = 'user', content = ' hi '}}, {tokenize = false})
---assert(written == '<user> hi\n')
---```
---@param messages {role: string, content: any}[]
---@param options? text.ChatOptions
---@return integer[]|string
---Errors: 'argument' with the line for a template that has more than this part of Jinja, and for what it raises.
function Tokenizer:apply_chat_template(messages, options)
  options = args.options(options, CHAT, 'apply_chat_template')
  local source = options.chat_template or self.chat_template
  if type(source) ~= 'string' then
    errors.raise('argument', 'apply_chat_template: this tokenizer has no chat_template: set tokenizer.chat_template')
  end
  local compiled = self._templates[source] or C.chat_template(source)
  self._templates[source] = compiled
  local written = compiled:render(chat_variables(self, messages, options))
  if options.tokenize == false then return written end
  return self:encode(written, {add_special_tokens = false}).ids
end

local TRAIN = {'vocab_size', 'min_frequency', 'special_tokens', 'initial_alphabet', 'limit_alphabet', 'max_token_length',
               'continuing_subword_prefix', 'end_of_word_suffix', 'unk_token', 'shrinking_factor', 'max_piece_length',
               'n_sub_iterations', 'seed_size'}

---Options of `Tokenizer:train_new_from_iterator`, those of tokenizers' trainers.
---@class text.TrainOptions
---@field vocab_size? integer 30000; for Unigram 8000
---@field min_frequency? integer of a pair that is merged, of a word of WordLevel: 0
---@field special_tokens? (string|table)[] the first ids
---@field initial_alphabet? string[] whose first characters are tokens even if no text has them
---@field limit_alphabet? integer that many characters are tokens, the most frequent ones
---@field max_token_length? integer characters
---@field continuing_subword_prefix? string
---@field end_of_word_suffix? string
---@field unk_token? string of Unigram: that of the old model, else '<unk>'
---@field shrinking_factor? number of Unigram: 0.75
---@field max_piece_length? integer of Unigram: 16
---@field n_sub_iterations? integer of Unigram: 2
---@field seed_size? integer of Unigram: 1000000

---Makes a tokenizer with the same components and kind of model, whose vocabulary is learnt from texts. Options are those of
---tokenizers' trainers. BPE gives the merges that tokenizers gives, Unigram its pieces and its scores to 1e-10. What depends on
---the order of a hash table there has an order of its own here, the same at each call:
---
---* WordPiece, and BPE with a continuing_subword_prefix: ids of "##x", and with them the order of equally frequent pairs.
---  With all characters as special_tokens, "##x" too, ids are those of tokenizers; without, texts have nearly as many tokens.
---* Unigram: a character that was left out comes back with the lowest score, the next one with that plus 0.0001, and so on.
---
---A Unigram has all characters of the texts, also where they are more than vocab_size.
---
---```lua
---local text = require 'text'
---local empty = text.Tokenizer.from_str[[{"model": {"type": "BPE", "vocab": {}, "merges": []},
---  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}, "decoder": {"type": "ByteLevel"}}]]
---local tokenizer = empty:train_new_from_iterator({'low lower lowest', 'low low'}, {vocab_size = 20, special_tokens = {'<s>'}})
---assert(tokenizer:token_to_id '<s>' == 0 and #tokenizer:encode 'low' == 1)
---```
---@param iterator fun(): string|string[]|nil|string[] gives texts or lists of them until nil; or a list
---@param options? text.TrainOptions
---@return text.Tokenizer
---Errors: 'argument' for a text that is not UTF-8 and for wrong options.
function Tokenizer:train_new_from_iterator(iterator, options)
  options = args.options(options, TRAIN, 'train_new_from_iterator')
  local trainer = self._handle:trainer(options)
  batches.each(iterator, function(texts) trainer:feed(texts) end)
  return wrap(trainer:train(), {special_tokens = self._config.special_tokens, chat_template = self.chat_template})
end

function Tokenizer:__tostring() return ('Tokenizer(vocab_size=%d)'):format(self:get_vocab_size()) end

return {Tokenizer = Tokenizer, _unpack = function(state) return wrap(C.from_json(state.json), state.config) end}
