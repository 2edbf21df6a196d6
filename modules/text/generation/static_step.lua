-- text/generation/static_step.lua: the next token with tensors that keep their sizes and places: a GPU runs a token as one
-- graph (train.graph), which needs no host in between, a CPU as one plan (torch.compile), which needs no Lua.

local class = require 'base.class'
local experts = require 'text.models.experts'
local rotary = require 'text.models.rotary'
local torch = require 'torch'

---@class text.StaticStep
local StaticStep = class 'StaticStep'

---Returns why a model cannot generate with a cache that keeps its sizes; nil if it can.
---@param model nn.Module
---@param capacity integer tokens of the prompt and after it
---@return string|nil reason
function StaticStep.refusal(model, capacity)
  if model.is_encoder_decoder then return 'its encoder has keys of its own' end
  for _, module in ipairs(model:modules()) do
    if class.is(module, experts.SparseMoeBlock) then return 'its tokens go to experts: their numbers are not known ahead' end
    for _, rope in pairs(module.ropes or {}) do
      if rotary.grows(rope) then return ("its rotary embeddings are '%s'"):format(rope.rope_type) end
    end
  end
  local context = model.config.n_positions
  return context and capacity > context and ('its context has %d tokens, and %d are asked for'):format(context, capacity) or nil
end

---@param model nn.Module
---@param cache text.Cache that has read the prompt
---@param mask torch.Tensor|nil (n, tokens): 0 for padding
---@param logits_of fun(model: nn.Module, hidden: torch.Tensor): torch.Tensor
function StaticStep:init(model, cache, mask, logits_of)
  local key = cache.layers[1].key
  local device = key.device
  self._place = torch.tensor({cache.length}, {dtype = 'int64', device = device})
  if mask then
    -- What is behind the place of a query is not seen anyway.
    local rest = torch.ones({mask.shape[1], cache.capacity - mask.shape[2]}, {dtype = mask.dtype, device = device})
    self._mask, self._positions = torch.cat({mask, rest}, 1), mask:sum{dim = 1, keepdim = true}
  else
    self._positions = self._place:clone():unsqueeze(0)
  end
  local function step(ids, place, positions)
    cache.place = place
    local out = model(ids, {attention_mask = self._mask, position_ids = positions, past_key_values = cache})
    return logits_of(model, out.last_hidden_state)
  end
  self._step = key.is_cuda and require('rtrain').graph(step) or torch.compile(step)
end

---Returns the logits of the next token, (n, vocab_size), until the next call.
---@param ids torch.Tensor int64, (n, 1): the newest tokens
---@return torch.Tensor
function StaticStep:logits(ids)
  local out = self._step(ids, self._place, self._positions)
  self._place:add_(1)
  self._positions:add_(1)
  return out
end

return StaticStep
