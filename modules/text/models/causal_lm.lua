-- text/models/causal_lm.lua: what models that predict the next token have in common: the head, the loss, generation.

local generate = require 'text.generation.generate'
local linear_cross_entropy = require 'text.linear_cross_entropy'
local nn = require 'torch.nn'
local pretrained = require 'text.models.pretrained'
local shards = require 'torch.tensor.shards'
local F = require('torch').nn.functional

-- logits are computed when they are read: training needs no logits, and generation those of the last token. A sharded
-- model has its parameters in its forward alone, so it computes them there if the caller gave no labels.
local Output = {}

function Output.__index(output, name)
  if name == 'logits' then
    local logits = output._head(output.last_hidden_state)
    rawset(output, 'logits', logits)
    return logits
  end
  return nil
end

---Makes the class of a model that predicts the next token.
---
---Calling a model takes ids (n, tokens) and {attention_mask, labels, position_ids, past_key_values}, and returns
---{logits (n, tokens, vocab_size), loss, last_hidden_state (n, tokens, hidden_size)}. The loss is the mean cross entropy of
---each next token; labels of -100 do not count. A sharded model that is given labels has no logits after its forward.
---@param name string
---@param options table as of pretrained.class, and {Base: the class without the head, hidden_size: its name in the config}
---@return table
local function causal_lm(name, options)
  local Class = pretrained.class(name, options)
  local prefix = options.prefix
  Class.generate = generate

  function Class:_build(config)
    self[prefix] = options.Base(config, true)
    self.config = self[prefix].config
    self.lm_head = nn.Linear(self.config[options.hidden_size or 'hidden_size'], self.config.vocab_size, {bias = false})
  end

  function Class:_tie()
    if not self.config.tie_word_embeddings then return end
    self.lm_head.weight = self:get_input_embeddings().weight
    self._tied_names['lm_head.weight'] = ('%s.%s.weight'):format(prefix, options.embedding)
  end

  function Class:_init_weights(module) self[prefix]._init_weights(self[prefix], module) end

  ---Returns the logits of hidden states, (…, vocab_size).
  function Class:head(hidden)
    local logits = self.lm_head(hidden)
    local cap = self.config.final_logit_softcapping
    return cap and (logits / cap):tanh() * cap or logits
  end

  local function loss_of(self, hidden, labels)
    local width, tokens = hidden.shape[3], hidden.shape[2]
    local states = hidden:narrow(1, 0, tokens - 1):reshape(-1, width)
    local next_ids = labels:narrow(1, 1, tokens - 1):reshape(-1)
    -- An adapter may stand in the place of the head.
    local head = self.lm_head.chosen and self.lm_head:chosen() or self.lm_head
    if head.__name ~= 'Linear' then return F.cross_entropy(self:head(states):to('float32'), next_ids) end
    return linear_cross_entropy(states, head.weight, next_ids, {softcap = self.config.final_logit_softcapping})
  end

  function Class:forward(input_ids, given)
    given = given or {}
    local out = self[prefix](input_ids, given)
    local result = setmetatable({
      last_hidden_state = out.last_hidden_state, past_key_values = out.past_key_values,
      _head = function(hidden) return self:head(hidden) end,
    }, Output)
    if given.labels then
      result.loss = loss_of(self, out.last_hidden_state, given.labels)
      if out.aux_loss then
        result.aux_loss = out.aux_loss
        result.loss = result.loss + out.aux_loss * self.config.router_aux_loss_coef
      end
    elseif shards.is_whole_for_now(self.lm_head:parameters()[1]) then
      result.logits = result._head(out.last_hidden_state)
    end
    return result
  end

  return Class
end

return causal_lm
