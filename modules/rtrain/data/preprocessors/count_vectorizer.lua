-- rtrain/data/preprocessors/count_vectorizer.lua: CountVectorizer: counts each token of texts.

local args = require 'base.args'
local categories = require 'rtrain.data.preprocessors.categories'
local checks = require 'rtrain.data.dataset.checks'
local ordered = require 'base.ordered'
local Tokenizer = require 'rtrain.data.preprocessors.tokenizer'
local torch = require 'torch'
local Vectorizer = require 'rtrain.data.preprocessors.vectorizer'

---Replaces each text by a vector, int64: how often each token of the fitted dataset is in it, the most frequent token first;
---among equally frequent ones that which came first. Null stays null. Arguments: columns, {tokenization_fn, max_features: the
---most tokens that have a place, the most frequent ones, output_columns, as of Tokenizer}. stats_['token_counts(x)'] is
---{values, counts}. Ray equivalent: ray.data.preprocessors.CountVectorizer.
---
---```lua
---local data = require 'rtrain.data'
---local vectorizer = data.preprocessors.CountVectorizer {columns = {'text'}, max_features = 2}
---local rows = vectorizer:fit_transform(data.from_items{{text = 'red blue'}, {text = 'blue blue green'}}):take_all()
---assert(table.concat(rows[2].text:tolist(), ' ') == '2 0')
---assert(vectorizer.stats_['token_counts(text)'].values[1] == 'blue')
---```
---@class rtrain.data.preprocessors.CountVectorizer: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], options?: table): rtrain.data.preprocessors.CountVectorizer
local CountVectorizer = Vectorizer:extend('CountVectorizer')
CountVectorizer._saved = {'columns', 'output_columns', 'max_features'}

local signature = args.signature('CountVectorizer', {'columns', {'tokenization_fn'}, {'max_features'}, {'output_columns'}})

function CountVectorizer:init(...)
  local a = signature:bind(...)
  self:_take(a)
  if a.max_features ~= nil then checks.count('CountVectorizer', 'max_features', a.max_features, 1) end
  self.max_features = a.max_features
end

function CountVectorizer:_fit(dataset)
  -- The texts are cut in the threads of the dataset.
  local cut = Tokenizer(self.columns, {tokenization_fn = self.tokenization_fn}):transform(dataset)
  local stats, counters = ordered.new(), categories.counters(cut, self.columns, {encode_lists = true})
  for _, name in ipairs(self.columns) do
    local counter, values, counts = counters[name], {}, {}
    for i, place in ipairs(categories.by_frequency(counter.counts)) do
      if self.max_features and i > self.max_features then break end
      values[i], counts[i] = counter.values[place], counter.counts[place]
    end
    stats[('token_counts(%s)'):format(name)] = {values = torch.list(values), counts = torch.list(counts)}
  end
  return stats
end

function CountVectorizer:_places(name)
  local values, places = self.stats_[('token_counts(%s)'):format(name)].values, {}
  for i, token in ipairs(values) do places[token] = i - 1 end
  return #values, function(token) return places[token] end
end

return CountVectorizer
