-- rtrain/data/preprocessors/label_encoder.lua: LabelEncoder: labels become classes, and classes labels.

local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local class = require 'base.class'
local column = require 'rtrain.data.columns.column'
local Encoder = require 'rtrain.data.preprocessors.encoder'
local inputs = require 'rtrain.data.preprocessors.inputs'
local Preprocess = require 'rtrain.data.operators.preprocess'
local to_column = require('rtrain.data.columns.values').to_column

---Replaces the labels of a column by the numbers of their classes, int64: the places, from 0, among the sorted distinct
---labels of the fitted dataset. A label that is not among them becomes null. Null is an error, in `fit` and `transform`.
---Arguments: label_column, {output_column: the name of the result, in place of the column}. Ray equivalent:
---ray.data.preprocessors.LabelEncoder.
---
---```lua
---local data = require 'rtrain.data'
---local flowers = data.from_items{{species = 'virginica'}, {species = 'setosa'}}
---local encoder = data.preprocessors.LabelEncoder 'species'
---local encoded = encoder:fit_transform(flowers)
---assert(encoded:take(1)[1].species == 1)
---assert(encoder:inverse_transform(encoded):take(1)[1].species == 'virginica')
---```
---@class rtrain.data.preprocessors.LabelEncoder: rtrain.data.preprocessors.Preprocessor
---@field label_column string
---@field output_column string
---@overload fun(label_column: string, options?: table): rtrain.data.preprocessors.LabelEncoder
local LabelEncoder = Encoder:extend('LabelEncoder')
LabelEncoder._saved = {'label_column', 'output_column'}

local signature = args.signature('LabelEncoder', {'label_column', {'output_column'}})

function LabelEncoder:init(...)
  local a = signature:bind(...)
  for _, name in ipairs{'label_column', 'output_column'} do
    if a[name] ~= nil and type(a[name]) ~= 'string' then
      self:_refuse('%s: expected the name of a column, got a %s', name, type(a[name]))
    end
  end
  self.label_column, self.output_column = a.label_column, a.output_column or a.label_column
end

function LabelEncoder:get_input_columns() return {self.label_column} end

function LabelEncoder:get_output_columns() return {self.output_column} end

function LabelEncoder:_fit(dataset) return self:_fit_categories(dataset, false) end

function LabelEncoder:_transform_block(block)
  local values, _, count = self:_values(block, self.label_column)
  return block:with(self.output_column, self._codes(values, count, self:_coder(self.label_column)))
end

-- The other direction, as a preprocessor without anything to fit.
local Decoder = Encoder:extend('LabelDecoder')
Decoder._is_fittable = false

function Decoder:init(encoder)
  self._labels = encoder.stats_[('unique_values(%s)'):format(encoder.label_column)]
  self._from, self._to = encoder.output_column, encoder.label_column
end

function Decoder:get_input_columns() return {self._from} end

function Decoder:get_output_columns() return {self._to} end

-- The labels' type is that of the values.
function Decoder:_needs_values() return true end

function Decoder:_transform_block(block)
  local codes, labels = column.values(inputs.column('LabelEncoder: inverse_transform', block, self._from)), {}
  for i = 1, block:num_rows() do
    local code = tonumber(codes[i])
    labels[i] = code and self._labels[code + 1]
  end
  return block:with(self._to, to_column(labels, block:num_rows(), {name = self._to, default = 'number'}))
end

---Returns a dataset in which the labels stand again in the label's column, in place of the numbers of their classes in the
---output column. A number without a class, such as -1, becomes null. Ray equivalent: LabelEncoder.inverse_transform.
---@param ds rtrain.data.Dataset
---@return rtrain.data.Dataset
---Errors: 'user' if it is not fitted.
function LabelEncoder:inverse_transform(ds)
  checks.dataset('LabelEncoder: inverse_transform', ds)
  self:_check_fitted('inverse_transform')
  return ds:_with(Preprocess(Decoder(self), class.of(self).__name .. ':inverse'))
end

---Returns the labels of the classes of a batch or of a list: for predictions.
---@param classes torch.Tensor|integer[] whole numbers from 0 (rows)
---@return any[] labels torch.none for a number without a class
---Errors: 'user' if it is not fitted.
---
---```lua
---local data, torch = require 'rtrain.data', require 'torch'
---local encoder = data.preprocessors.LabelEncoder 'y'
---encoder:fit(data.from_items{{y = 'cat'}, {y = 'dog'}})
---assert(encoder:labels_of(torch.tensor {{0.1, 0.9}}:argmax(1))[1] == 'dog')
---```
function LabelEncoder:labels_of(classes)
  self:_check_fitted('labels_of')
  local names, out = self.stats_[('unique_values(%s)'):format(self.label_column)], {}
  for i, code in ipairs(type(classes) == 'table' and classes or classes:tolist()) do
    local label = names[tonumber(code) + 1]
    out[i] = label == nil and require('torch').none or label
  end
  return out
end

return LabelEncoder
