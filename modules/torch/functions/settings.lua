-- torch/functions/settings.lua: torch.set_deterministic_debug_mode, torch.set_default_device and their getters.

local args = require 'base.args'
local C = require 'torch._C'

local settings = {}

local MODES = {default = 0, warn = 1, error = 2}

---Sets the behaviour of operations without a deterministic form. PyTorch equivalent:
---torch.set_deterministic_debug_mode.
---@param mode string|integer 'default' or 0: they run; 'warn' or 1: they warn; 'error' or 2: they raise an error
function settings.set_deterministic_debug_mode(mode)
  if type(mode) ~= 'number' then
    mode = MODES[args.one_of('set_deterministic_debug_mode: mode', mode, {'default', 'warn', 'error'})]
  end
  args.one_of('set_deterministic_debug_mode: mode', mode, {0, 1, 2})
  C.use_deterministic_algorithms(mode > 0, {warn_only = mode == 1})
end

---PyTorch equivalent: torch.get_deterministic_debug_mode.
---@return integer mode 0, 1 or 2, as set by set_deterministic_debug_mode
function settings.get_deterministic_debug_mode()
  if not C.are_deterministic_algorithms_enabled() then return 0 end
  return C.is_deterministic_algorithms_warn_only_enabled() and 1 or 2
end

---Sets the device of tensors that are made without a device; `torch.device(device, fn)` does it for one function.
---PyTorch equivalent: torch.set_default_device.
---@param device? string default: the CPU
---
---```lua
---local torch = require 'torch'
---torch.set_default_device 'meta'
---assert(torch.ones(2).device == 'meta' and torch.ones(2, {device = 'cpu'}).device == 'cpu')
---torch.set_default_device()
---```
function settings.set_default_device(device)
  C.set_default_device(device and require('torch').device(device))
end

---PyTorch equivalent: torch.get_default_device.
---@return string device
function settings.get_default_device() return C.get_default_device() end

return settings
