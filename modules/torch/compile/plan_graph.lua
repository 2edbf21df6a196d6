-- torch/compile/plan_graph.lua: PlanGraph: the plan of a step on a GPU as one CUDA graph, for mode = 'reduce-overhead'.
--
-- The arguments are copied into the graph's own tensors, the results out of them. The plan checks everything else before
-- each call, as without a graph.

local class = require 'base.class'
local warnings = require 'base.warnings'

-- After that many captures the plan runs without a graph: what a graph takes as given changes too often.
local MOST_CAPTURES = 8
-- Calls with the same learning rates before a capture.
local STEADY_CALLS = 3

---@class torch.compile.PlanGraph
---@field refusal? string why there is no graph
---@field num_replays integer
local PlanGraph = class 'PlanGraph'

---@param plan userdata
function PlanGraph:init(plan)
  self._plan, self._num_captures, self._steady = plan, 0, 0
  self.refusal, self.num_replays = plan:graph_refusal(), 0
end

local function is_same(a, b)
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] then return false end
  end
  return true
end

local function refuse(self, reason)
  self.refusal, self._graph, self._inputs, self._outputs = reason, nil, nil, nil
  warnings.warn("mode = 'reduce-overhead': a plan runs without a CUDA graph: " .. reason)
end

local function capture(self, tensors, rates)
  local cuda = require 'torch.cuda'
  self._inputs = {}
  for i, tensor in ipairs(tensors) do self._inputs[i] = tensor:clone() end
  local graph = cuda.CUDAGraph()
  local ok, out = pcall(cuda.graph, graph, {capture_error_mode = 'thread_local'}, function()
    return self._plan:run(self._inputs, rates)
  end)
  if not ok then return refuse(self, type(out) == 'table' and out.message or tostring(out)) end
  self._graph, self._outputs, self._num_captures = graph, out, self._num_captures + 1
  self._plan:keep_effects()
end

local function replay(self, tensors)
  for i, tensor in ipairs(tensors) do self._inputs[i]:copy_(tensor) end
  self._graph:replay()
  self._plan:repeat_effects()
  self.num_replays = self.num_replays + 1
  local out = {}
  for i, tensor in ipairs(self._outputs) do out[i] = tensor:clone() end
  return out
end

-- Drops the graph if it would not be this call.
local function forget_other(self, rates)
  self._steady = self._rates and is_same(self._rates, rates) and self._steady + 1 or 0
  if self._graph and (self._steady == 0 or not self._plan:repeats()) then
    self._graph, self._inputs, self._outputs = nil, nil, nil
    if self._num_captures == MOST_CAPTURES then refuse(self, 'learning rates or the memory of gradients change too often') end
  end
  self._rates = rates
end

---Runs the plan, with a graph as soon as there is one.
---@param tensors torch.Tensor[] the arguments
---@param rates number[] learning rates
---@return torch.Tensor[] results
function PlanGraph:run(tensors, rates)
  if not self.refusal then forget_other(self, rates) end
  if self.refusal or require('torch.cuda').is_current_stream_capturing() then return self._plan:run(tensors, rates) end
  if not self._graph and self._steady >= STEADY_CALLS and self._plan:has_settled() then capture(self, tensors, rates) end
  if not self._graph then return self._plan:run(tensors, rates) end
  return replay(self, tensors)
end

---@return string
function PlanGraph:__tostring()
  if self.refusal then return 'without a CUDA graph: ' .. self.refusal end
  return self._graph and ('one CUDA graph, replayed %d times'):format(self.num_replays) or 'not captured yet'
end

return PlanGraph
