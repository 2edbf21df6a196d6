-- rtrain/data/preprocessors/vectorizer.lua: Vectorizer: the base of what counts the tokens of texts.

local class = require 'base.class'
local Objects = require 'rtrain.data.columns.objects'
local Preprocessor = require 'rtrain.data.preprocessors.preprocessor'
local tokens = require 'rtrain.data.preprocessors.tokens'
local vectors = require 'rtrain.data.preprocessors.vectors'

local Vectorizer = Preprocessor:extend('Vectorizer')
Vectorizer._keeps_rows = true
Vectorizer._functions = {'tokenization_fn'}

function Vectorizer:_take(a)
  self:_take_columns(a)
  self.tokenization_fn = tokens.checked(class.of(self).__name, a.tokenization_fn)
end

function Vectorizer:_calls_user() return self.tokenization_fn ~= nil end

-- Returns the vectors as Lua values, of which those of null texts are null.
local function with_nulls(made, lists, count)
  local values, has_null = {}, false
  for row = 1, count do
    has_null = has_null or lists[row] == nil
    values[row] = lists[row] and made:select(0, row - 1) or nil
  end
  return has_null and Objects(values, count) or made
end

function Vectorizer:_transform_block(block)
  local out, owner = block, class.of(self).__name
  for i, name in ipairs(self.columns) do
    local lists, count = tokens.of(owner, block, name, self.tokenization_fn)
    local size, place_of = self:_places(name)
    local made = vectors.counts(count, size, function(row) return lists[row] end, place_of)
    out = out:with(self.output_columns[i], with_nulls(made, lists, count))
  end
  return out
end

return Vectorizer
