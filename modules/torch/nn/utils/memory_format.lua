-- torch/nn/utils/memory_format.lua: changes the memory format of only the weights of convolutions.

local class = require 'base.class'
local conv = require 'torch.nn.conv'

local memory_format = {}

local function convert(module, format, classes)
  for _, each in ipairs(module:modules()) do
    for _, of in ipairs(classes) do
      if class.is(each, of) then each.weight.data = each.weight:detach():clone():contiguous{memory_format = format} end
    end
  end
  return module
end

---Converts the weights of Conv2d and ConvTranspose2d below a module to a memory format.
---@param module nn.Module
---@param format string 'channels_last'
---@return nn.Module module the given module
function memory_format.convert_conv2d_weight_memory_format(module, format)
  return convert(module, format, {conv.Conv2d, conv.ConvTranspose2d})
end

---Converts the weights of Conv3d and ConvTranspose3d below a module to a memory format.
---@param module nn.Module
---@param format string 'channels_last_3d'
---@return nn.Module module the given module
function memory_format.convert_conv3d_weight_memory_format(module, format)
  return convert(module, format, {conv.Conv3d, conv.ConvTranspose3d})
end

return memory_format
