-- torch/nn/adaptive.lua: AdaptiveLogSoftmaxWithLoss.

local args = require 'base.args'
local errors = require 'base.errors'
local Linear = require('torch.nn.linear').Linear
local Module = require('torch.nn.module').Module
local container = require 'torch.nn.container'
local inputs = require 'torch.nn.inputs'
local torch = require 'torch'

---Softmax over many classes, of which the rare ones are grouped in clusters (Grave et al. 2017): forward(input (N,
---in_features), target (N)) → output (N): the log-probability of each target; loss: minus their mean. Arguments:
---in_features, n_classes, cutoffs (a list: where clusters begin), {div_value = 4, head_bias = false, device, dtype}.
---
---```lua
---local torch = require 'torch'
---local softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, {5, 10}, {div_value = 2})
---local x = torch.randn(3, 8)
---local output, loss = softmax(x, torch.tensor({1, 7, 19}, {dtype = torch.int64}))
---assert(output.shape[1] == 3 and loss:item() > 0 and softmax:log_prob(x).shape[2] == 20)
---```
---@class nn.AdaptiveLogSoftmaxWithLoss: nn.Module
---@overload fun(in_features: integer, n_classes: integer, cutoffs: integer[], options?: table): nn.AdaptiveLogSoftmaxWithLoss
local AdaptiveLogSoftmaxWithLoss = Module:extend('AdaptiveLogSoftmaxWithLoss')

local signature = args.signature('AdaptiveLogSoftmaxWithLoss', {'in_features', 'n_classes', 'cutoffs', {'div_value', 4},
  {'head_bias', false}, {'device'}, {'dtype'}})

local function check_cutoffs(cutoffs, n_classes)
  local previous = 0
  for _, cutoff in ipairs(cutoffs) do
    if cutoff <= previous or cutoff > n_classes - 1 or cutoff % 1 ~= 0 then previous = nil break end
    previous = cutoff
  end
  if previous ~= nil and #cutoffs > 0 then return end
  errors.raise('argument', ('AdaptiveLogSoftmaxWithLoss: cutoffs are increasing integers from 1 to n_classes - 1 = %d'):format(
    n_classes - 1))
end

function AdaptiveLogSoftmaxWithLoss:init(...)
  local a = signature:bind(...)
  check_cutoffs(a.cutoffs, a.n_classes)
  self.in_features, self.n_classes, self.div_value, self.head_bias = a.in_features, a.n_classes, a.div_value, a.head_bias
  self.cutoffs = {unpack(a.cutoffs)}
  table.insert(self.cutoffs, a.n_classes)
  self.shortlist_size, self.n_clusters = self.cutoffs[1], #self.cutoffs - 1
  self.head_size = self.shortlist_size + self.n_clusters
  local like = {device = a.device, dtype = a.dtype}
  self.head = Linear(a.in_features, self.head_size, {bias = a.head_bias, device = a.device, dtype = a.dtype})
  self.tail = container.ModuleList()
  like.bias = false
  for i = 1, self.n_clusters do
    local hidden = math.floor(a.in_features / a.div_value ^ i)
    self.tail:append(container.Sequential(Linear(a.in_features, hidden, like),
      Linear(hidden, self.cutoffs[i + 1] - self.cutoffs[i], like)))
  end
end

function AdaptiveLogSoftmaxWithLoss:reset_parameters()
  self.head:reset_parameters()
  for _, projection in ipairs(self.tail) do
    projection[1]:reset_parameters()
    projection[2]:reset_parameters()
  end
end

local function check_shapes(input, target)
  local dims = target:dim()
  if dims > 1 or input:dim() ~= dims + 1 then
    errors.raise('argument', ('AdaptiveLogSoftmaxWithLoss: input is (N, in_features) and target (N), or both without N; '
      .. 'got %s and %s'):format(tostring(input.shape), tostring(target.shape)))
  end
  if dims == 1 and input:size(0) ~= target:size(0) then
    errors.raise('argument', ('AdaptiveLogSoftmaxWithLoss: input has a batch of %d, target one of %d'):format(input:size(0),
      target:size(0)))
  end
end

-- Returns the targets' places in the head: their class, or their cluster. Adds the clusters' part to `output`.
local function head_places(self, input, target, output)
  local places, low = target:clone(), 0
  for i, high in ipairs(self.cutoffs) do
    local rows = target:ge(low):logical_and(target:lt(high)):nonzero():view(-1)
    if i > 1 and rows:numel() > 0 then
      places:index_fill_(0, rows, self.shortlist_size + i - 2)
      local scores = self.tail[i - 1](input:index_select(0, rows)):log_softmax(1)
      local relative = target:index_select(0, rows) - low
      output = output:index_copy(0, rows, scores:gather(1, relative:unsqueeze(1)):squeeze(1))
    end
    low = high
  end
  return places, output
end

local take = inputs{'input_', 'target_'}

function AdaptiveLogSoftmaxWithLoss:forward(...)
  local input, target = take(self, ...)
  check_shapes(input, target)
  local alone = target:dim() == 0
  if alone then input, target = input:unsqueeze(0), target:unsqueeze(0) end
  if target:lt(0):logical_or(target:ge(self.n_classes)):any():item() then
    errors.raise('argument', ('AdaptiveLogSoftmaxWithLoss: targets lie in 0 … %d, found %d … %d'):format(
      self.n_classes - 1, target:min():item(), target:max():item()))
  end
  local places, output = head_places(self, input, target, input:new_zeros{target:size(0)})
  output = output + self.head(input):log_softmax(1):gather(1, places:unsqueeze(1)):squeeze(1)
  local loss = (-output):mean()
  return alone and output:squeeze(0) or output, loss
end

local function all_log_probs(self, input, head)
  local scores = head:log_softmax(1)
  local parts = {scores:narrow(1, 0, self.shortlist_size)}
  for i = 1, self.n_clusters do
    parts[i + 1] = self.tail[i](input):log_softmax(1) + scores:narrow(1, self.shortlist_size + i - 1, 1)
  end
  return torch.cat(parts, 1)
end

---Computes the log-probabilities of all classes.
---@param input torch.Tensor (N, in_features)
---@return torch.Tensor (N, n_classes)
function AdaptiveLogSoftmaxWithLoss:log_prob(input) return all_log_probs(self, input, self.head(input)) end

---Returns the most probable class of each row. A cluster is computed only for rows whose most probable head entry is a
---cluster.
---@param input torch.Tensor (N, in_features)
---@return torch.Tensor (N) int64
function AdaptiveLogSoftmaxWithLoss:predict(input)
  local head = self.head(input)
  local output = torch.argmax(head, 1)
  local rows = output:ge(self.shortlist_size):nonzero():view(-1)
  if rows:numel() == 0 then return output end
  local scores = all_log_probs(self, input:index_select(0, rows), head:index_select(0, rows))
  return output:index_copy(0, rows, torch.argmax(scores, 1))
end

return {AdaptiveLogSoftmaxWithLoss = AdaptiveLogSoftmaxWithLoss}
