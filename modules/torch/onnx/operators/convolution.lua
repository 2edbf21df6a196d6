-- torch/onnx/operators/convolution.lua: convolutions, including transposed ones.

local windows = require 'torch.onnx.windows'

local convolution = {}

local per_dim, twice = windows.per_dim, windows.twice

-- 'same' pads so that the output has the input's size; the second side gets the odd element.
local function same_pads(kernel, dilation)
  local before, after = {}, {}
  for i, size in ipairs(kernel) do
    local sum = dilation[i] * (size - 1)
    before[i] = math.floor(sum / 2)
    after[i] = sum - before[i]
  end
  for _, value in ipairs(after) do before[#before + 1] = value end
  return before
end

local function inputs(t, a)
  local out = {t:operand(a.input), t:operand(a.weight)}
  if a.bias then out[3] = t:operand(a.bias) end
  return out
end

local function kernel_of(t, a, dims)
  local out = {}
  for i = 1, dims do out[i] = t:fixed_size(a.weight, i + 1) end
  return out
end

-- Runs fn with a batch dimension: the input is (N, C, …), or (C, …) without a batch.
local function with_batch(t, a, call, dims, fn)
  local has_batch = t:rank(a.input) == dims + 2
  local given = inputs(t, a)
  if not has_batch then given[1] = t:add('Unsqueeze', {given[1], t.graph:integers{0}}) end
  local out = fn(given)
  return has_batch and out or t:reshaped(out, call.results[1])
end

local function conv(dims)
  return function(t, a, call)
    local kernel, dilation = kernel_of(t, a, dims), per_dim(a.dilation, dims)
    local pads
    if type(a.padding) == 'string' then
      pads = a.padding == 'valid' and twice(per_dim(0, dims)) or same_pads(kernel, dilation)
    else
      pads = twice(per_dim(a.padding, dims))
    end
    return with_batch(t, a, call, dims, function(given)
      return t:add('Conv', given, {kernel_shape = kernel, strides = per_dim(a.stride, dims), dilations = dilation,
                                   pads = pads, group = a.groups})
    end)
  end
end

local function conv_transpose(dims)
  return function(t, a, call)
    return with_batch(t, a, call, dims, function(given)
      return t:add('ConvTranspose', given, {kernel_shape = kernel_of(t, a, dims), strides = per_dim(a.stride, dims),
        dilations = per_dim(a.dilation, dims), pads = twice(per_dim(a.padding, dims)),
        output_padding = per_dim(a.output_padding, dims), group = a.groups})
    end)
  end
end

for dims = 1, 3 do
  convolution[('conv%dd'):format(dims)] = conv(dims)
  convolution[('conv_transpose%dd'):format(dims)] = conv_transpose(dims)
end

for _, name in ipairs{'convolution', '_convolution'} do
  convolution[name] = function(t, a, call)
    local dims = t:rank(a.weight) - 2
    return (a.transposed and conv_transpose or conv)(dims)(t, a, call)
  end
end

return convolution
