-- torch/nn/vision.lua: layers that resize images and rearrange their channels.

local args = require 'base.args'
local repr = require 'torch.nn.repr'
local stateless = require 'torch.nn.stateless'
local F = require 'torch.nn.functional'
local torch = require 'torch'

-- Returns "scale_factor=2.0, mode='nearest'", or the size.
local function resizing_repr(self)
  if self.scale_factor ~= nil then
    return repr.fields{{'scale_factor', repr.float(self.scale_factor), true}, {'mode', self.mode}}
  end
  return repr.fields{{'size', self.size}, {'mode', self.mode}}
end

---Resizes (N, C, L), (N, C, H, W) or (N, C, D, H, W). Arguments: {size, scale_factor (one of the two; a number or a list),
---mode = 'nearest' | 'nearest-exact' | 'linear' | 'bilinear' | 'bicubic' | 'trilinear' | 'area', align_corners,
---recompute_scale_factor}.
---
---```lua
---local torch = require 'torch'
---local up = torch.nn.Upsample{scale_factor = 2, mode = 'bilinear'}
---assert(up(torch.ones(1, 1, 2, 3)).shape[4] == 6)
---```
---@class nn.Upsample: nn.Module
---@overload fun(size?: integer|integer[], options?: table): nn.Upsample
local Upsample = stateless('Upsample', {{'size'}, {'scale_factor'}, {'mode', 'nearest'}, {'align_corners'},
  {'recompute_scale_factor'}}, function(self, x)
  return F.interpolate(x, {size = self.size, scale_factor = self.scale_factor, mode = self.mode,
    align_corners = self.align_corners, recompute_scale_factor = self.recompute_scale_factor})
end)
Upsample.extra_repr = resizing_repr

local function fixed_upsampling(name, mode, align_corners)
  local Layer = Upsample:extend(name)
  local signature = args.signature(name, {{'size'}, {'scale_factor'}})
  function Layer:init(...)
    local a = signature:bind(...)
    Upsample.init(self, {size = a.size, scale_factor = a.scale_factor, mode = mode, align_corners = align_corners})
  end
  return Layer
end

---Upsample with mode 'nearest' of (N, C, H, W). Arguments: {size, scale_factor}.
---@class nn.UpsamplingNearest2d: nn.Upsample
---@overload fun(size?: integer|integer[], options?: table): nn.UpsamplingNearest2d
local UpsamplingNearest2d = fixed_upsampling('UpsamplingNearest2d', 'nearest')

---Upsample with mode 'bilinear' and align_corners of (N, C, H, W). Arguments: {size, scale_factor}.
---@class nn.UpsamplingBilinear2d: nn.Upsample
---@overload fun(size?: integer|integer[], options?: table): nn.UpsamplingBilinear2d
local UpsamplingBilinear2d = fixed_upsampling('UpsamplingBilinear2d', 'bilinear', true)

---(…, C · r², H, W) → (…, C, H · r, W · r) (Shi et al. 2016). Argument: upscale_factor (r).
---@class nn.PixelShuffle: nn.Module
---@overload fun(upscale_factor: integer): nn.PixelShuffle
local PixelShuffle = stateless('PixelShuffle', {'upscale_factor'}, function(self, x)
  return torch.pixel_shuffle(x, self.upscale_factor)
end, {'upscale_factor'})

---(…, C, H · r, W · r) → (…, C · r², H, W). Argument: downscale_factor (r).
---@class nn.PixelUnshuffle: nn.Module
---@overload fun(downscale_factor: integer): nn.PixelUnshuffle
local PixelUnshuffle = stateless('PixelUnshuffle', {'downscale_factor'}, function(self, x)
  return torch.pixel_unshuffle(x, self.downscale_factor)
end, {'downscale_factor'})

---Mixes the channels of (N, C, …) between groups (Zhang et al. 2018). Argument: groups.
---@class nn.ChannelShuffle: nn.Module
---@overload fun(groups: integer): nn.ChannelShuffle
local ChannelShuffle = stateless('ChannelShuffle', {'groups'}, function(self, x)
  return torch.channel_shuffle(x, self.groups)
end, {'groups'})

local BLOCKS = {'kernel_size', {'dilation', 1}, {'padding', 0}, {'stride', 1}}

---Returns the blocks under a sliding window as columns: (N, C, H, W) → (N, C · kh · kw, L). Arguments: kernel_size,
---{dilation = 1, padding = 0, stride = 1}.
---@class nn.Unfold: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.Unfold
local Unfold = stateless('Unfold', BLOCKS, function(self, x)
  return F.unfold(x, self.kernel_size, self.dilation, self.padding, self.stride)
end, {'kernel_size', 'dilation', 'padding', 'stride'})

---The inverse of Unfold; overlapping values are summed: (N, C · kh · kw, L) → (N, C, H, W). Arguments: output_size,
---kernel_size, {dilation = 1, padding = 0, stride = 1}.
---@class nn.Fold: nn.Module
---@overload fun(output_size: integer|integer[], kernel_size: integer|integer[], options?: table): nn.Fold
local Fold = stateless('Fold', {'output_size', unpack(BLOCKS)}, function(self, x)
  return F.fold(x, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)
end, {'output_size', 'kernel_size', 'dilation', 'padding', 'stride'})

return {Upsample = Upsample, UpsamplingNearest2d = UpsamplingNearest2d, UpsamplingBilinear2d = UpsamplingBilinear2d,
        PixelShuffle = PixelShuffle, PixelUnshuffle = PixelUnshuffle, ChannelShuffle = ChannelShuffle, Unfold = Unfold,
        Fold = Fold}
