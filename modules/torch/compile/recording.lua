-- torch/compile/recording.lua: one recording of a step: its operators, its participants, and the values that it
-- returns.

local arguments = require 'torch.compile.arguments'
local class = require 'base.class'
local recording = require('torch._C').recording
local torch = require 'torch'
local Watch = require 'torch.compile.watch'

---@class torch.compile.Recording
---@field refusal? string why there is no record
---@field watch torch.compile.Watch
local Recording = class 'Recording'

local function packed(...) return {n = select('#', ...), ...} end

-- Keeps the results' shape, with the place of each tensor among the tensors instead of the tensor.
local function keep_results(self, ...)
  local count = 0
  self._shape = arguments.shape(...)
  self._results = arguments.mapped(self._shape, function()
    count = count + 1
    return count
  end, ...)
  self._plain = arguments.shape(unpack(self._results, 1, self._results.n))
end

local function finish(self, recorder, ok, ...)
  recorder:stop()
  if not ok then error((...), 0) end
  local results = packed(...)
  keep_results(self, ...)
  self.record, self.refusal = recorder:take(arguments.tensors(self._shape, ...))
  self.watch:settle()
  return unpack(results, 1, results.n)
end

---Runs the step and records it. Returns the step's results; raises its errors.
---@param step function
---@param given {tensors: torch.Tensor[], before?: userdata, keeps_results?: boolean} the tensors among
---  the arguments; the record of an earlier call, or its plan; whether the operators keep copies of their results
---@param ... any the arguments
---@return any ...
function Recording:run(step, given, ...)
  self.watch = Watch(step)
  -- Casts that autocast made before the step would be taken for states.
  torch.clear_autocast_cache()
  local recorder = recording.start(given.tensors, given.before, given.keeps_results or false)
  return finish(self, recorder, self.watch:watch(step, ...))
end

local function value_difference(shape, results)
  local difference = arguments.difference(shape, unpack(results, 1, results.n))
  return difference and 'of what it returns, ' .. difference:gsub('^argument', 'value')
end

---Returns how a later recording differs, so that no plan is both.
---@param later torch.compile.Recording
---@return string|nil difference
function Recording:difference(later)
  return self.record:difference(later.record) or value_difference(self._plain, later._results)
end

---Returns the step's results, made of tensors.
---@param tensors torch.Tensor[]
---@return any ...
function Recording:results_of(tensors)
  local results = self._results
  local values = arguments.mapped(self._shape, function(place) return tensors[place] end, unpack(results, 1, results.n))
  return unpack(values, 1, values.n)
end

return Recording
