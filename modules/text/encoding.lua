-- text/encoding.lua: what a text becomes, as tokenizers' Encoding.

local class = require 'base.class'

---What `Tokenizer:encode` returns. Each field is a list from 1, made when it is first read. Ids and offsets are counted as
---in Python: from 0, offsets in characters of the text, the end not included.
---
---```lua
---local text = require 'text'
---local tokenizer = text.Tokenizer.from_str[[{"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"},
---  "pre_tokenizer": {"type": "Whitespace"}}]]
---local encoding = tokenizer:encode 'a b'
---assert(#encoding == 2 and encoding.ids[2] == 1 and encoding.tokens[2] == 'b')
---assert(encoding.offsets[2][1] == 2 and encoding.offsets[2][2] == 3)
---```
---@class text.Encoding
---@field ids integer[]
---@field tokens string[]
---@field offsets integer[][] {begin, end} in characters; {0, 0} for a special token
---@field type_ids integer[] 0 for the text, 1 for its pair
---@field attention_mask integer[] 0 for padding
---@field special_tokens_mask integer[] 1 for what the post-processor or padding added
---@field overflowing text.Encoding[] what truncation cut off, with return_overflowing_tokens = true; else empty
---@operator len: integer
local Encoding = class.new('Encoding', nil, {userdata = true})

local FIELDS = {'ids', 'tokens', 'offsets', 'type_ids', 'attention_mask', 'special_tokens_mask', 'overflowing'}
local is_field = {}
for _, name in ipairs(FIELDS) do is_field[name] = true end

function Encoding:init(handle) self._handle = handle end

function Encoding.__index(self, key)
  if not is_field[key] then return Encoding[key] end
  local handle = rawget(self, '_handle')
  if not handle then return nil end
  local value = handle[key](handle)
  if key == 'overflowing' then
    for i, part in ipairs(value) do value[i] = Encoding(part) end
  end
  rawset(self, key, value)
  return value
end

function Encoding:__len() return self._handle:size() end

function Encoding:__tostring() return ('Encoding(num_tokens=%d)'):format(#self) end

-- It travels as its lists.
function Encoding:__pack()
  local state = {}
  for _, name in ipairs(FIELDS) do state[name] = self[name] end
  return 'text.encoding', '_unpack', state
end

local function unpack_state(state)
  local made = Encoding {size = function() return #state.ids end}
  for _, name in ipairs(FIELDS) do made[name] = state[name] end
  return made
end

return {Encoding = Encoding, _unpack = unpack_state}
