-- rtrain/data/preprocessors/feature_hasher.lua: FeatureHasher: columns of counts become a vector, by the hashes of names.

local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local inputs = require 'rtrain.data.preprocessors.inputs'
local Preprocessor = require 'rtrain.data.preprocessors.preprocessor'
local sha256 = require 'rtrain.data.preprocessors.sha256'
local torch = require 'torch'

---Puts columns that count tokens into one column of vectors with num_features numbers, float64: the count of a column is
---added at the place that the hash of its name says. The hash is the SHA-256 of the name, as a number, modulo num_features,
---as in Ray's source; the example in Ray's documents is of SHA-1. The columns stay. There is nothing to fit. Arguments:
---columns, num_features, output_column. Ray equivalent: ray.data.preprocessors.FeatureHasher.
---
---```lua
---local data = require 'rtrain.data'
---local hasher = data.preprocessors.FeatureHasher {columns = {'I', 'like', 'Python'}, num_features = 8, output_column = 'h'}
---local vector = hasher:transform(data.from_items{{I = 1, like = 1, Python = 2}}):take(1)[1].h
---assert(table.concat(vector:tolist(), ' ') == '0 0 0 2 1 0 0 1')
---```
---@class rtrain.data.preprocessors.FeatureHasher: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], num_features: integer, output_column: string): rtrain.data.preprocessors.FeatureHasher
local FeatureHasher = Preprocessor:extend('FeatureHasher')
FeatureHasher._is_fittable = false
FeatureHasher._keeps_rows = true
FeatureHasher._saved = {'columns', 'num_features', 'output_column'}

local signature = args.signature('FeatureHasher', {'columns', 'num_features', 'output_column'})

function FeatureHasher:init(...)
  local a = signature:bind(...)
  self.columns = checks.names('FeatureHasher: columns', a.columns)
  self.num_features = checks.count('FeatureHasher', 'num_features', a.num_features, 1)
  if type(a.output_column) ~= 'string' then
    self:_refuse('output_column: expected the name of a column, got a %s', type(a.output_column))
  end
  self.output_column = a.output_column
end

function FeatureHasher:get_output_columns() return {self.output_column} end

function FeatureHasher:_transform_block(block)
  local out = torch.zeros({block:num_rows(), self.num_features}, {dtype = 'float64'})
  for _, name in ipairs(self.columns) do
    local place = sha256.modulo(name, self.num_features)
    local counts = inputs.numbers('FeatureHasher', block, name)
    out:select(1, place):add_(counts)
  end
  return block:with(self.output_column, out)
end

return FeatureHasher
