-- rtrain/worker.lua: the main function of a worker process.
--
-- LibTorch is loaded at the first use of a tensor and the process group formed at the first collective or prepare_model, so
-- that a train function without either starts at once.

local Checkpoint = require 'rtrain.checkpoint'
local datasets = require 'rtrain.datasets'
local process_group = require 'rtrain.process_group'
local session = require 'rtrain.session'

local worker = {}

local function begin_session(host)
  local starting = host.starting_checkpoint()
  session.begin {
    context = host.context(),
    checkpoint = starting and Checkpoint(starting.path) or nil,
    tempdirs = {},
  }
end

-- Makes the engine, when it is loaded, use the threads that the run gives this worker.
local function prepare_engine(host, threads)
  local open = package.preload['torch._C']
  package.preload['torch._C'] = function(...)
    local engine = open(...)
    engine.set_num_threads(threads)
    host.phase('engine_loaded')
    return engine
  end
end

-- The script's search path came with the function; RunConfig.worker_env may add a LUA_PATH.
local function add_search_path()
  for entry in (os.getenv 'LUA_PATH' or ''):gmatch '[^;]+' do
    if not (';' .. package.path .. ';'):find(';' .. entry .. ';', 1, true) then
      package.path = package.path .. ';' .. entry
    end
  end
end

---Validates a checkpoint: this process is no rank.
---@param host table rtrain._worker
---@param wanted table what the controller said about it
---@return table metrics
function worker.validate(host, wanted)
  prepare_engine(host, host.context().threads)
  session.begin_validation()
  local job = require('rtrain._closure').load(host.functions())
  add_search_path()
  return require('rtrain.validation').run(job, wanted)
end

---Rebuilds the train function, runs it and returns what it returned. An error is the rank's error.
---@return any return_value plain data
function worker.main()
  local host = require 'rtrain._worker'
  local wanted = host.context().validation
  if wanted then return worker.validate(host, wanted) end
  begin_session(host)
  local state = session.get('worker')
  prepare_engine(host, state.context.threads)
  local job = require('rtrain._closure').load(host.functions())
  add_search_path()
  state.kind = job.kind
  state.validation_config = job.validation_config
  datasets.begin(state, job.datasets)
  host.phase('running')
  local returned = job.train_loop_per_worker(job.train_loop_config)
  datasets.finish(state)
  process_group.destroy()
  session.finish()
  return returned
end

return worker
