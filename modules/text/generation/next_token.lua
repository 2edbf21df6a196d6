-- text/generation/next_token.lua: the next token of each row, out of its logits.

local torch = require 'torch'
local F = torch.nn.functional

local next_token = {}

---Makes tokens that a text has less likely: positive logits are divided, negative ones multiplied (Keskar et al. 2019).
---@param logits torch.Tensor (n, vocab_size)
---@param ids torch.Tensor (n, tokens)
---@param penalty number
---@return torch.Tensor
function next_token.penalized(logits, ids, penalty)
  local seen = logits:gather(1, ids)
  return logits:scatter(1, ids, torch.where(seen:lt(0), seen * penalty, seen / penalty))
end

local function keep_likeliest(logits, k)
  k = math.min(k, logits.shape[2])
  local values = logits:topk(k, 1)
  return logits:masked_fill(logits:lt(values:narrow(1, k - 1, 1)), -math.huge)
end

-- Keeps the likeliest tokens whose probabilities together reach top_p: at least one.
local function keep_mass(logits, top_p)
  local values, places = logits:sort(1)
  local removed = F.softmax(values, {dim = 1}):cumsum(1):le(1 - top_p)
  removed:narrow(1, removed.shape[2] - 1, 1):fill_(false)
  return logits:masked_fill(removed:scatter(1, places, removed), -math.huge)
end

local function keep_near_best(logits, min_p)
  local probabilities = F.softmax(logits, {dim = 1})
  return logits:masked_fill(probabilities:lt(probabilities:amax(1, true) * min_p), -math.huge)
end

---Returns logits after temperature, top_k, top_p and min_p, in this order.
---@param logits torch.Tensor (n, vocab_size)
---@param given table
---@return torch.Tensor
function next_token.filtered(logits, given)
  if given.temperature and given.temperature ~= 1 then logits = logits / given.temperature end
  if (given.top_k or 0) > 0 then logits = keep_likeliest(logits, given.top_k) end
  if (given.top_p or 1) < 1 then logits = keep_mass(logits, given.top_p) end
  if (given.min_p or 0) > 0 then logits = keep_near_best(logits, given.min_p) end
  return logits
end

---Returns a function of logits (n, vocab_size) and the ids before, whose result is a token for each row.
---@param given table options of generate
---@param device string
---@return fun(logits: torch.Tensor, ids: torch.Tensor): torch.Tensor
function next_token.chooser(given, device)
  local generator
  if given.seed then
    generator = torch.Generator(tostring(device))
    generator:manual_seed(given.seed)
  end
  return function(logits, ids)
    if given.repetition_penalty then logits = next_token.penalized(logits, ids, given.repetition_penalty) end
    if not given.do_sample then return logits:argmax(1) end
    local probabilities = F.softmax(next_token.filtered(logits, given), {dim = 1})
    return torch.multinomial(probabilities, 1, {generator = generator}):squeeze(1)
  end
end

return next_token
