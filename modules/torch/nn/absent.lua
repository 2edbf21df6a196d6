-- torch/nn/absent.lua: the names of torch.nn and its submodules that rtrain lacks, each with the reason or an
-- alternative. Using one raises an error with that text; ABSENT.md lists them.

local absent = {}

---Groups of names: the table of the names, a description of them, why they are absent, the names.
absent.GROUPS = {
  {'torch.nn', 'Lazy modules', 'give the sizes: optimizers and checkpoints need the parameters when the module is made', [[
    LazyLinear LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyBatchNorm1d
    LazyBatchNorm2d LazyBatchNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d UninitializedParameter
    UninitializedBuffer]]},
  {'torch.nn', 'Several GPUs in one process', 'one process for each GPU: train.torch.prepare_model', 'DataParallel'},
  {'torch.nn.parallel', 'Several GPUs in one process', 'one process for each GPU: DistributedDataParallel', [[
    DataParallel data_parallel comm distributed DistributedDataParallelCPU gather parallel_apply replicate scatter
    scatter_gather]]},
  {'torch.nn', 'Deprecated', 'extend nn.Module; use nn.NLLLoss', 'Container NLLLoss2d'},
  {'torch.nn', 'Quantization', 'quantized layers are written in Python', 'quantized quantizable qat intrinsic'},
  {'torch.nn', 'Gradients of convolutions', 'use torch.autograd.grad', 'grad'},
  {'torch.nn.functional', 'Matrices of float8', 'they need scales and recent GPUs: cast and use torch.matmul', [[
    scaled_mm scaled_grouped_mm ScalingType SwizzleType]]},
  {'torch.nn.functional', 'Overloads written in Python', 'functions are called as they are', [[
    boolean_dispatch assert_int_or_pair handle_torch_function has_torch_function has_torch_function_unary
    has_torch_function_variadic]]},
  {'torch.nn.init', 'Deprecated', 'use the name with _ behind it', [[
    constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal xavier_uniform]]},
  {'torch.nn.utils', 'Deprecated', 'use clip_grad_norm_', 'clip_grad_norm'},
  {'torch.nn.utils.parametrize', 'Copies of parametrizations', 'use deepcopy, or register them on the other module', [[
    transfer_parametrizations_and_params]]},
  {'nn.Module', 'Compiler', 'torch.compile(model) returns a module that records its calls', 'compile'},
  {'nn.Module', 'Shared memory', 'workers share tensors through collectives: torch.distributed', 'share_memory'},
  {'nn.Module', 'Other devices', 'the devices are cpu and cuda', 'ipu mtia xpu'},
  {'nn.Module', 'Older backward hooks', 'use register_full_backward_hook', 'register_backward_hook'},
}

---Returns name → reason for one of the tables, in the form of base.namespace.
---@param place string
---@return table<string, string>
function absent.of(place)
  local reasons = {}
  for _, group in ipairs(absent.GROUPS) do
    if group[1] == place then
      for name in group[4]:gmatch '%S+' do reasons[name] = group[3] end
    end
  end
  return reasons
end

return absent
