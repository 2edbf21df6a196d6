-- rtrain/run/run_spec.lua: RunSpec: the record of a run that `rtrain._controller.open` takes.
--
-- Its fields are those of host/train/run/run_spec.h, which tests/unit/train/run_spec_test.cpp compares with the classes
-- here. Every field without a `?` is required, and no other field is allowed; defaults for users belong in
-- rtrain/config/.

local closure = require 'base._closure'
local Git = require 'rtrain.run.git'
local sources = require 'rtrain.run.sources'
local worker_env = require 'rtrain.config.worker_env'

local run_spec = {}

-- Time limit of each phase of the workers' start, unless another launcher sets its own.
local START_TIMEOUT_S = 60

---@class ValidationSpec
---@field max_concurrent integer
---@field num_cpus integer cores of each validation
---@field validation_drain_timeout_s? number nil: no limit

---@class FailureSpec
---@field max_failures integer
---@field max_heals integer
---@field controller_failure_limit integer
---@field max_preemption_failures integer
---@field reset_after_s? number
---@field preemption_grace_s number
---@field hang_threshold_s number
---@field busy_threshold_s number
---@field node_timeout_s number
---@field straggler 'warn'|'ignore'|'evict'|'rebalance'

---@class HealthSpec
---@field preflight boolean
---@field preflight_timeout_s number
---@field monitor boolean
---@field has_evaluators boolean whether evaluators of the script decide

---The ranks of this node, if a launcher has started each of them.
---@class JoinedRanks
---@field socket string where they connect, in the runtime folder
---@field num_ranks integer of this node, with rank 0
---@field fit integer number of this fit() in the script, from 1

---@class GitCommit
---@field commit string
---@field is_dirty boolean whether tracked files differ from it
---@field is_cut boolean whether the diff was cut

---@class RunSpec
---@field name string
---@field storage_path string absolute
---@field script string
---@field command string[] as typed
---@field tags string[]
---@field note string
---@field resume 'never'|'auto'|'must'
---@field is_local boolean whether this process is rank 0
---@field join? JoinedRanks
---@field start_timeout_s number of each phase of the start-up
---@field min_workers integer
---@field max_workers integer
---@field elastic_resize_monitor_interval_s number
---@field virtual_workers integer 0: none
---@field cpus_per_worker integer 0: not configured
---@field ingest_cpus integer cores of each worker's ingest processes
---@field gpus_per_worker number also 0 if the launcher has assigned the devices
---@field placement_strategy 'PACK'|'SPREAD'|'STRICT_PACK'|'STRICT_SPREAD'
---@field oversubscribe boolean
---@field accelerator_type string '': any
---@field worker_env table<string, string>
---@field uses_torch boolean whether the workers make tensors
---@field functions string the train function and its config, serialized
---@field train_loop_config any for the record, as are the next two
---@field scaling_config any
---@field checkpoint_config any
---@field failure_config FailureSpec
---@field health_config HealthSpec
---@field validation_config? ValidationSpec
---@field mirrors boolean whether there is a storage_filesystem
---@field can_fetch boolean whether it has a `get`
---@field backend string
---@field timeout_s number limit of waits in user code
---@field log_bytes integer
---@field has_callbacks boolean
---@field wants_reports boolean whether callbacks or a predicate need every report
---@field git? GitCommit
---@field sources table[]

local function dump_functions(job)
  -- In local mode nothing is serialized, except for the validation processes.
  if job.is_local and not job.validation_config then return '' end
  return closure.dump {
    train_loop_per_worker = job.train_loop_per_worker,
    train_loop_config = job.train_loop_config,
    kind = job.kind,
    on_nan = job.run_config.failure_config.on_nan,
    verify_replicas = job.run_config.failure_config.verify_replicas,
    virtual_workers = job.scaling_config.virtual_workers,
    rebalances = job.run_config.failure_config.straggler == 'rebalance',
    num_threads = job.scaling_config:num_threads(),
    validation_config = job.validation_config,
    datasets = job.worker_datasets,
    metadata = job.metadata,
    resume_from_checkpoint = job.resume_from_checkpoint,
    set_cuda_device = job.torch_config.set_cuda_device,
    backend = job.workers_backend,
    initialization_hook = job.initialization_hook,
    flags = job.flags,
  }
end

---@param job table job of launch.fit
---@param flags CommandFlags
---@param given {script: string, storage_path: string, has_callbacks: boolean, wants_reports: boolean}
---@return RunSpec
---@return string[] warnings for the user
function run_spec.of(job, flags, given)
  local run_config, scaling, place = job.run_config, job.scaling_config, job.place
  local most, least = scaling:max_workers(), scaling:min_workers()
  if place then most, least = place.world_size, place.world_size end
  local git = Git.start(given.script)
  local warnings = job.launcher_warnings
  local functions, warning = dump_functions(job)
  warnings[#warnings + 1] = warning
  local code, problem = git:finish()
  warnings[#warnings + 1] = problem
  local resources, filesystem = scaling.resources_per_worker, run_config.storage_filesystem
  return {
    name = run_config.name,
    storage_path = given.storage_path,
    script = given.script,
    command = flags.command or {given.script},
    tags = flags.tags,
    note = flags.note or '',
    resume = run_config.resume,
    is_local = job.is_local,
    join = place and {socket = place.socket, fit = job.fit, num_ranks = place.num_ranks} or nil,
    start_timeout_s = place and place.timeout_s or START_TIMEOUT_S,
    min_workers = least,
    max_workers = most,
    elastic_resize_monitor_interval_s = scaling.elastic_resize_monitor_interval_s,
    virtual_workers = scaling.virtual_workers or 0,
    cpus_per_worker = resources and resources.CPU or 0,
    ingest_cpus = #job.datasets > 0 and job.dataset_config:num_ingest_cpus() or 0,
    gpus_per_worker = place and 0 or scaling:num_gpus_per_worker(),
    placement_strategy = scaling.placement_strategy,
    oversubscribe = flags.oversubscribe == true,
    accelerator_type = scaling.accelerator_type or '',
    worker_env = worker_env.of(run_config),
    uses_torch = job.kind == 'torch',
    functions = functions,
    train_loop_config = job.train_loop_config or {},
    scaling_config = scaling:to_short_table {num_workers = true, use_gpu = true},
    checkpoint_config = run_config.checkpoint_config:to_table(),
    failure_config = run_config.failure_config:to_spec(),
    health_config = run_config.health_config:to_spec(),
    validation_config = job.validation_config and job.validation_config:to_spec(),
    mirrors = filesystem ~= nil,
    can_fetch = filesystem ~= nil and filesystem.get ~= nil,
    backend = job.backend,
    timeout_s = job.torch_config.timeout_s,
    log_bytes = run_config.log_bytes,
    has_callbacks = given.has_callbacks,
    wants_reports = given.wants_reports,
    git = code.commit ~= '' and {commit = code.commit, is_dirty = code.is_dirty, is_cut = code.is_cut} or nil,
    sources = os.getenv 'RTRAIN_RECORD_CODE' ~= '0' and sources.of(given.script, code.diff) or {},
  }, warnings
end

return run_spec
