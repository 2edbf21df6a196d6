-- text.Tokenizer: arguments, lists, padding, streams. tests/e2e/text compares with Python's tokenizers.
local lu = require 'luaunit'
local text = require 'text'

local message_of = require('refusal').message_of

local JSON = [[{
  "added_tokens": [{"id": 5, "content": "<s>", "special": true}],
  "pre_tokenizer": {"type": "Whitespace"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]}}},
  "model": {"type": "WordLevel", "vocab": {"hello": 0, "wörld": 1, "[UNK]": 2, "!": 3, "a": 4}, "unk_token": "[UNK]"}}]]

TestTokenizer = {}

function TestTokenizer:setUp() self.tokenizer = text.Tokenizer.from_str(JSON) end

function TestTokenizer:test_an_encoding_has_lists_from_1()
  local encoding = self.tokenizer:encode 'hello wörld! x'
  lu.assertEquals(encoding.ids, {5, 0, 1, 3, 2})
  lu.assertEquals(encoding.tokens, {'<s>', 'hello', 'wörld', '!', '[UNK]'})
  lu.assertEquals(encoding.offsets, {{0, 0}, {0, 5}, {6, 11}, {11, 12}, {13, 14}})
  lu.assertEquals(encoding.attention_mask, {1, 1, 1, 1, 1})
  lu.assertEquals(encoding.special_tokens_mask, {1, 0, 0, 0, 0})
  lu.assertEquals(#encoding, 5)
  lu.assertEquals(tostring(encoding), 'Encoding(num_tokens=5)')
  lu.assertNil(encoding.other)
end

function TestTokenizer:test_a_pair_and_no_special_tokens()
  lu.assertEquals(self.tokenizer:encode('a', 'hello').type_ids, {0, 1})
  lu.assertEquals(self.tokenizer:encode('a', {add_special_tokens = false}).ids, {4})
  lu.assertEquals(self.tokenizer:num_special_tokens_to_add(false), 1)
  lu.assertEquals(self.tokenizer:num_special_tokens_to_add(true), 0)
end

function TestTokenizer:test_batches_are_padded()
  self.tokenizer:enable_padding{pad_id = 7, pad_token = '<pad>', direction = 'left', pad_to_multiple_of = 4}
  local batch = self.tokenizer:encode_batch({'a a', 'a'}, {num_threads = 2})
  lu.assertEquals(batch[1].ids, {7, 5, 4, 4})
  lu.assertEquals(batch[2].ids, {7, 7, 5, 4})
  lu.assertEquals(batch[2].attention_mask, {0, 0, 1, 1})
  self.tokenizer:no_padding()
  lu.assertEquals(self.tokenizer:encode_batch{{'a', 'hello'}}[1].ids, {4, 0})
end

function TestTokenizer:test_truncation()
  self.tokenizer:enable_truncation(3)
  lu.assertEquals(self.tokenizer:encode('a a a a').ids, {5, 4, 4})
  self.tokenizer:enable_truncation(2, {direction = 'left', strategy = 'only_first'})
  lu.assertEquals(self.tokenizer:encode('a hello').ids, {5, 0})
  self.tokenizer:no_truncation()
  lu.assertEquals(#self.tokenizer:encode 'a a a a', 5)
end

local function ids_of(encodings)
  local out = {}
  for i, encoding in ipairs(encodings) do out[i] = encoding.ids end
  return out
end

function TestTokenizer:test_what_truncation_cuts_off()
  self.tokenizer:enable_truncation(4, {stride = 1})
  lu.assertEquals(self.tokenizer:encode('a ! a ! a !').overflowing, {})
  local encoding = self.tokenizer:encode('a ! hello ! a !', {return_overflowing_tokens = true})
  lu.assertEquals(encoding.ids, {5, 4, 3, 0})
  lu.assertEquals(ids_of(encoding.overflowing), {{5, 0, 3, 4}, {5, 4, 3}})
  lu.assertEquals(encoding.overflowing[1].offsets, {{0, 0}, {4, 9}, {10, 11}, {12, 13}})
  local closure = require 'base._closure'
  local copy = closure.load(closure.dump(function() return encoding end))()
  lu.assertEquals(ids_of(copy.overflowing), {{5, 0, 3, 4}, {5, 4, 3}})
end

function TestTokenizer:test_a_batch_with_what_truncation_cuts_off()
  self.tokenizer:enable_truncation(3)
  self.tokenizer:enable_padding{pad_id = 7}
  local batch, mapping = self.tokenizer:encode_batch({'a a !', 'a', '! ! ! !'}, {return_overflowing_tokens = true})
  lu.assertEquals(ids_of(batch), {{5, 4, 4}, {5, 3, 7}, {5, 4, 7}, {5, 3, 3}, {5, 3, 3}})
  lu.assertEquals(mapping, {1, 1, 2, 3, 3})
end

function TestTokenizer:test_a_stride_that_is_too_long()
  local tokenizer = self.tokenizer
  lu.assertStrContains(message_of(tokenizer.enable_truncation, tokenizer, 4, {stride = 4}), 'stride 4 is more than the 3')
  lu.assertStrContains(message_of(tokenizer.enable_truncation, tokenizer, 'a'), 'max_length')
  tokenizer:enable_truncation(4, {stride = 3})
  lu.assertEquals(tokenizer:encode('a a a a').ids, {5, 4, 4, 4})
  lu.assertStrContains(message_of(tokenizer.encode, tokenizer, 'a a a a', {return_overflowing_tokens = true}),
    'stride 3 must be less than the 3 tokens that stay')
  tokenizer:enable_truncation(1000, {stride = 998})
  lu.assertStrContains(message_of(tokenizer.encode, tokenizer, ('a '):rep(20000), {return_overflowing_tokens = true}),
    'more than 16777216 tokens')
end

function TestTokenizer:test_decode_takes_tensors_and_lists()
  local torch = require 'torch'
  lu.assertEquals(self.tokenizer:decode(torch.tensor({5, 0, 1}, {dtype = 'int64'})), 'hello wörld')
  lu.assertEquals(self.tokenizer:decode({5, 0, 99}, {skip_special_tokens = false}), '<s> hello')
  lu.assertEquals(self.tokenizer:decode_batch{{0}, {1, 3}}, {'hello', 'wörld !'})
end

function TestTokenizer:test_tokens_and_ids()
  lu.assertEquals(self.tokenizer:token_to_id 'a', 4)
  lu.assertNil(self.tokenizer:token_to_id 'none')
  lu.assertEquals(self.tokenizer:id_to_token(5), '<s>')
  lu.assertNil(self.tokenizer:id_to_token(50))
  lu.assertEquals(self.tokenizer:get_vocab_size(), 6)
  lu.assertEquals(self.tokenizer:get_vocab_size{with_added_tokens = false}, 5)
  lu.assertEquals(self.tokenizer:get_vocab()['<s>'], 5)
  lu.assertEquals(self.tokenizer:add_special_tokens{'<new>', 'a'}, 2)
  lu.assertEquals(self.tokenizer:token_to_id '<new>', 6)
end

function TestTokenizer:test_wrong_arguments()
  local tokenizer = self.tokenizer
  lu.assertStrContains(message_of(tokenizer.encode, tokenizer, 5), 'text: expected a string, got number')
  lu.assertStrContains(message_of(tokenizer.encode, tokenizer, '\255'), 'not UTF-8')
  lu.assertStrContains(message_of(tokenizer.encode, tokenizer, 'a', {add_special = true}), 'add_special_tokens')
  lu.assertStrContains(message_of(tokenizer.encode_batch, tokenizer, {'a', 5}), 'text 2: expected a string')
  lu.assertStrContains(message_of(tokenizer.decode, tokenizer, {'a'}), 'expected an id')
  lu.assertStrContains(message_of(tokenizer.decode, tokenizer, {-1}), 'expected an id')
  lu.assertStrContains(message_of(tokenizer.enable_truncation, tokenizer, 5, {strategy = 'x'}), "cannot be 'x'")
  lu.assertStrContains(message_of(text.Tokenizer), 'from_file')
  lu.assertStrContains(message_of(text.Tokenizer.from_file, '/nowhere/tokenizer.json'), 'No such file')
  lu.assertStrContains(message_of(text.Tokenizer.from_pretrained, '/nowhere'), 'not a folder')
  lu.assertStrContains(message_of(tokenizer.apply_chat_template, tokenizer, {}), 'no chat_template')
end

function TestTokenizer:test_it_is_an_upvalue_of_a_function_that_travels()
  local closure = require 'base._closure'
  local tokenizer = self.tokenizer
  tokenizer.chat_template = 'hi {{ messages[0].content }}'
  local copy = closure.load(closure.dump(function() return tokenizer end))()
  lu.assertEquals(copy:encode('a').ids, {5, 4})
  lu.assertEquals(copy:apply_chat_template({{content = 'a'}}, {tokenize = false}), 'hi a')
end

function TestTokenizer:test_training_takes_lists_and_functions()
  local empty = text.Tokenizer.from_str[[{"model": {"type": "WordLevel", "vocab": {}, "unk_token": "?"},
    "pre_tokenizer": {"type": "Whitespace"}}]]
  local made = empty:train_new_from_iterator({{'a b', 'a'}, 'c'}, {vocab_size = 3, special_tokens = {'?'}})
  lu.assertEquals(made:get_vocab(), {['?'] = 0, a = 1, b = 2})
  local i = 0
  local again = empty:train_new_from_iterator(function()
    i = i + 1
    return ({'a b', 'a', 'c'})[i]
  end, {vocab_size = 3, special_tokens = {'?'}})
  lu.assertEquals(again:to_str(), made:to_str())
  lu.assertStrContains(message_of(empty.train_new_from_iterator, empty, 5), 'expected a function or a list')
end

os.exit(lu.LuaUnit.run(), true)
