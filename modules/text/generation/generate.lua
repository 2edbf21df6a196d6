-- text/generation/generate.lua: model:generate: tokens after a prompt, one at a time or from several beams.

local args = require 'base.args'
local Cache = require 'text.models.cache'
local beam_search = require 'text.generation.beam_search'
local errors = require 'base.errors'
local next_token = require 'text.generation.next_token'
local prompt_lookup = require 'text.generation.prompt_lookup'
local StaticStep = require 'text.generation.static_step'
local torch = require 'torch'
local unsharded = require 'text.generation.unsharded'

local NAMES = {'attention_mask', 'max_new_tokens', 'max_length', 'do_sample', 'temperature', 'top_k', 'top_p', 'min_p',
               'repetition_penalty', 'num_beams', 'length_penalty', 'early_stopping', 'eos_token_id', 'pad_token_id', 'stop',
               'streamer', 'seed', 'prompt_lookup_num_tokens', 'cache_implementation'}
local NEW_TOKENS = 20
-- What generation_config.json of a folder says where a call does not.
local CONFIGURED = {'max_new_tokens', 'do_sample', 'temperature', 'top_k', 'top_p', 'min_p', 'repetition_penalty', 'num_beams',
                    'length_penalty', 'early_stopping', 'eos_token_id', 'pad_token_id'}

local function fail(format, ...) errors.raise('argument', 'generate: ' .. format:format(...)) end

local function check_number(name, value, least, most)
  if value == nil then return end
  if type(value) ~= 'number' or not (value >= least and value <= most) then
    fail('%s = %s: expected a number from %s to %s', name, tostring(value), tostring(least), tostring(most))
  end
end

local function check(given)
  check_number('temperature', given.temperature, 1e-6, math.huge)
  check_number('top_p', given.top_p, 0, 1)
  check_number('min_p', given.min_p, 0, 1)
  check_number('top_k', given.top_k, 0, math.huge)
  check_number('repetition_penalty', given.repetition_penalty, 1e-6, math.huge)
  check_number('num_beams', given.num_beams, 1, 1000)
  check_number('max_new_tokens', given.max_new_tokens, 0, 2 ^ 31)
  if (given.num_beams or 1) > 1 and given.do_sample then fail 'do_sample with num_beams: rtrain samples from one beam' end
  if given.prompt_lookup_num_tokens then
    check_number('prompt_lookup_num_tokens', given.prompt_lookup_num_tokens, 1, 1000)
    if (given.num_beams or 1) > 1 or given.do_sample then
      fail 'prompt_lookup_num_tokens: guesses are compared with the likeliest token: leave out do_sample and num_beams'
    end
  end
  if given.cache_implementation ~= nil then
    args.one_of('generate: cache_implementation', given.cache_implementation, {'dynamic', 'static'})
    if given.cache_implementation == 'static' and ((given.num_beams or 1) > 1 or given.prompt_lookup_num_tokens) then
      fail "cache_implementation = 'static' is for one token at a time: leave out num_beams and prompt_lookup_num_tokens"
    end
  end
  if (given.num_beams or 1) > 1 and given.streamer then fail 'a streamer shows one beam: leave out num_beams' end
end

local function with_configured(given, config)
  local out = {}
  for _, name in ipairs(config and CONFIGURED or {}) do out[name] = config[name] end
  for name, value in next, given do out[name] = value end
  return out
end

-- Ids that end a text: a number, or a list.
local function ends_of(value)
  local out = {}
  for _, id in ipairs(type(value) == 'table' and value or {value}) do out[#out + 1] = id end
  return out
end

-- What is left to say, as the model's config and the call have it.
local function settings_of(model, input_ids, given)
  local config = model.config
  local prompt = input_ids.shape[2]
  local count = given.max_new_tokens or given.max_length and given.max_length - prompt or NEW_TOKENS
  local ends = ends_of(given.eos_token_id == nil and config.eos_token_id or given.eos_token_id)
  local is_end = {}
  for _, id in ipairs(ends) do is_end[id] = true end
  return {
    count = math.max(0, count), ends = ends, is_end = is_end, pad = given.pad_token_id or config.pad_token_id or ends[1] or 0,
    mask = given.attention_mask or torch.ones_like(input_ids), padded = given.attention_mask ~= nil,
  }
end

-- What is to be continued: the prompt; of a model with an encoder the first token, and what the encoder makes of the prompt.
local function beginning(model, input_ids, given, settings)
  if not model.is_encoder_decoder then return input_ids end
  settings.source = model:encoded(input_ids, {attention_mask = given.attention_mask})
  local ids = torch.full({input_ids.shape[1], 1}, model.config.decoder_start_token_id,
    {dtype = 'int64', device = input_ids.device})
  settings.mask, settings.padded = torch.ones_like(ids), false
  return ids
end

---Positions of tokens, which count from the first token behind the padding.
local function positions_of(mask) return (mask:cumsum(1) - 1):clamp(0) end

-- Logits after the last token, (n, vocab_size); or after the last `count` tokens, (n, count, vocab_size).
local function logits_of(model, hidden, count)
  local last = count and hidden:narrow(1, hidden.shape[2] - count, count) or hidden:select(1, -1)
  return model:head(last):to('float32')
end

-- Runs the model for the next token. `state` is {mask, padded, cache, source, fresh: the ids that it has not seen}.
local function next_logits(model, state, count)
  local fresh = state.fresh
  if state.source then
    local out = model(nil, {decoder_input_ids = fresh, encoder_outputs = state.source, past_key_values = state.cache})
    return logits_of(model, out.last_hidden_state, count)
  end
  local positions = state.padded and positions_of(state.mask):narrow(1, state.mask.shape[2] - fresh.shape[2], fresh.shape[2])
    or nil
  local out = model(fresh, {attention_mask = state.padded and state.mask or nil, position_ids = positions,
                            past_key_values = state.cache})
  return logits_of(model, out.last_hidden_state, count)
end

local function with_column(tensor, column) return torch.cat({tensor, column:unsqueeze(1)}, 1) end

-- Replaces the tokens of texts that have ended by padding, and notes which end now. Returns the tokens, and whether all have.
local function close(tokens, closed, settings)
  local ids, num_open, is_padded = tokens:tolist(), 0, false
  for row, id in ipairs(ids) do
    if closed[row] then
      ids[row], is_padded = settings.pad, true
    else
      closed[row] = settings.is_end[id]
      if not closed[row] then num_open = num_open + 1 end
    end
  end
  if is_padded then tokens = torch.tensor(ids, {dtype = 'int64', device = tokens.device}) end
  return tokens, num_open == 0
end

-- Returns the tokens for which a cache gets its memory at once; nil if it grows.
local function capacity_of(model, input_ids, given, settings)
  local wanted = given.cache_implementation
  if wanted == 'dynamic' or not wanted and not input_ids.is_cuda then return nil end
  local capacity = input_ids.shape[2] + settings.count
  local reason = StaticStep.refusal(model, capacity)
  if reason and wanted then fail("cache_implementation = 'static': %s: leave it out", reason) end
  return not reason and capacity or nil
end

-- Returns a function that makes the logits of the next token, whose first call reads the prompt.
local function logits_maker(model, state)
  local static
  return function()
    if static then return static:logits(state.fresh) end
    local logits = next_logits(model, state)
    if state.cache.capacity then static = StaticStep(model, state.cache, state.padded and state.mask or nil, logits_of) end
    return logits
  end
end

local function sample(model, input_ids, given, settings)
  local state = {mask = settings.mask, padded = settings.padded, fresh = input_ids, source = settings.source,
                 cache = Cache(capacity_of(model, input_ids, given, settings))}
  local logits_after = logits_maker(model, state)
  local choose = next_token.chooser(given, input_ids.device)
  -- Tokens are put next to the ids when somebody looks at these.
  local columns, closed = {input_ids}, {}
  local function all_ids()
    columns = {torch.cat(columns, 1)}
    return columns[1]
  end
  for _ = 1, settings.count do
    local tokens, is_over = choose(logits_after(), given.repetition_penalty and all_ids() or nil), false
    if #settings.ends > 0 then tokens, is_over = close(tokens, closed, settings) end
    state.fresh = tokens:unsqueeze(1)
    columns[#columns + 1] = state.fresh
    if state.padded and not state.cache.capacity then
      state.mask = with_column(state.mask, torch.ones_like(tokens):to(state.mask.dtype))
    end
    if given.streamer then given.streamer(tokens) end
    if given.stop and given.stop(all_ids()) or is_over then break end
  end
  return all_ids()
end

-- One text on the CPU waits for the weights to be read: its linear layers are computed at the speed of the memory.
local function with_row_products(fn)
  local engine = require 'torch._C'
  local before = engine.set_row_products(true)
  local ok, result = xpcall(fn, errors.wrap)
  engine.set_row_products(before)
  if not ok then error(result, 0) end
  return result
end

---Writes on after a prompt. All ranks call it of a sharded model, each with its own prompts; its parameters are whole
---meanwhile. The equivalent in transformers: GenerationMixin.generate.
---@param input_ids torch.Tensor int64, (n, tokens); shorter prompts are padded on the left
---@param options? table attention_mask (n, tokens), 0 for padding; max_new_tokens (20); do_sample (false: the likeliest
---  token), with temperature, top_k, top_p, min_p, seed; repetition_penalty; num_beams, length_penalty (1),
---  early_stopping; eos_token_id (a number or a list; {}: none), pad_token_id (both as in config.json); stop(ids): true
---  ends; streamer(tokens): called with the tokens (n) of each step; prompt_lookup_num_tokens: how many tokens at once are
---  guessed from what was said before, of one prompt without do_sample; cache_implementation: 'static' gives keys and values
---  all their memory at once, so that a GPU runs a token as one graph (what it does by itself, where the model can),
---  'dynamic' lets them grow. Where the folder of the model has a generation_config.json, that says what is left out
---@return torch.Tensor ids (n, tokens + new tokens)
---Errors: 'argument' for a wrong option, or a prompt without tokens.
return function(self, input_ids, options)
  local given = with_configured(args.options(options, NAMES, 'generate'), self.generation_config)
  check(given)
  if input_ids:dim() ~= 2 or input_ids.shape[2] == 0 then
    fail('expected ids of the shape {n, tokens} with a token, got {%s}', table.concat(input_ids.shape, ', '))
  end
  if given.prompt_lookup_num_tokens and input_ids.shape[1] > 1 then
    fail('prompt_lookup_num_tokens: there is one prompt, got %d', input_ids.shape[1])
  end
  local settings = settings_of(self, input_ids, given)
  local was_training = self.training
  self:eval()
  local ids = with_row_products(function()
    return unsharded(self, torch.no_grad, function()
      input_ids = beginning(self, input_ids, given, settings)
      if (given.num_beams or 1) > 1 then return beam_search(self, input_ids, given, settings, next_logits) end
      if given.prompt_lookup_num_tokens then
        local tools = {logits = next_logits, choose = next_token.chooser(given, input_ids.device)}
        return prompt_lookup.sample(self, input_ids, given, settings, tools)
      end
      return sample(self, input_ids, given, settings)
    end)
  end)
  self:train(was_training)
  return ids
end
