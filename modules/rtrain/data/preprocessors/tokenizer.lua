-- rtrain/data/preprocessors/tokenizer.lua: Tokenizer: each text becomes the list of its tokens.

local args = require 'base.args'
local Objects = require 'rtrain.data.columns.objects'
local Preprocessor = require 'rtrain.data.preprocessors.preprocessor'
local tokens = require 'rtrain.data.preprocessors.tokens'

---Replaces each text by the list of its tokens: the parts between spaces, or what tokenization_fn returns. With a
---text.Tokenizer as tokenization_fn it is the list of ids. Null stays null. There is nothing to fit. Arguments: columns,
---{tokenization_fn: a function from a text to a list, which runs in threads, on a copy of its upvalues, or a text.Tokenizer,
---output_columns: names of the results, in place of the columns}. A function or a text.Tokenizer is not saved: give it to
---`deserialize` again. Ray equivalent: ray.data.preprocessors.Tokenizer.
---
---```lua
---local data = require 'rtrain.data'
---local tokenizer = data.preprocessors.Tokenizer {columns = {'text'}}
---assert(tokenizer:transform(data.from_items{{text = 'Hello, world!'}}):take(1)[1].text[2] == 'world!')
---```
---@class rtrain.data.preprocessors.Tokenizer: rtrain.data.preprocessors.Preprocessor
---@field tokenization_fn? fun(text: string): any[]
---@overload fun(columns: string[], options?: table): rtrain.data.preprocessors.Tokenizer
local Tokenizer = Preprocessor:extend('Tokenizer')
Tokenizer._is_fittable = false
Tokenizer._keeps_rows = true
Tokenizer._functions = {'tokenization_fn'}

local signature = args.signature('Tokenizer', {'columns', {'tokenization_fn'}, {'output_columns'}})

function Tokenizer:init(...)
  local a = signature:bind(...)
  self:_take_columns(a)
  self.tokenization_fn = tokens.checked('Tokenizer', a.tokenization_fn)
end

function Tokenizer:_calls_user() return self.tokenization_fn ~= nil end

function Tokenizer:_transform_block(block)
  local out = block
  for i, name in ipairs(self.columns) do
    out = out:with(self.output_columns[i], Objects(tokens.of('Tokenizer', block, name, self.tokenization_fn)))
  end
  return out
end

return Tokenizer
