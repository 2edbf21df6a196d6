-- text/batches.lua: lists of texts and of encodings that a tokenizer takes and gives at once.

local errors = require 'base.errors'

local batches = {}

local TEXTS_AT_ONCE = 1000

---Divides a batch into texts and what stands with them as pairs.
---@param input string[]|string[][]
---@return string[] texts
---@return string[]|nil pairs nil where there are none
---Errors: 'argument' for anything else.
function batches.texts_and_pairs(input)
  if type(input) ~= 'table' then
    errors.raise('argument', 'encode_batch: expected a list of strings or pairs, got ' .. type(input))
  end
  if type(input[1]) ~= 'table' then return input, nil end
  local texts, pairs_ = {}, {}
  for i, item in ipairs(input) do
    if type(item) ~= 'table' then
      errors.raise('argument', ('encode_batch: item %d: expected a pair as the first, got %s'):format(i, type(item)))
    end
    texts[i], pairs_[i] = item[1], item[2]
  end
  return texts, pairs_
end

---Puts encodings and their overflowing parts into one list.
---@param encodings text.Encoding[]
---@return text.Encoding[] all
---@return integer[] mapping the place of each one's text
function batches.with_overflowing(encodings)
  local all, mapping = {}, {}
  local function add(encoding, i) all[#all + 1], mapping[#mapping + 1] = encoding, i end
  for i, encoding in ipairs(encodings) do
    add(encoding, i)
    for _, part in ipairs(encoding.overflowing) do add(part, i) end
  end
  return all, mapping
end

---Calls feed(texts) for all that an iterator gives: texts, or lists of them.
---@param iterator (fun(): string|string[]|nil)|string[]
---@param feed fun(texts: string[])
---Errors: 'argument' for anything else.
function batches.each(iterator, feed)
  if type(iterator) == 'table' then
    local list, i = iterator, 0
    iterator = function()
      i = i + 1
      return list[i]
    end
  end
  if type(iterator) ~= 'function' then
    errors.raise('argument', 'train_new_from_iterator: expected a function or a list, got ' .. type(iterator))
  end
  local batch = {}
  for item in iterator do
    if type(item) == 'table' then feed(item) else batch[#batch + 1] = item end
    if #batch == TEXTS_AT_ONCE then
      feed(batch)
      batch = {}
    end
  end
  feed(batch)
end

return batches
