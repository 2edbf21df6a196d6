-- train_tokenizers.lua FOLDER NAME…: learns what tests/e2e/text/train_oracle.py has written, to NAME.got. Prints for each
-- name how many tokens the texts have with what was learnt, and with NAME.want.
local json = require 'json'
local read_file = require 'base.read_file'
local text = require 'text'

local folder = (...)
local corpora = json.decode(read_file(folder .. '/corpora.json'))

local function read(name, kind) return read_file(('%s/%s.%s'):format(folder, name, kind)) end

local function count_tokens(tokenizer, corpus)
  local count = 0
  for _, encoding in ipairs(tokenizer:encode_batch(corpus, {add_special_tokens = false})) do count = count + #encoding end
  return count
end

for _, name in ipairs{select(2, ...)} do
  local corpus, i = corpora[read(name, 'corpus')], 0
  local tokenizer = text.Tokenizer.from_str(read(name, 'empty')):train_new_from_iterator(function()
    i = i + 1
    return corpus[i]
  end, json.decode(read(name, 'options')))
  tokenizer:save(('%s/%s.got'):format(folder, name))
  local counts = {0, 0}
  if name:find '-own$' then
    counts = {count_tokens(tokenizer, corpus), count_tokens(text.Tokenizer.from_str(read(name, 'want')), corpus)}
  end
  print(name, unpack(counts))
end
