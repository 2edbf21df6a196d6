-- torch/settings.lua: torch.set_deterministic_debug_mode, torch.set_default_device and their answers.

local args = require 'base.args'
local errors = require 'base.errors'
local C = require 'torch._C'

local settings = {}

local MODES = {default = 0, warn = 1, error = 2}

---What happens at an operation without a deterministic form. PyTorch equivalent: torch.set_deterministic_debug_mode.
---@param mode string|integer 'default' or 0: it runs; 'warn' or 1: with a warning; 'error' or 2: it is an error
function settings.set_deterministic_debug_mode(mode)
  if type(mode) ~= 'number' then
    mode = MODES[args.one_of('set_deterministic_debug_mode: mode', mode, {'default', 'warn', 'error'})]
  end
  args.one_of('set_deterministic_debug_mode: mode', mode, {0, 1, 2})
  C.use_deterministic_algorithms(mode > 0, {warn_only = mode == 1})
end

---PyTorch equivalent: torch.get_deterministic_debug_mode.
---@return integer mode 0, 1 or 2, as set_deterministic_debug_mode takes it
function settings.get_deterministic_debug_mode()
  if not C.are_deterministic_algorithms_enabled() then return 0 end
  return C.is_deterministic_algorithms_warn_only_enabled() and 1 or 2
end

---Where tensors are made that name no device: the CPU, always in this version. PyTorch equivalent: torch.set_default_device.
---@param device? string 'cpu'; any other raises code 'unsupported': pass {device = …} or move the model
function settings.set_default_device(device)
  if device == nil then return end
  if require('torch').device(device) ~= 'cpu' then
    errors.raise('unsupported',
      ("set_default_device: it is 'cpu' in this version, got '%s': pass {device = …} or move the model"):format(device))
  end
end

---PyTorch equivalent: torch.get_default_device.
---@return string device 'cpu'
function settings.get_default_device() return 'cpu' end

return settings
