-- torch/distributed/fsdp/policies.lua: options of fully_shard that are objects.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local shown = require 'base.shown'

local policies = {}

local FLOATS = {float32 = true, float64 = true, float16 = true, bfloat16 = true}

local function check_dtype(owner, name, value)
  if value == nil or FLOATS[value] then return value end
  errors.raise('argument', ('%s: %s: expected a floating-point dtype, got %s'):format(owner, name, shown(value)))
end

---The dtypes in which a sharded module computes. Parameters and the optimizer's state keep the dtype of the module.
---Argument: options, a table with any of param_dtype (of the gathered parameters, and so of forward and backward),
---reduce_dtype (in which gradients are summed over the ranks; default: param_dtype), output_dtype (to which floating-point
---outputs are cast), cast_forward_inputs = true (floating-point inputs are cast to param_dtype).
---PyTorch equivalent: torch.distributed.fsdp.MixedPrecisionPolicy.
---@class torch.distributed.fsdp.MixedPrecisionPolicy
---@field param_dtype? string
---@field reduce_dtype? string
---@field output_dtype? string
---@field cast_forward_inputs boolean
---@overload fun(options?: table): torch.distributed.fsdp.MixedPrecisionPolicy
policies.MixedPrecisionPolicy = class 'MixedPrecisionPolicy'

function policies.MixedPrecisionPolicy:init(options)
  options = args.options(options, {'param_dtype', 'reduce_dtype', 'output_dtype', 'cast_forward_inputs'},
    'MixedPrecisionPolicy')
  for _, name in ipairs{'param_dtype', 'reduce_dtype', 'output_dtype'} do
    self[name] = check_dtype('MixedPrecisionPolicy', name, options[name])
  end
  self.cast_forward_inputs = options.cast_forward_inputs ~= false
end

---The default: nothing is moved to the CPU. PyTorch equivalent: torch.distributed.fsdp.OffloadPolicy.
---@class torch.distributed.fsdp.OffloadPolicy
---@overload fun(): torch.distributed.fsdp.OffloadPolicy
policies.OffloadPolicy = class 'OffloadPolicy'

---Keeps the shards of parameters and gradients, and so the optimizer's state, on the CPU; a group of parameters is moved
---to the device when it is gathered. Argument: options {pin_memory = true (in memory that the device reads while the host
---goes on)}.
---PyTorch equivalent: torch.distributed.fsdp.CPUOffloadPolicy.
---@class torch.distributed.fsdp.CPUOffloadPolicy: torch.distributed.fsdp.OffloadPolicy
---@field pin_memory boolean
---@overload fun(options?: table): torch.distributed.fsdp.CPUOffloadPolicy
policies.CPUOffloadPolicy = policies.OffloadPolicy:extend 'CPUOffloadPolicy'

function policies.CPUOffloadPolicy:init(options)
  self.pin_memory = args.options(options, {'pin_memory'}, 'CPUOffloadPolicy').pin_memory ~= false
end

return policies
