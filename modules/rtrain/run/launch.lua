-- rtrain/run/launch.lua: fit(): makes a job from trainer and command, and handles the events of its run.
--
-- The flags of `rtrain run` (rtrain.run.command_flags) override the script.

local BackendHooks = require 'rtrain.backends.backend_hooks'
local backends = require 'rtrain.session.backends'
local Callbacks = require 'rtrain.callbacks.callbacks'
local class = require 'base.class'
local command_flags = require 'rtrain.run.command_flags'
local datasets = require 'rtrain.run.datasets'
local Display = require 'rtrain.display'
local errors = require 'base.errors'
local Eta = require 'rtrain.display.eta'
local evaluators = require 'rtrain.run.evaluators'
local Evictions = require 'rtrain.run.evictions'
local JsonLines = require 'rtrain.display.json_lines'
local resume_command = require 'rtrain.run.resume_command'
local notebook_channel = require 'rtrain.display.notebook_channel'
local NotebookDisplay = require 'rtrain.display.notebook_display'
local number = require 'base.number'
local storage_option = require 'rtrain.run.storage_option'
local system = require 'base._system'
local far_job = require 'rtrain.launch.far_job'
local FirstLoop = require 'rtrain.run.first_loop'
local find_allocation = require('rtrain.launch').find
local overrides = require 'base.overrides'
local places = require 'rtrain.launch.place'
local Result = require 'rtrain.results.result'
local run_flags = require 'rtrain.worker.run_flags'
local run_name = require 'rtrain.launch.run_name'
local run_spec = require 'rtrain.run.run_spec'
local session = require 'rtrain.session'
local storage = require 'rtrain.results.storage'
local StopCondition = require 'rtrain.callbacks.stop_condition'
local TimeLimit = require 'rtrain.run.time_limit'
local TrainRunContext = require 'rtrain.callbacks.run_context'
local Watch = require 'rtrain.run.watch'

local launch = {}

local unnamed_fits = 0  -- calls in this process within a job: each run needs a different name
local local_fits = 0  -- calls in this process: shows whether another launcher's processes are in the same call

local function script_path(flags)
  local arg = rawget(_G, 'arg')
  return flags.script or (arg and arg[0]) or notebook_channel.current() and 'notebook' or 'script'
end

-- The precedence: flag, script, environment, home folder.
local function storage_path(flags, run_config)
  return require('rtrain._host').storage_folder(flags.storage or run_config.storage_path)
end

-- Returns the run's name and whether it continues the run of that name: the command decides, then the script, then the
-- job. A job that its scheduler restarts continues its run; if the scheduler does not show restarts, the job's name
-- decides.
local function identity_of(flags, run_config, allocation, place)
  local name = flags.name or run_config.name
  local resume = flags.resume or run_config:_was_given 'resume' and run_config.resume or nil
  local restarts = allocation.restart_count
  if resume == nil and allocation.is_batch and (restarts or 0) > 0 then resume = 'auto' end
  if name then return name, resume or 'never' end
  if allocation.is_batch and (place or not allocation.is_rank) then
    unnamed_fits = unnamed_fits + 1
    return run_name.of_job(script_path(flags), allocation, unnamed_fits), resume or restarts == nil and 'auto' or 'never'
  end
  -- A run without an explicit name gets a new name each time.
  if resume and resume ~= 'never' then
    errors.raise('config', ("resume = '%s' without a name: give the run to go on with (--name, RunConfig.name)")
      :format(resume))
  end
  return run_name.make(script_path(flags)), 'never'
end

-- Applies --gpus: 'all' means a worker for each device, a number that many devices; with -n they are divided among that
-- many workers, and 'all' gives each worker one. 0 means the CPU. Other nodes are assumed to have the same number.
local function with_gpus(scaling, gpus, num_workers, num_hosts)
  if gpus == '0' then return scaling:without_gpus() end
  local resources = scaling.resources_per_worker
  local count = tonumber(gpus) or num_workers or math.max(1, (system.cuda())) * num_hosts
  local each = num_workers and num_workers > 0 and count / num_workers or 1
  return scaling:with {
    use_gpu = true, num_workers = num_workers or count,
    resources_per_worker = {CPU = resources and resources.CPU, GPU = each},
  }
end

-- If another launcher has assigned the devices, the ranks find out whether two share a device when they form the group.
local function backend_of(trainer, scaling, place)
  local config = trainer.torch_config
  if trainer._kind ~= 'torch' then return backends.WITHOUT_NCCL end
  if not place then return config:choose_backend(scaling:num_gpus_per_worker(), scaling:max_workers()) end
  if not scaling.use_gpu then return (config:choose_backend(0, place.world_size)) end
  return config.backend or backends.DEFAULT
end

-- Applies --seed to a configuration with a seed, unless --set replaces it.
local function with_seed(config, flags)
  if not flags.seed or type(config) ~= 'table' or number.of(config.seed) == nil then return config end
  for _, setting in ipairs(flags.set) do
    if setting:match '^seed=' then return config end
  end
  return overrides.apply(config, {'seed=' .. number.text(flags.seed)})
end

-- Returns the parts of the trainer's Backend that workers need; nil if it does nothing.
local function backend_of_workers(config, place)
  local stages = config and BackendHooks.stages(config)
  if stages and place then
    errors.raise('config', ('%s: a Backend works where rtrain starts the workers: let the launcher start one `rtrain run` on '
      .. 'each node'):format(class.of(config).__name))
  end
  return stages and {stages = stages, timeout_s = config.timeout_s}
end

local function config_of(trainer, flags)
  local config = with_seed(overrides.apply(trainer.train_loop_config, flags.set), flags)
  if #flags.set > 0 then trainer._check_plain(config, 'train_loop_config') end
  return config
end

-- Returns the trainer's configs with the flags of the command applied.
local function job_of(trainer, flags)
  local run_config, scaling = trainer.run_config, trainer.scaling_config
  local failures = run_config.failure_config
  local allocation = find_allocation(os.getenv, {launcher = flags.launcher})
  local folder = allocation.engine == 'ssh' and system.absolute '.' or nil
  flags.command = far_job.command(allocation, folder) or flags.command
  local num_hosts = flags.has_agents and allocation.num_nodes or 1
  if flags.num_workers then scaling = scaling:with {num_workers = flags.num_workers} end
  if flags.gpus then scaling = with_gpus(scaling, flags.gpus, flags.num_workers, num_hosts) end
  if scaling.num_workers == 'auto' then scaling = scaling:with {num_workers = {1, num_hosts * scaling:max_workers()}} end
  if flags.max_failures then failures = failures:with {max_failures = flags.max_failures} end
  local place = places.of(allocation, scaling, flags.has_agents)
  if not place then allocation.warnings[#allocation.warnings + 1] = places.warning(allocation, scaling) end
  local is_local = place ~= nil or scaling.num_workers == 0
  if is_local then local_fits = local_fits + 1 end
  local backend, how_tensors_travel = backend_of(trainer, scaling, place)
  local name, resume = identity_of(flags, run_config, allocation, place)
  if allocation.engine == 'ssh' then
    far_job.add_run(allocation, folder, name)
  elseif not flags.tryout then
    far_job.forget(name)
  end
  local config = run_config:with {name = name, resume = resume, failure_config = failures}
  local workers_backend = backend_of_workers(trainer.backend_config, place)
  if workers_backend then  -- a worker that replaces a lost one would miss on_start
    config = config:with {failure_config = failures:with {max_heals = 0}}
  end
  if flags.tryout then config.storage_filesystem = nil end  -- the checkpoints are discarded
  local loop_config = config_of(trainer, flags)
  return {
    kind = trainer._kind,
    backend = backend,
    how_tensors_travel = how_tensors_travel,
    validation_config = trainer.validation_config,
    train_loop_per_worker = trainer.train_loop_per_worker,
    train_loop_config = loop_config,
    flags = run_flags.of(flags),
    run_config = config,
    scaling_config = scaling,
    is_local = is_local,
    place = place,
    launcher_warnings = allocation.warnings,
    is_batch = allocation.is_batch,
    time_left_command = allocation.time_left_command,
    evict_command = allocation.evict_command,
    hosts = allocation.hosts,
    gpus = place and scaling.use_gpu and places.gpus(place.local_rank) or nil,
    fit = local_fits,
    torch_config = trainer.torch_config,
    backend_config = trainer.backend_config,
    workers_backend = workers_backend,
    initialization_hook = (trainer.backend_config or trainer.torch_config).initialization_hook,
    datasets = type(trainer._datasets) == 'function' and trainer._datasets(loop_config) or trainer._datasets,
    metadata = trainer.metadata,
    resume_from_checkpoint = trainer.resume_from_checkpoint,
    dataset_config = trainer.dataset_config,
  }
end

-- Returns the exclusive cores of each worker, if configured and if its process runs nothing else.
local function own_cpus(job)
  local resources = job.scaling_config.resources_per_worker
  return not job.is_local and resources and resources.CPU or nil
end

-- Returns the operator's callbacks after the script's. `rtrain check` and similar commands make no run that they could
-- see.
local function callbacks_of(job)
  if job.flags and job.flags.tryout then return {} end
  local list = Callbacks.of_environment()
  for i, item in ipairs(job.run_config.callbacks or {}) do table.insert(list, i, item) end
  return list
end

-- Returns the devices of each worker: 'CPU', '1 GPU', '2 GPUs', '0.5 GPU'. Unknown if another launcher has assigned
-- them.
local function devices_of(job)
  if job.is_local and not job.place then return nil end
  local gpus = job.scaling_config:num_gpus_per_worker()
  if gpus == 0 then return 'CPU' end
  return job.place and 'GPU' or ('%g GPU%s each'):format(gpus, gpus > 1 and 's' or '')
end

-- Returns the part of the backend for the workers' tensors: 'shm' of 'cpu:shm,cuda:gloo'.
local function backend_of_devices(job)
  if job.kind ~= 'torch' then return nil end
  local device = job.scaling_config:num_gpus_per_worker() > 0 and 'cuda' or 'cpu'
  return job.backend:match(device .. ':(%w+)') or job.backend
end

local function display_of(job, spec, flags)
  if flags.events_fd then
    return JsonLines(spec, {fd = flags.events_fd, logging = job.run_config.logging_config, config = job.train_loop_config})
  end
  local channel = notebook_channel.current()
  local options = {
    quiet = flags.quiet,
    steps_only = flags.tryout ~= nil and flags.tryout.probe == 'lr_probe',
    terminal = flags.terminal and not job.is_local,  -- in local mode the train function itself writes to the terminal
    eta = Eta(job.train_loop_config, job.run_config.stop),
    devices = devices_of(job),
    backend = backend_of_devices(job),
    storage_option = storage_option(spec.storage_path),
    storage_uri = require('rtrain._host').storage_uri(spec.storage_path),
    resume_command = not flags.tryout and not os.getenv 'RTRAIN_TRIAL' and resume_command(flags, spec.name) or nil,
    is_tryout = flags.tryout ~= nil,
    score = job.run_config.checkpoint_config,
    logging = job.run_config.logging_config,
  }
  return channel and NotebookDisplay(spec, options, channel) or Display(spec, options)
end

-- `rtrain submit` does not know a storage that only the script names, and has queued the run in the default storage.
local function forget_queued_run(spec)
  local host = require 'rtrain._host'
  local default = host.storage_folder()
  if default ~= spec.storage_path then host.forget_queued_run(default, spec.name) end
end

-- A requested signal of the scheduler before the limit (sbatch --signal) may come first.
local function time_limit_of(job, run, display)
  local asked = job.flags and job.flags.tryout
  if asked then return require 'rtrain.tryout.loader_wait'(asked) end
  if job.time_left_command == nil then return nil end
  return TimeLimit(job.time_left_command, {
    grace_s = job.run_config.failure_config.preemption_grace_s,
    on_near = function(left_s)
      run:request_stop('terminate', ("the job's time limit, in %.0f s"):format(math.max(left_s, 0)))
    end,
    on_problem = function(text) display:notice(text) end,
  })
end

-- Executes the run and returns its Result.
local function carry_out(run, job, watch, callbacks, place)
  callbacks:before_run(TrainRunContext(run:run_id(), job, place))
  run:start()
  local result = Result.from_event(watch:wait(), job.train_loop_config)
  callbacks:after_run(result)
  return result
end

---Trains and returns the Result, also of a failed run. Raises an error if the run cannot begin.
---@param trainer DataParallelTrainer
---@return Result
function launch.fit(trainer)
  if session.peek() or session.is_validation() then
    errors.raise('user', 'fit() inside a train or validation function: a worker cannot start a run')
  end
  local flags = command_flags.get()
  command_flags.mark_fit()
  if flags.on_fit then return flags.on_fit(trainer) end
  if os.getenv 'RTRAIN_TRIAL' then require('rtrain.trial').begin() end
  local job = job_of(trainer, flags)
  job.worker_datasets = datasets.for_workers(job.datasets, job.dataset_config, own_cpus(job))
  if job.place and job.place.rank > 0 then return require('rtrain.run.joined').fit(job) end
  local list = callbacks_of(job)
  local spec, warnings = run_spec.of(job, flags, {
    script = script_path(flags),
    storage_path = storage_path(flags, job.run_config),
    has_callbacks = #list > 0,
    wants_reports = #list > 0 or job.run_config.stop ~= nil or flags.events_fd ~= nil,
  })
  local display = display_of(job, spec, flags)
  for _, text in ipairs(warnings) do display:notice(text) end
  local run = require('rtrain._controller').open(spec)
  display:begin(run:run_id())
  if job.is_batch then pcall(forget_queued_run, spec) end  -- for a store that cannot be written, `rtrain ls` reports it
  if job.how_tensors_travel then display:notice(job.how_tensors_travel, 'info') end
  local time_limit = time_limit_of(job, run, display)
  local watch
  local callbacks = Callbacks(list, function(text)
    display:notice(text)
    run:add_event(watch.attempt, 'warning', text)
  end)
  watch = Watch(run, {
    display = display,
    callbacks = callbacks,
    serve = function(fd, pump) require('rtrain.run.local_worker').serve(fd, job, pump) end,
    stop = job.run_config.stop and StopCondition(job.run_config.stop),
    time_limit = time_limit,
    first_loop = FirstLoop(function(attempt, text)
      display:notice(text, 'info')
      run:add_event(attempt, 'data', text)
    end),
    evictions = Evictions {
      command = job.evict_command,
      hosts = job.hosts,
      notice = function(text) display:notice(text) end,
    },
  })
  if job.workers_backend then
    watch.backend = BackendHooks(job.backend_config, {
      pump = not job.is_local and function(seconds) watch:pump(seconds) end or nil,
      notice = function(text)
        display:notice(text)
        run:add_event(watch.attempt, 'warning', text)
      end,
    })
    job.backend_hooks = watch.backend
    watch.calls:on_later('backend', function(argument, answer) watch.backend:add(argument, answer) end)
  end
  evaluators.answer(watch.calls, job.run_config.health_config.evaluators)
  storage.answer(watch.calls, job.run_config.storage_filesystem)
  local ok, result = xpcall(carry_out, errors.wrap, run, job, watch, callbacks, {
    storage_path = spec.storage_path,
    name = spec.name,
    notice = function(text) display:notice(text) end,
  })
  run:close()
  if time_limit then time_limit:close() end
  if not ok then
    display:clear()
    error(result, 0)
  end
  return result
end

return launch
