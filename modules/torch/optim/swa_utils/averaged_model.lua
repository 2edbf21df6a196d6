-- torch/optim/swa_utils/averaged_model.lua: a copy of a model whose weights are averages over training.

local args = require 'base.args'
local errors = require 'base.errors'
local torch = require 'torch'
local virtual_ranks = require 'torch.distributed.virtual_ranks'

local swa_utils = {}

local function check_decay(decay)
  decay = decay or 0.999
  if type(decay) ~= 'number' or not (decay >= 0 and decay <= 1) then
    errors.raise('argument', ('invalid decay value %s: it is from 0 to 1'):format(tostring(decay)))
  end
  return decay
end

local function is_inexact(tensor) return tensor:is_floating_point() or tensor:is_complex() end

---Returns an avg_fn for exponential moving averages: decay·average + (1 - decay)·weight.
---@param decay? number default 0.999
---@return fun(average: torch.Tensor, weight: torch.Tensor, num_averaged: integer): torch.Tensor
function swa_utils.get_ema_avg_fn(decay)
  decay = check_decay(decay)
  return function(average, weight) return average * decay + weight * (1 - decay) end
end

---As get_ema_avg_fn, for lists of tensors of one dtype; the function changes the averages.
---@param decay? number default 0.999
---@return fun(averages: torch.Tensor[], weights: torch.Tensor[], num_averaged: integer)
function swa_utils.get_ema_multi_avg_fn(decay)
  decay = check_decay(decay)
  return function(averages, weights)
    if is_inexact(averages[1]) then return torch._foreach_lerp_(averages, weights, 1 - decay) end
    for i, average in ipairs(averages) do average:copy_(average * decay + weights[i] * (1 - decay)) end
  end
end

---Returns an avg_fn for equal weights: average + (weight - average) / (num_averaged + 1).
---@return fun(average: torch.Tensor, weight: torch.Tensor, num_averaged: integer): torch.Tensor
function swa_utils.get_swa_avg_fn()
  return function(average, weight, num_averaged) return average + (weight - average) / (num_averaged + 1) end
end

---As get_swa_avg_fn, for lists of tensors of one dtype; the function changes the averages.
---@return fun(averages: torch.Tensor[], weights: torch.Tensor[], num_averaged: integer)
function swa_utils.get_swa_multi_avg_fn()
  return function(averages, weights, num_averaged)
    if is_inexact(averages[1]) then return torch._foreach_lerp_(averages, weights, 1 / (num_averaged + 1)) end
    for i, average in ipairs(averages) do average:copy_(average + (weights[i] - average) / (num_averaged + 1)) end
  end
end

---A copy of the model (`.module`) with averaged parameters: stochastic weight averaging (Izmailov et al. 2018, arXiv
---1803.05407) or, with a suitable avg_fn, exponential moving averages. Call `update_parameters(model)` after the steps
---to include; the first call copies. Arguments: model, {device, avg_fn = fn(average, weight, num_averaged) → new
---average, multi_avg_fn = fn(averages, weights, num_averaged) that changes the averages, use_buffers = false (true:
---buffers are averaged, else copied)}. num_averaged is a number. PyTorch equivalent:
---torch.optim.swa_utils.AveragedModel.
---
---```lua
---local torch = require 'torch'
---local swa_utils = torch.optim.swa_utils
---local model = torch.nn.Linear(2, 1, {bias = false})
---local average = swa_utils.AveragedModel(model, {multi_avg_fn = swa_utils.get_ema_multi_avg_fn(0.9)})
---for value = 1, 2 do
---  torch.nn.init.constant_(model.weight, value)
---  average:update_parameters(model)
---end
---assert(math.abs(average.module.weight[{0, 0}]:item() - 1.1) < 1e-6 and average.n_averaged:item() == 2)
---```
---@class optim.AveragedModel: nn.Module
---@field module nn.Module
---@field n_averaged torch.Tensor int64, number of calls of update_parameters
---@overload fun(model: nn.Module, options?: table): optim.AveragedModel
local AveragedModel = torch.nn.Module:extend('AveragedModel')

local SIGNATURE = args.signature('AveragedModel', {'model', {'device'}, {'avg_fn'}, {'multi_avg_fn'}, {'use_buffers', false}})

function AveragedModel:init(...)
  local bound = SIGNATURE:bind(...)
  if bound.avg_fn and bound.multi_avg_fn then
    errors.raise('argument', 'AveragedModel: only one of avg_fn and multi_avg_fn should be provided')
  end
  self.module = bound.model:deepcopy()
  if bound.device then self.module:to(bound.device) end
  self:register_buffer('n_averaged', torch.tensor(0, {dtype = 'int64', device = bound.device}))
  self.avg_fn, self.multi_avg_fn, self.use_buffers = bound.avg_fn, bound.multi_avg_fn, bound.use_buffers
end

function AveragedModel:forward(...) return self.module(...) end

local function tensors_of(model, with_buffers)
  local out = {}
  for i, param in ipairs(model:parameters()) do out[i] = param:detach() end
  for _, buffer in ipairs(with_buffers and model:buffers() or {}) do out[#out + 1] = buffer:detach() end
  return out
end

local function copy_all(averages, weights)
  for i, average in ipairs(averages) do average:copy_(weights[i]) end
end

-- Returns lists of averages and weights by dtype and device.
local function by_kind(averages, weights)
  local list, kinds = {}, {}
  for i, average in ipairs(averages) do
    local kind = average.dtype .. average.device
    if not kinds[kind] then
      kinds[kind] = {averages = {}, weights = {}}
      list[#list + 1] = kinds[kind]
    end
    table.insert(kinds[kind].averages, average)
    table.insert(kinds[kind].weights, weights[i]:to(average.device))
  end
  return list
end

local function average_all(self, averages, weights, count)
  if self.avg_fn then
    for i, average in ipairs(averages) do average:copy_(self.avg_fn(average, weights[i]:to(average.device), count)) end
    return
  end
  local update = self.multi_avg_fn or swa_utils.get_swa_multi_avg_fn()
  for _, kind in ipairs(by_kind(averages, weights)) do update(kind.averages, kind.weights, count) end
end

local function update(self, model)
  local averages, weights = tensors_of(self.module, self.use_buffers), tensors_of(model, self.use_buffers)
  if #averages ~= #weights then
    errors.raise('argument', ('AveragedModel: the model has %d tensors, its average %d'):format(#weights, #averages))
  end
  local count = self.n_averaged:item()
  if count == 0 then copy_all(averages, weights) else average_all(self, averages, weights, count) end
  if not self.use_buffers then copy_all(self.module:buffers(), model:buffers()) end
  self.n_averaged:add_(1)
end

---Updates the averages with the model's present weights.
---@param model nn.Module
function AveragedModel:update_parameters(model)
  if not virtual_ranks.is_held() then torch.no_grad(update, self, model) end
end

swa_utils.AveragedModel = AveragedModel

return swa_utils
