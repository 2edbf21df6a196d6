-- rtrain/worker/init.lua: the main function of a worker process.
--
-- LibTorch is loaded at the first use of a tensor, and the process group is formed at the first collective or
-- prepare_model, so a train function without either starts at once.

local backend_tasks = require 'rtrain.backends.backend_tasks'
local Checkpoint = require 'rtrain.results.checkpoint'
local dataset_shards = require 'rtrain.functions.dataset_shards'
local loop_progress = require 'rtrain.worker.loop_progress'
local not_finite = require 'rtrain.session.not_finite'
local process_group = require 'rtrain.session.process_group'
local replicas = require 'rtrain.session.replicas'
local run_flags = require 'rtrain.worker.run_flags'
local session = require 'rtrain.session'
local spare = require 'rtrain.session.spare'
local step_check = require 'rtrain.elastic.step_check'
local timing = require 'rtrain.session.timing'
local variables = require 'rtrain.session.variables'
local virtual = require 'rtrain.virtual'

local worker = {}

local function starting_checkpoint(context, job)
  local starting = context.starting_checkpoint
  return starting and Checkpoint(starting.path) or job.resume_from_checkpoint
end

local function begin_session(host, job, pump)
  process_group.form_at_first_use()
  local is_trial = os.getenv 'RTRAIN_TRIAL' ~= nil
  if is_trial then host.take_place() end
  local context = host.context()
  local trial = is_trial and require('rtrain.trial.session').begin(context, context.starting_checkpoint) or nil
  session.begin {
    context = context,
    gpus = job.gpus or context.gpus,
    checkpoint = trial and trial.checkpoint or starting_checkpoint(context, job),
    metadata = job.metadata or {},
    trial = trial,
    tempdirs = {},
    kind = job.kind,
    is_joining = context.is_replacement,
    verify_replicas = job.verify_replicas,
    validation_config = job.validation_config,
    pump = pump,
  }
  not_finite.begin(session.get('worker'), job.on_nan)
end

-- Configures the engine's threads and the first of the worker's GPUs.
local function set_up_engine(engine, threads, gpus)
  engine.set_num_threads(threads)
  not_finite.watch(engine)
  if gpus[1] then engine.cuda_devices.set_device(gpus[1]) end
end

-- Configures the engine now, or when it is loaded. `threads` returns their number.
local function prepare_engine(host, threads, gpus)
  local loaded, open = package.loaded['torch._C'], package.preload['torch._C']
  if type(loaded) == 'table' then return set_up_engine(loaded, threads(), gpus) end
  package.preload['torch._C'] = function(...)
    local engine = open(...)
    set_up_engine(engine, threads(), gpus)
    host.phase('engine_loaded')
    return engine
  end
end

-- The script's search path was sent with the function; RunConfig.worker_env may add a LUA_PATH.
local function add_search_path()
  for entry in (os.getenv 'LUA_PATH' or ''):gmatch '[^;]+' do
    if not (';' .. package.path .. ';'):find(';' .. entry .. ';', 1, true) then
      package.path = package.path .. ';' .. entry
    end
  end
end

---Validates a checkpoint: this process is not a rank.
---@param host table rtrain._worker
---@param task table the controller's
---@return table metrics
function worker.validate(host, task)
  prepare_engine(host, function() return host.context().threads end, {})
  session.begin_validation()
  local job = require('base._closure').load(host.functions())
  add_search_path()
  return require('rtrain.functions.validation').run(job, task)
end

-- Begins what depends on the rank: now, or when a spare has got one.
local function begin_rank(host, job, state)
  if not state.probe then
    replicas.begin(state)
    step_check.begin(state)
  end
  dataset_shards.begin(state, job.datasets)
  if state.probe and state.probe.num_steps then
    state.probe.on_step = loop_progress.of_steps(host, state.context.world_rank, state.probe.num_steps)
  else
    loop_progress.begin(host, state.context.world_rank)
  end
end

-- Modules of a heal and of the first step after it, which a spare loads while nobody waits for them.
local AHEAD = {'rtrain.elastic', 'rtrain.elastic.synchronize', 'rtrain.functions.report', 'torch.nn.functional.loss',
               'torch.nn.functional.activation', 'torch.nn.functional.dropout', 'torch.nn.functional.pooling'}

local function load_ahead()
  for _, name in ipairs(AHEAD) do require(name) end
end

-- A spare computes with one thread until it has a rank.
local function begin_spare(host, job, state, threads)
  spare.begin(host, state, load_ahead, function(context)
    variables.set_rank(context)
    state.checkpoint = starting_checkpoint(context, job)
    local engine = package.loaded['torch._C']
    if type(engine) == 'table' then
      engine.set_num_threads(threads)
      require 'rtrain.elastic.followers'.take_place(context)
    end
    begin_rank(host, job, state)
  end)
end

---Runs a train function as this process's part of the attempt. Its error becomes the error of the rank.
---@param job {train_loop_per_worker: function, train_loop_config: table?, kind: string, datasets: table[],
---  validation_config: table?, gpus: integer[]?, on_nan: string, verify_replicas: integer|'auto', metadata: table?,
---  virtual_workers: integer?, rebalances: boolean?, num_threads: integer?,
---  resume_from_checkpoint: Checkpoint?, set_cuda_device: boolean?, initialization_hook: function?, backend: table?,
---  flags: RunFlags?}
---  gpus: where the launcher has given them
---@param pump? function in local mode: takes the run's events, after each report
---@return any return_value plain data
function worker.run(job, pump)
  local host = require 'rtrain._worker'
  begin_session(host, job, pump)
  local state = session.get('worker')
  if job.gpus then host.set_gpus(job.gpus) end
  variables.set(host, state.context)
  local threads = job.num_threads or state.context.threads
  if state.context.is_spare then begin_spare(host, job, state, threads) end
  prepare_engine(host, function() return state.place and 1 or threads end, job.set_cuda_device == false and {} or state.gpus)
  virtual.begin(state, job.virtual_workers, job.rebalances)
  state.flags = job.flags
  local asked = job.flags and job.flags.tryout
  if asked then
    state.probe = require('rtrain.tryout.' .. asked.probe)(asked, state.context.world_rank)
    if state.context.world_rank == 0 then require('rtrain.tryout.order_watch').begin() end
  end
  run_flags.apply(job.flags, job.kind == 'torch')
  if not state.place then begin_rank(host, job, state) end
  host.phase('running')
  backend_tasks.stage(host, job.backend, 'on_start')
  if job.initialization_hook then job.initialization_hook() end
  backend_tasks.stage(host, job.backend, 'on_training_start')
  host.start_phases()
  local returned
  local caller = state.trial or state.probe
  if caller then
    returned = caller:call(job.train_loop_per_worker, job.train_loop_config)
  else
    returned = job.train_loop_per_worker(job.train_loop_config)
  end
  session.take_place()
  if state.virtual then state.virtual:end_run() end
  timing.record(state, true)
  host.set_returned()
  backend_tasks.stage(host, job.backend, 'on_shutdown')
  worker.finish()
  return returned
end

---Ends everything that the train function has started. A second call does nothing.
function worker.finish()
  local state = session.peek()
  if state == nil then return end
  dataset_shards.finish(state)
  loop_progress.finish()
  not_finite.finish()
  step_check.finish()
  run_flags.undo(state.flags)
  variables.restore()
  virtual.finish()
  process_group.destroy()
  session.finish()
end

---The main function of a worker process: deserializes the train function, runs it and returns its result.
---@return any return_value plain data
function worker.main()
  local host = require 'rtrain._worker'
  local task = host.context().validation
  if task then return worker.validate(host, task) end
  local job = require('base._closure').load(host.functions())
  add_search_path()
  return worker.run(job)
end

return worker
