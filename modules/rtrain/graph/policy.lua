-- rtrain/graph/policy.lua: decides the next call of a step under train.graph: warm up, capture, replay, or run eagerly.
--
-- Only decisions, without tensors or devices. A fact that rules a graph out for good leads to the state 'eager'; a fact
-- about this call alone (other shapes, anomaly mode) makes this call eager and keeps the graph.

local class = require 'base.class'

-- DistributedDataParallel rebuilds its buckets and sets up its statistics in the first steps.
local WARMUP_WITH_DDP = 11
-- After this many changes of the arguments or the captured options the step stays eager.
local MOST_RESTARTS = 8

---@class rtrain.graph.GraphPolicy
---@field state string 'warming up', 'captured' or 'eager'
---@field reason? string why it is 'eager'
local GraphPolicy = class 'GraphPolicy'

---@param warmup integer calls before the capture
function GraphPolicy:init(warmup)
  self.state, self._warmup = 'warming up', warmup
  self._warm, self._restarts = 0, 0
end

---The facts about a call before it runs.
---@class rtrain.graph.Facts
---@field never? string why there can be no graph at all
---@field now? string why this call cannot use it
---@field difference? string how the arguments differ from those of the graph, or of the call before
---@field change? string a property that the graph treats as constant and that has changed
---@field has_ddp? boolean

---Makes every later call eager.
---@param reason string
---@return string action 'eager'
---@return string note text for the user
function GraphPolicy:fail(reason)
  self.state, self.reason = 'eager', reason
  return 'eager', 'it runs without a CUDA graph from here on: ' .. reason
end

-- Begins the warm-up again, with this call.
local function restart(self, why)
  self._restarts, self._warm, self.state = self._restarts + 1, 0, 'warming up'
  if self._restarts > MOST_RESTARTS then
    return self:fail(('it changes too often to be captured: %s'):format(why))
  end
end

local function warm(self, facts)
  if facts.difference then
    local action, note = restart(self, facts.difference)
    if action then return action, note end
  end
  local needed = facts.has_ddp and math.max(self._warmup, WARMUP_WITH_DDP) or self._warmup
  if self._warm >= needed then return 'capture' end
  self._warm = self._warm + 1
  return 'warm'
end

local function replay(self, facts)
  if facts.difference then return 'eager', 'this call runs without the CUDA graph: ' .. facts.difference end
  if not facts.change then return 'replay' end
  local action, note = restart(self, facts.change)
  if action then return action, note end
  self._warm = 1
  return 'warm', 'it is captured again: ' .. facts.change
end

---@param facts rtrain.graph.Facts
---@return 'eager'|'warm'|'capture'|'replay' action
---@return string|nil note text for the user, once
function GraphPolicy:next(facts)
  if self.state == 'eager' then return 'eager' end
  if facts.never then return self:fail(facts.never) end
  if facts.now then return 'eager', 'this call runs without a CUDA graph: ' .. facts.now end
  return (self.state == 'captured' and replay or warm)(self, facts)
end

---Called when the capture that next() requested is complete.
function GraphPolicy:captured() self.state = 'captured' end

return GraphPolicy
