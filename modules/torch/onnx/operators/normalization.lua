-- torch/onnx/operators/normalization.lua: batch, layer, group, instance and RMS normalization.

local torch = require 'torch'

local normalization = {}

local function float(value) return {float = value} end

-- A missing weight is all ones.
local function channels(t, value, count, fill, dtype)
  if value then return t:operand(value) end
  return t.graph:constant(torch.full({count}, fill, {dtype = dtype}))
end

local function batch_norm(t, a)
  if a.training or not a.running_mean then
    t:fail('it uses the statistics of the batch: a BatchNorm with track_running_stats, in eval(), has those of the training')
  end
  local count, dtype = t:fixed_size(a.running_mean, 0), t:dtype(a.input)
  return t:add('BatchNormalization', {t:operand(a.input), channels(t, a.weight, count, 1, dtype),
    channels(t, a.bias, count, 0, dtype), t:operand(a.running_mean), t:operand(a.running_var)}, {epsilon = float(a.eps)})
end
normalization.batch_norm = batch_norm

normalization.layer_norm = function(t, a)
  local dtype, sizes = t:dtype(a.input), a.normalized_shape
  local weight = a.weight and t:operand(a.weight) or t.graph:constant(torch.ones(sizes, {dtype = dtype}))
  local inputs = {t:operand(a.input), weight}
  if a.bias then inputs[3] = t:operand(a.bias) end
  return t:add('LayerNormalization', inputs, {axis = -#sizes, epsilon = float(a.eps)})
end

-- Adds a dimension of size 1 for each dimension after the channels.
local function spread(t, value, rank)
  local shape = {t:fixed_size(value, 0)}
  for i = 2, rank - 1 do shape[i] = 1 end
  return t:add('Reshape', {t:operand(value), t.graph:integers(shape)})
end

local function scaled(t, x, a, rank)
  if a.weight then x = t:add('Mul', {x, spread(t, a.weight, rank)}) end
  return a.bias and t:add('Add', {x, spread(t, a.bias, rank)}) or x
end

-- Treats the groups as channels of an instance normalization.
normalization.group_norm = function(t, a, call)
  local dtype, groups = t:dtype(a.input), a.num_groups
  local x = t:add('Reshape', {t:operand(a.input), t.graph:integers{0, groups, -1}})
  x = t:add('InstanceNormalization', {x, t.graph:constant(torch.ones(groups, {dtype = dtype})),
    t.graph:constant(torch.zeros(groups, {dtype = dtype}))}, {epsilon = float(a.eps)})
  return scaled(t, t:reshaped(x, call.results[1]), a, t:rank(a.input))
end

normalization.instance_norm = function(t, a)
  if not a.use_input_stats then return batch_norm(t, a) end
  local count, dtype = t:fixed_size(a.input, 1), t:dtype(a.input)
  return t:add('InstanceNormalization', {t:operand(a.input), channels(t, a.weight, count, 1, dtype),
    channels(t, a.bias, count, 0, dtype)}, {epsilon = float(a.eps)})
end

local EPS = {float32 = 2 ^ -23, float64 = 2 ^ -52, float16 = 2 ^ -10, bfloat16 = 2 ^ -7}

-- x / sqrt(mean(x²) + eps) · weight
normalization.rms_norm = function(t, a)
  local dtype, x, axes = t:dtype(a.input), t:operand(a.input), {}
  for i = 1, #a.normalized_shape do axes[i] = -i end
  local mean = t:reduce('ReduceMean', t:add('Mul', {x, x}), axes, true)
  local root = t:add('Sqrt', {t:add('Add', {mean, t:operand(a.eps or EPS[dtype], dtype)})})
  local out = t:add('Div', {x, root})
  return a.weight and t:add('Mul', {out, t:operand(a.weight)}) or out
end

return normalization
