-- torch/nn/utils/fusion.lua: fuses a batch normalization into the layer before it, for evaluation.

local args = require 'base.args'
local errors = require 'base.errors'
local Parameter = require('torch.nn.parameter').Parameter
local torch = require 'torch'

local fusion = {}
local defined = args.definer(fusion)

local function fused(weight, bias, p, shape)
  local scale = torch.rsqrt(p.bn_rv + p.bn_eps)
  if p.bn_w then scale = scale * p.bn_w end
  local offset = bias and bias - p.bn_rm or -p.bn_rm
  local new_bias = offset * scale
  if p.bn_b then new_bias = new_bias + p.bn_b end
  local new_weight = (weight * scale:reshape(shape)):to{dtype = weight.dtype}
  new_bias = new_bias:to{dtype = bias and bias.dtype or weight.dtype}
  return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, bias ~= nil and bias.requires_grad)
end

---Returns weight and bias of a convolution that includes the normalization. Arguments: conv_w, conv_b (or nil), bn_rm
---(running mean), bn_rv (running variance), bn_eps, bn_w, bn_b (or nil), transpose = false. Returns two parameters.
defined('fuse_conv_bn_weights', {'conv_w', {'conv_b'}, {'bn_rm'}, {'bn_rv'}, {'bn_eps'}, {'bn_w'}, {'bn_b'},
                                 {'transpose', false}}, function(p)
  local shape = p.transpose and {1, -1} or {-1, 1}
  for dim = 3, p.conv_w:dim() do shape[dim] = 1 end
  return fused(p.conv_w, p.conv_b, p, shape)
end)

---Likewise for a linear layer. Arguments: linear_w, linear_b (or nil), bn_rm, bn_rv, bn_eps, bn_w, bn_b.
defined('fuse_linear_bn_weights', {'linear_w', {'linear_b'}, {'bn_rm'}, {'bn_rv'}, {'bn_eps'}, {'bn_w'}, {'bn_b'}},
  function(p) return fused(p.linear_w, p.linear_b, p, {-1, 1}) end)

local function check(name, layer, bn)
  if layer.training or bn.training then
    errors.raise('argument', name .. ': both modules must be in evaluation mode: call eval()')
  end
  if bn.running_mean == nil then errors.raise('argument', name .. ': the normalization has no running statistics') end
end

local function fuse(layer, bn, weights)
  local new = layer:deepcopy()
  new.weight, new.bias = weights(new.weight, new.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
  return new
end

---Returns a convolution that computes bn(conv(x)). Arguments: conv, bn (both in evaluation mode), transpose = false.
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local conv, bn = nn.Conv2d(2, 3, 2):eval(), nn.BatchNorm2d(3):eval()
---bn.running_mean:fill_(0.5)
---local x = torch.randn(1, 2, 4, 4)
---assert(torch.allclose(nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), {atol = 1e-5}))
---```
defined('fuse_conv_bn_eval', {'conv', 'bn', {'transpose', false}}, function(p)
  check('fuse_conv_bn_eval', p.conv, p.bn)
  return fuse(p.conv, p.bn, function(weight, bias, rm, rv, eps, w, b)
    return fusion.fuse_conv_bn_weights(weight, bias, rm, rv, eps, w, b, p.transpose)
  end)
end)

---Returns a linear layer that computes bn(linear(x)). Arguments: linear, bn (both in evaluation mode).
defined('fuse_linear_bn_eval', {'linear', 'bn'}, function(p)
  check('fuse_linear_bn_eval', p.linear, p.bn)
  if p.linear.out_features ~= p.bn.num_features and p.bn.num_features ~= 1 then
    errors.raise('argument', ('fuse_linear_bn_eval: %d features of linear do not fit %d of bn'):format(
      p.linear.out_features, p.bn.num_features))
  end
  return fuse(p.linear, p.bn, fusion.fuse_linear_bn_weights)
end)

return fusion
