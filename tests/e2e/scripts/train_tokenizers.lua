-- train_tokenizers.lua FOLDER NAME…: learns what tests/e2e/text/train_oracle.py has written, to NAME.got.
local json = require 'json'
local read_file = require 'base.read_file'
local text = require 'text'

local folder = (...)
local corpus = json.decode(read_file(folder .. '/corpus.json'))
for _, name in ipairs{select(2, ...)} do
  local empty = text.Tokenizer.from_file(('%s/%s.empty'):format(folder, name))
  local options = json.decode(read_file(('%s/%s.options'):format(folder, name)))
  local i = 0
  local tokenizer = empty:train_new_from_iterator(function()
    i = i + 1
    return corpus[i]
  end, options)
  tokenizer:save(('%s/%s.got'):format(folder, name))
end
