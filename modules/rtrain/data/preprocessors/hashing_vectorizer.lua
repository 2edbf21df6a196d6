-- rtrain/data/preprocessors/hashing_vectorizer.lua: HashingVectorizer: counts the tokens of texts at the places of hashes.

local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local sha256 = require 'rtrain.data.preprocessors.sha256'
local Vectorizer = require 'rtrain.data.preprocessors.vectorizer'

---Replaces each text by a vector with num_features numbers, int64: how many of its tokens have this place, which is the
---SHA-256 of the token, as a number, modulo num_features. Null stays null. There is nothing to fit. Arguments: columns,
---num_features, {tokenization_fn, output_columns, as of Tokenizer}. Ray equivalent: ray.data.preprocessors.HashingVectorizer.
---
---```lua
---local data = require 'rtrain.data'
---local vectorizer = data.preprocessors.HashingVectorizer {columns = {'text'}, num_features = 8}
---local row = vectorizer:transform(data.from_items{{text = 'I like Python'}}):take(1)[1]
---assert(table.concat(row.text:tolist(), ' ') == '0 0 0 1 1 0 0 1')
---```
---@class rtrain.data.preprocessors.HashingVectorizer: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], num_features: integer, options?: table): rtrain.data.preprocessors.HashingVectorizer
local HashingVectorizer = Vectorizer:extend('HashingVectorizer')
HashingVectorizer._is_fittable = false
HashingVectorizer._saved = {'columns', 'output_columns', 'num_features'}

local signature = args.signature('HashingVectorizer', {'columns', 'num_features', {'tokenization_fn'}, {'output_columns'}})

function HashingVectorizer:init(...)
  local a = signature:bind(...)
  self:_take(a)
  self.num_features = checks.count('HashingVectorizer', 'num_features', a.num_features, 1)
end

function HashingVectorizer:_places()
  local size, known = self.num_features, {}
  return size, function(token)
    local place = known[token]
    if place == nil then
      place = sha256.modulo(tostring(token), size)
      known[token] = place
    end
    return place
  end
end

return HashingVectorizer
