-- rtrain/data/preprocessors/tokens.lua: texts become lists of tokens, by a function, a tokenizer, or at spaces.

local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local inputs = require 'rtrain.data.preprocessors.inputs'
local torch = require 'torch'

local tokens = {}

-- Python's text.split(' '): two spaces have an empty token between them.
local function split(text)
  local out = {}
  for token in (text .. ' '):gmatch '([^ ]*) ' do out[#out + 1] = token end
  return out
end

-- text.Tokenizer, known by its methods: this module may not require text.
local function is_tokenizer(value)
  if type(value) ~= 'table' and type(value) ~= 'userdata' then return false end
  local ok, encode = pcall(function() return value.encode end)
  return ok and type(encode) == 'function'
end

---Checks the parameter `tokenization_fn`.
---@param owner string the class, for messages
---@param fn any
---@return any fn
function tokens.checked(owner, fn)
  if fn == nil or type(fn) == 'function' or is_tokenizer(fn) then return fn end
  errors.raise('argument', ('%s: tokenization_fn: expected a function from a text to a list of tokens, or a text.Tokenizer, '
    .. 'got a %s'):format(owner, type(fn)))
end

local function function_of(fn)
  if fn == nil then return split end
  if type(fn) == 'function' then return fn end
  return function(text) return fn:encode(text).ids end
end

local function check_list(owner, value)
  if type(value) == 'userdata' and torch.is_tensor(value) then return value:tolist() end
  if type(value) == 'table' then return value end
  errors.raise('argument', ('%s: tokenization_fn: expected it to return a list of tokens, got a %s'):format(owner, type(value)))
end

---Returns the tokens of each text of a column.
---@param owner string the class, for messages
---@param block data.Block
---@param name string of the column
---@param fn any `tokenization_fn`
---@return any[][] lists with holes where texts are null
---@return integer count
function tokens.of(owner, block, name, fn)
  local of = inputs.column(owner, block, name)
  if not column.is_strings(of) and not inputs.has_no_type(of) then
    errors.raise('argument', ("%s: column '%s' is %s: expected texts"):format(owner, name, column.type_of(of)))
  end
  local texts, out, call = column.is_strings(of) and of:values() or {}, {}, function_of(fn)
  for i = 1, column.len(of) do
    if texts[i] ~= nil then out[i] = check_list(owner, call(texts[i])) end
  end
  return out, column.len(of)
end

return tokens
