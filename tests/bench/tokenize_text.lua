-- Ids of documents, and the training of a BPE. Prints "name<TAB>milliseconds" lines. Twin of peers/tokenize_text.py: change
-- both.
--
--   tokenize_text.lua FOLDER      that peers/tokenize_text.py has made
local clock = require 'events'
local json = require 'json'
local read_file = require 'base.read_file'
local text = require 'text'

local folder = arg[1]
local documents = {}
for _, name in ipairs{'english', 'mixed'} do documents[name] = json.decode(read_file(('%s/%s.json'):format(folder, name))) end

for _, kind in ipairs{'gpt2', 'llama3'} do
  for _, name in ipairs{'english', 'mixed'} do
    local tokenizer = text.Tokenizer.from_file(('%s/%s.json'):format(folder, kind))
    local start, sum = clock.now(), 0
    for _, document in ipairs(documents[name]) do
      local ids = tokenizer:encode(document).ids
      sum = sum + #ids
    end
    io.write(('%s_%s\t%.6f\n'):format(kind, name, (clock.now() - start) * 1e3))
    assert(sum == tonumber((read_file(('%s/%s_%s.count'):format(folder, kind, name)))), 'other ids than those of tokenizers')
  end
end
local empty = text.Tokenizer.from_file(folder .. '/empty.json')
local start = clock.now()
assert(empty:train_new_from_iterator({documents.english, documents.mixed}, {vocab_size = 32000}):get_vocab_size() > 1000)
io.write(('train\t%.6f\n'):format((clock.now() - start) * 1e3))
