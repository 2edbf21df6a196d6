-- text/generation/beam_search.lua: the likeliest text of several that are written at the same time.

local Cache = require 'text.models.cache'
local next_token = require 'text.generation.next_token'
local torch = require 'torch'

-- Texts of one prompt that have ended: the best ones, by the mean logarithm of their tokens' probabilities.
local function add_ended(ended, ids, sum, length, settings)
  ended[#ended + 1] = {ids = ids, score = sum / length ^ settings.length_penalty}
  table.sort(ended, function(a, b) return a.score > b.score end)
  ended[settings.beams + 1] = nil
end

-- Whether no text that goes on can become one of the best.
local function is_done(ended, best_sum, length, settings)
  if #ended < settings.beams then return false end
  if settings.early_stopping then return true end
  return ended[#ended].score >= best_sum / length ^ settings.length_penalty
end

-- Chooses the beams that go on among twice as many candidates: those that do not end.
local function continue_row(row, candidates, state, settings, length)
  local kept = {}
  for rank, each in ipairs(candidates) do
    if settings.is_end[each.token] then
      if rank <= settings.beams then
        add_ended(row.ended, state.ids:select(0, each.beam), each.sum, length, settings)
      end
    elseif #kept < settings.beams then
      kept[#kept + 1] = each
    end
  end
  row.done = row.done or is_done(row.ended, candidates[1].sum, length, settings)
  return kept
end

local function candidates_of(sums, vocabulary, n, settings)
  local count = 2 * settings.beams
  local values, places = sums:view(n, -1):topk(count, 1)
  values, places = values:tolist(), places:tolist()
  local out = {}
  for i = 1, n do
    out[i] = {}
    for j = 1, count do
      local place = places[i][j]
      out[i][j] = {sum = values[i][j], token = place % vocabulary,
                   beam = (i - 1) * settings.beams + math.floor(place / vocabulary)}
    end
  end
  return out
end

local function finish(rows, state, sums, settings, prompt)
  local best, longest = {}, 0
  for i, row in ipairs(rows) do
    if not row.done then
      for j = 1, settings.beams do
        local beam = (i - 1) * settings.beams + j - 1
        local ids = state.ids:select(0, beam)
        add_ended(row.ended, ids, sums[beam]:item(), ids.shape[1] - prompt, settings)
      end
    end
    best[i] = row.ended[1]
    longest = math.max(longest, best[i].ids.shape[1])
  end
  return best, longest
end

---@param model nn.Module
---@param input_ids torch.Tensor
---@param given table options of generate
---@param settings table {count, ends, pad, mask, padded}
---@param next_logits fun(model: nn.Module, state: table): torch.Tensor
---@return torch.Tensor ids the best text of each prompt, padded on the right
return function(model, input_ids, given, settings, next_logits)
  local n, prompt, beams = input_ids.shape[1], input_ids.shape[2], given.num_beams
  settings.beams, settings.is_end = beams, {}
  settings.length_penalty, settings.early_stopping = given.length_penalty or 1, given.early_stopping
  for _, id in ipairs(settings.ends) do settings.is_end[id] = true end
  local state = {ids = input_ids:repeat_interleave(beams, 0), mask = settings.mask:repeat_interleave(beams, 0),
                 padded = settings.padded, cache = Cache()}
  local source = settings.source
  if source then
    state.source = {states = source.states:repeat_interleave(beams, 0),
                    padding = source.padding and source.padding:repeat_interleave(beams, 0)}
  end
  state.fresh = state.ids
  -- All beams begin alike: the first one alone counts.
  local sums = torch.full({n, beams}, -1e9, {device = input_ids.device})
  sums:select(1, 0):zero_()
  sums = sums:view(-1)
  local rows = {}
  for i = 1, n do rows[i] = {ended = {}} end
  for step = 1, settings.count do
    local logits = next_logits(model, state)
    if given.repetition_penalty then logits = next_token.penalized(logits, state.ids, given.repetition_penalty) end
    local totals = logits:log_softmax(1) + sums:unsqueeze(1)
    local candidates = candidates_of(totals, logits.shape[2], n, settings)
    local order, tokens, values, all_done = {}, {}, {}, true
    for i, row in ipairs(rows) do
      for _, each in ipairs(continue_row(row, candidates[i], state, settings, step)) do
        order[#order + 1], tokens[#tokens + 1], values[#values + 1] = each.beam, each.token, each.sum
      end
      all_done = all_done and row.done
    end
    if all_done then break end
    order = torch.tensor(order, {dtype = 'int64', device = input_ids.device})
    tokens = torch.tensor(tokens, {dtype = 'int64', device = input_ids.device})
    sums = torch.tensor(values, {dtype = 'float32', device = input_ids.device})
    state.ids = torch.cat({state.ids:index_select(0, order), tokens:unsqueeze(1)}, 1)
    state.mask = torch.cat({state.mask:index_select(0, order), torch.ones_like(tokens):to(state.mask.dtype):unsqueeze(1)}, 1)
    state.cache:reorder(order)
    state.fresh = tokens:unsqueeze(1)
  end
  local best, longest = finish(rows, state, sums, settings, prompt)
  local out = torch.full({n, math.min(longest + 1, prompt + settings.count)}, settings.pad,
    {dtype = 'int64', device = input_ids.device})
  for i, each in ipairs(best) do
    local length = each.ids.shape[1]
    out:select(0, i - 1):narrow(0, 0, length):copy_(each.ids)
    if length < out.shape[2] and #settings.ends > 0 then out[i - 1][length] = settings.ends[1] end
  end
  return out
end
