-- text/generation/prompt_lookup.lua: several tokens at once: what followed the last tokens before is guessed to follow again.
--
-- One call of the model looks at all guesses. Those that it would have chosen itself are kept, so the text is the same as
-- without guesses; a text that repeats its prompt, as a summary or changed code does, takes fewer calls.

local Cache = require 'text.models.cache'
local torch = require 'torch'

local prompt_lookup = {}

-- The most tokens that are looked for.
local LONGEST = 3

local function stands_at(ids, start, length)
  for i = 0, length - 1 do
    if ids[start + i] ~= ids[#ids - length + 1 + i] then return false end
  end
  return true
end

---Returns the tokens that followed the last ones where they stood before, the newest place first.
---@param ids integer[]
---@param count integer the most tokens
---@return integer[] guesses {} if the last token is new
---
---```lua
---local guess = require('text.generation.prompt_lookup').guess
---assert(table.concat(guess({1, 2, 3, 4, 9, 2, 3}, 2), ' ') == '4 9' and #guess({1, 2, 3}, 2) == 0)
---```
function prompt_lookup.guess(ids, count)
  for length = math.min(LONGEST, #ids - 1), 1, -1 do
    for start = #ids - length, 1, -1 do
      if stands_at(ids, start, length) then
        return {unpack(ids, start + length, math.min(#ids, start + length + count - 1))}
      end
    end
  end
  return {}
end

local function tensor_of(ids, device) return torch.tensor({ids}, {dtype = 'int64', device = device}) end

-- What the model has not seen, and the guesses. A long prompt has more ids than unpack can return.
local function unseen(ids, seen, guesses)
  local out = {}
  for place = seen + 1, #ids do out[#out + 1] = ids[place] end
  for _, id in ipairs(guesses) do out[#out + 1] = id end
  return out
end

-- The mask of the prompt, with ones for the tokens after it.
local function extended(mask, length)
  return torch.cat({mask, torch.ones({1, length - mask.shape[2]}, {dtype = mask.dtype, device = mask.device})}, 1)
end

-- Adds the tokens that the model chooses after what it has read; ends at the first one that was not guessed.
local function take(self, logits, guesses)
  local ids = self.ids
  for i = 0, #guesses do
    local before = self.needs_ids and tensor_of(ids, self.device) or nil
    local token = self.choose(logits:select(1, i), before)
    local id = token:item()
    ids[#ids + 1], self.left = id, self.left - 1
    if self.given.streamer then self.given.streamer(token) end
    self.is_over = self.is_end[id] or self.left == 0
      or self.given.stop and self.given.stop(tensor_of(ids, self.device)) or false
    if self.is_over or guesses[i + 1] ~= id then return end
  end
end

---Writes on after one prompt.
---@param model nn.Module
---@param input_ids torch.Tensor int64, (1, tokens)
---@param given table options of generate
---@param settings table what generate makes of them
---@param tools {logits: function, choose: function}
---@return torch.Tensor ids (1, tokens + new tokens)
function prompt_lookup.sample(model, input_ids, given, settings, tools)
  local ids, device = input_ids[0]:tolist(), input_ids.device
  local self = {ids = ids, device = device, given = given, choose = tools.choose, left = settings.count,
                is_end = settings.is_end, is_over = settings.count == 0, needs_ids = given.repetition_penalty ~= nil}
  local state = {padded = settings.padded, cache = Cache(), source = settings.source}
  while not self.is_over do
    local guesses = prompt_lookup.guess(ids, math.min(given.prompt_lookup_num_tokens, self.left - 1))
    local fresh = unseen(ids, state.cache.length, guesses)
    state.fresh = tensor_of(fresh, device)
    if state.padded then state.mask = extended(settings.mask, state.cache.length + #fresh) end
    take(self, tools.logits(model, state, #guesses + 1), guesses)
    state.cache:crop(#ids - 1)
  end
  return tensor_of(ids, device)
end

return prompt_lookup
