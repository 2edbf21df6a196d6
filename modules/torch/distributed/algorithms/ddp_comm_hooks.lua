-- torch/distributed/algorithms/ddp_comm_hooks.lua: torch.distributed.algorithms.ddp_comm_hooks: compressed
-- communication of gradients, for DistributedDataParallel's register_comm_hook.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'

local FOLDER = 'torch.distributed.algorithms.ddp_comm_hooks.'

-- Name of DDPCommHookType → module, function, rank of PowerSGD.
local HOOKS = {
  ALLREDUCE = {'default_hooks', 'allreduce_hook'},
  FP16_COMPRESS = {'default_hooks', 'fp16_compress_hook'},
  BF16_COMPRESS = {'default_hooks', 'bf16_compress_hook'},
  POWER_SGD = {'powerSGD_hook', 'powerSGD_hook', 1},
  POWER_SGD_RANK2 = {'powerSGD_hook', 'powerSGD_hook', 2},
  BATCHED_POWER_SGD = {'powerSGD_hook', 'batched_powerSGD_hook', 1},
  BATCHED_POWER_SGD_RANK2 = {'powerSGD_hook', 'batched_powerSGD_hook', 2},
  NOOP = {'debugging_hooks', 'noop_hook'},
}
local NAMES = ordered.keys_of(HOOKS)

---The hooks by name, for register_ddp_comm_hook. PyTorch equivalent: DDPCommHookType.
local DDPCommHookType = {}
for _, name in ipairs(NAMES) do DDPCommHookType[name] = name end

local ddp_comm_hooks = {
  DDPCommHookType = require 'base.namespace'('DDPCommHookType', {absent = {
    QUANTIZE_PER_TENSOR = 'use FP16_COMPRESS, or a hook of your own',
    QUANTIZE_PER_CHANNEL = 'use FP16_COMPRESS, or a hook of your own',
  }}, DDPCommHookType),
}

---Registers one of the hooks with a model. PyTorch equivalent:
---torch.distributed.algorithms.ddp_comm_hooks.register_ddp_comm_hook.
---@param comm_hook_type string of DDPCommHookType
---@param model DistributedDataParallel
---@param state? ProcessGroup default: all ranks
function ddp_comm_hooks.register_ddp_comm_hook(comm_hook_type, model, state)
  local entry = HOOKS[args.one_of('register_ddp_comm_hook: comm_hook_type', comm_hook_type, NAMES)]
  if not class.is(model, require 'torch.nn.parallel.distributed') then
    errors.raise('argument', 'register_ddp_comm_hook: expected a DistributedDataParallel model, as '
      .. 'train.torch.prepare_model returns with several workers')
  end
  local hooks = require(FOLDER .. entry[1])
  if entry[3] then state = hooks.PowerSGDState(state, {matrix_approximation_rank = entry[3]}) end
  model:register_comm_hook(state, hooks[entry[2]])
end

return require 'base.namespace'('torch.distributed.algorithms.ddp_comm_hooks', {
  modules = {
    default_hooks = FOLDER .. 'default_hooks', powerSGD_hook = FOLDER .. 'powerSGD_hook',
    debugging_hooks = FOLDER .. 'debugging_hooks',
  },
  absent = {
    quantization_hooks = 'use default_hooks.fp16_compress_hook, or a hook of your own',
    optimizer_overlap_hooks = 'call optimizer:step() behind the backward',
    post_localSGD_hook = 'average the parameters in the train function: torch.distributed.all_reduce',
    mixed_precision_hooks = 'use torch.autocast, and default_hooks.bf16_compress_hook',
    ddp_zero_hook = 'use torch.distributed.optim.ZeroRedundancyOptimizer',
  },
}, ddp_comm_hooks)
