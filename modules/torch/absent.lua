-- torch/absent.lua: the names of Python's torch and torch.Tensor that rtrain lacks, each with the reason or an
-- alternative. Using one raises an error with that text.

local errors = require 'base.errors'

local absent = {}

---Groups of names: a description of the names, why they are absent, the names.
absent.GROUPS = {
  {'Compiler and TorchScript', 'it works on Python code', [[
    AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig BenchmarkExecutionStats Block BoolType
    BufferDict CallStack Capsule ClassType Code CompilationUnit CompleteArgumentSpec ComplexType ConcreteModuleType
    ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext DeviceObjType DictType DisableTorchFunction
    DisableTorchFunctionSubclass DispatchKey DispatchKeySet EnumType ErrorReport ExcludeDispatchKeyGuard ExecutionPlan
    FatalError FileCheck FloatType FunctionSchema Future FutureType Gradient Graph GraphExecutorState IODescriptor
    InferredType IntType InterfaceType JITException ListType LiteScriptModule LockingLogger LoggerBase ModuleDict Node
    NoneType NoopLogger NumberType OperatorInfo OptionalType ParameterDict PyObjectType PyTorchFileReader
    PyTorchFileWriter RRefType ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator
    ScriptFunction ScriptList ScriptListIterator ScriptMethod ScriptModule ScriptModuleSerializer ScriptObject
    ScriptObjectProperty SerializationStorageContext StaticModule StreamObjType StringType SymBoolType SymIntType Tag
    TensorType ThroughputBenchmark TracingState TupleType Type UnionType Use Value cond export fork fx
    get_file_path import_ir_module import_ir_module_from_buffer jit merge_type_from_type_comment parse_ir parse_schema
    parse_type_comment unify_type_list wait while_loop compiler classproperty classes ops library]]},
  {'Symbolic sizes', 'sizes are numbers here', [[
    SymBool SymFloat SymInt sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum]]},
  {'Typed constructors', "use torch.tensor(data, {dtype = …})", [[
    BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor
    set_default_tensor_type new]]},
  {'Storages', 'x:untyped_storage() gives that of a tensor', [[
    BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage FloatStorage
    HalfStorage IntStorage LongStorage QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage ShortStorage
    Storage StorageBase TypedStorage UntypedStorage is_storage storage storage_type share_memory_ is_shared]]},
  {'Quantized and sub-byte dtypes', 'no operator of a plain tensor computes with them', [[
    qint32 qint8 quint2x4 quint4x2 quint8 per_channel_affine per_channel_affine_float_qparams per_channel_symmetric
    per_tensor_affine per_tensor_symmetric bit bits16 bits1x8 bits2x4 bits4x2 bits8 int1 int2 int3 int4 int5 int6 int7 uint1
    uint2 uint3 uint4 uint5 uint6 uint7 float4_e2m1fn_x2 quantization ao]]},
  {'Python objects', 'x:tolist(), torch.tensor {…} and torch.frombuffer go to and from Lua', [[
    from_dlpack from_numpy to_dlpack numpy as_subclass module_load]]},
  {'Removed from PyTorch', 'use torch.linalg.eig, eigh, lstsq, solve and matrix_rank', [[
    eig lstsq matrix_rank solve symeig]]},
  {'Named dimensions', 'PyTorch gave them up', [[
    align_as align_tensors align_to has_names jagged name names refine_names rename rename_]]},
  {'Other devices', 'the devices are cpu and cuda', [[
    cpu mps mtia xpu ipu AcceleratorError accelerator get_device_module]]},
  {'Streams of any device', 'use torch.cuda.Stream and torch.cuda.Event', 'Event Stream'},
  {'Settings of autocast', 'use torch.autocast', [[
    autocast_decrement_nesting autocast_increment_nesting get_autocast_cpu_dtype get_autocast_gpu_dtype
    get_autocast_ipu_dtype get_autocast_xla_dtype is_autocast_cpu_enabled is_autocast_ipu_enabled is_autocast_xla_enabled
    set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled
    set_autocast_xla_dtype set_autocast_xla_enabled]]},
  {'Settings of anomaly mode', 'use torch.autograd.set_detect_anomaly', [[
    is_anomaly_check_nan_enabled set_anomaly_enabled]]},
  {'Deprecated', 'PyTorch keeps it for old programs only', [[
    legacy_contiguous_format reinforce volatile grad_dtype]]},
  {'Facts about the build', 'they concern the Python package', [[
    compiled_with_cxx11_abi has_lapack has_mkl has_openmp has_spectral init_num_threads read_vitals set_vital vitals_enabled
    PRIVATE_OPS USE_GLOBAL_DEPS USE_RTLD_GLOBAL_WITH_LIBTORCH prepare_multiprocessing_environment
    profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 torch_version version windows types return_types quasirandom
    AVG SUM]]},
  {'Packages', 'it is not in this version', [[
    lobpcg cpp hub masked monitor multiprocessing nested overrides package
    signal]]},
  {'Types for isinstance', 'a dtype, a layout and a memory format are strings; errors have err.code', [[
    dtype layout memory_format OutOfMemoryError]]},
}

---Names in submodules: the submodule, why they are absent, the names.
absent.PLACES = {
  {'linalg', "an error's code says what it is: err.code", 'LinAlgError'},
  {'sparse', 'they check gradients and invariants, or are for CUDA', [[
    SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS as_sparse_gradcheck
    check_sparse_tensor_invariants semi_structured spsolve to_sparse_semi_structured]]},
  {'testing', 'assert_close compares, torch.rand and similar functions make data', 'FileCheck assert_allclose make_tensor'},
  {'profiler', 'they are for Python tools, or say what always is', 'DeviceType ExecutionTraceObserver kineto_available'},
  {'Generator', 'they are for CUDA graphs', 'get_offset graphsafe_get_state graphsafe_set_state set_offset'},
  {'Size', 'a size is a list of Lua', 'count index'},
}

local group_of = {}
for _, group in ipairs(absent.GROUPS) do
  for name in group[3]:gmatch '%S+' do group_of[name] = group end
end

-- Names that newer LibTorch versions lack → an alternative that exists in every version.
local GONE = {cholesky = 'torch.linalg.cholesky', qr = 'torch.linalg.qr'}

---Raises code 'unsupported' with the reason if the name is an absent one; otherwise does nothing.
---@param owner string 'torch' or 'a Tensor'
---@param name string
function absent.check(owner, name)
  local group = group_of[name]
  if group then
    errors.raise('unsupported', ("%s has no '%s' (%s): %s"):format(owner, name, group[1], group[2]))
  end
  if GONE[name] and not require('torch._C').op(name) then
    errors.raise('unsupported', ("%s has no '%s' (this LibTorch has it no more): use %s"):format(owner, name, GONE[name]))
  end
end

---@param name string
---@return boolean
function absent.has(name) return group_of[name] ~= nil end

return absent
