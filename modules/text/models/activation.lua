-- text/models/activation.lua: the activation of a name in config.json.

local errors = require 'base.errors'
local torch = require 'torch'
local F = torch.nn.functional

local ACTIVATIONS = {
  gelu = function(x) return F.gelu(x) end,
  gelu_new = function(x) return F.gelu(x, {approximate = 'tanh'}) end,
  relu = function(x) return F.relu(x) end,
  silu = function(x) return F.silu(x) end,
  tanh = function(x) return x:tanh() end,
}
ACTIVATIONS.gelu_pytorch_tanh, ACTIVATIONS.gelu_fast = ACTIVATIONS.gelu_new, ACTIVATIONS.gelu_new
ACTIVATIONS.swish = ACTIVATIONS.silu

---@param name string
---@return fun(x: torch.Tensor): torch.Tensor
return function(name)
  local found = ACTIVATIONS[name]
  if found then return found end
  local known = {}
  for each in pairs(ACTIVATIONS) do known[#known + 1] = each end
  table.sort(known)
  errors.raise('unsupported', ("config.json: the activation '%s': rtrain has %s"):format(tostring(name),
    table.concat(known, ', ')))
end
