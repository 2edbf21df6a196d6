-- vision/models/initialize.lua: the initialization of most convolutional networks in torchvision.

local class = require 'base.class'
local nn = require 'torch.nn'

local function is_norm(module) return class.is(module, nn.BatchNorm2d) or class.is(module, nn.GroupNorm) end

-- Convolutions get He's normal distribution for the fan out and a bias of zero; norms one and zero; linear layers (only
-- with `linear`) a normal distribution of 0.01 and a bias of zero. The order of draws is that of modules().
---@param model nn.Module
---@param options? {linear: boolean}
local function initialize(model, options)
  local init = nn.init
  local linear = options ~= nil and options.linear
  for _, module in ipairs(model:modules()) do
    if class.is(module, nn.Conv2d) then
      init.kaiming_normal_(module.weight, {mode = 'fan_out', nonlinearity = 'relu'})
      if module.bias ~= nil then init.zeros_(module.bias) end
    elseif is_norm(module) and module.weight ~= nil then
      init.ones_(module.weight)
      init.zeros_(module.bias)
    elseif linear and class.is(module, nn.Linear) then
      init.normal_(module.weight, 0, 0.01)
      init.zeros_(module.bias)
    end
  end
end

return initialize
