-- text/decode_stream.lua: text of ids that come one by one, as tokenizers' DecodeStream.

local class = require 'base.class'

---Decodes ids that come one by one, as a model generates them, and never splits a character: `tokenizer:decode_stream()`
---makes one.
---
---```lua
---local text = require 'text'
---local tokenizer = text.Tokenizer.from_str[[{"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"}}]]
---local stream = tokenizer:decode_stream()
---assert(stream:step(1) == 'b' and stream:step(0) == ' a' and stream:finish() == '')
---```
---@class text.DecodeStream
local DecodeStream = class('DecodeStream')

function DecodeStream:init(handle) self._handle = handle end

---Adds an id and returns the text that is complete by it.
---@param id integer
---@return string text '' while a character is not complete
function DecodeStream:step(id) return self._handle:step(id) end

---Returns the rest; the characters that were not completed are U+FFFD. The stream then begins again.
---@return string text
function DecodeStream:finish() return self._handle:finish() end

return {DecodeStream = DecodeStream}
