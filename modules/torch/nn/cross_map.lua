-- torch/nn/cross_map.lua: the operation of CrossMapLRN2d.
--
-- PyTorch computes the sums of neighbouring squares by adding and dropping one channel at a time. Its window never drops
-- channel 0, and backward uses another window. This file does the same, so that the numbers agree.

local errors = require 'base.errors'
local Function = require('torch.autograd.function').Function
local torch = require 'torch'

local CrossMap = Function:extend('CrossMapLRN2d')

-- Returns the sums of squares in PyTorch's running window at each channel.
local function window_sums(squares, size)
  local channels, ahead = squares:size(1), math.floor((size - 1) / 2 + 1)
  local sums = {squares:narrow(1, 0, math.min(ahead, channels)):sum(1)}
  for c = 1, channels - 1 do
    local sum = sums[c]
    if c < channels - ahead + 1 then sum = sum + squares:select(1, c + ahead - 1) end
    if c > ahead then sum = sum - squares:select(1, c - ahead) end
    sums[c + 1] = sum
  end
  return torch.stack(sums, 1)
end

function CrossMap.forward(ctx, x, size, alpha, beta, k)
  if x:dim() ~= 4 then
    errors.raise('argument', ('CrossMapLRN2d: expected 4 dimensions, got %d'):format(x:dim()))
  end
  local scale = window_sums(x * x, size) * (alpha / size) + k
  local out = scale:pow(-beta) * x
  ctx.size, ctx.alpha, ctx.beta = size, alpha, beta
  ctx:save_for_backward(x, out, scale)
  return out
end

function CrossMap.backward(ctx, grad)
  local x, out, scale = unpack(ctx.saved_tensors)
  local channels, before = x:size(1), math.floor(ctx.size - (ctx.size - 1) / 2)
  local ratio = torch.pad(grad * out / scale, {0, 0, 0, 0, before, ctx.size - 1 - before})
  local sums = 0
  for offset = 0, ctx.size - 1 do sums = ratio:narrow(1, offset, channels) + sums end
  local grad_x = scale:pow(-ctx.beta) * grad - x * sums * (2 * ctx.alpha * ctx.beta / ctx.size)
  return grad_x, nil, nil, nil, nil
end

return CrossMap
