-- rtrain/program/init.lua: a worker whose train function is a program of the user: starts it, answers its requests, and
-- ends with it.

local environment = require 'rtrain.program.environment'
local errors = require 'base.errors'
local requests = require 'rtrain.program.requests'
local session = require 'rtrain.session'
local status = require 'rtrain.program.status'
local system = require 'base._system'

local program = {}

-- Seconds that it waits for a line before it checks for a stop of the run.
local LOOK_S = 0.2
local SIGTERM = 15
local FOREVER_S = 1e9

local function python_path(env)
  local folder = require('rtrain._program').python_folder()
  local own = env.PYTHONPATH or os.getenv 'PYTHONPATH'
  return own and own ~= '' and folder .. ':' .. own or folder
end

local function worker_of()
  local host, context = require 'rtrain._worker', session.get('a program').context
  local worker = {context = context, env = environment.of(host, context)}
  function worker.addresses() return environment.addresses(host, context) end
  return worker
end

-- Returns the answer to a request with an id; the error of a request without an id is raised.
local function answer(running, line)
  local request = system.from_json(line)
  if request.id == nil then return requests.carry_out(request) end
  local ok, value = xpcall(requests.carry_out, errors.wrap, request)
  if ok then return running:write(system.to_json {id = request.id, value = value}) end
  local told = {code = value.code or 'user', message = value.message or tostring(value)}
  running:write(system.to_json {id = request.id, error = told})
  -- The run has ended for this rank; the program cannot handle the error.
  if value.code == 'peer_lost' then error(value, 0) end
end

-- Serves the program until it has ended. If the program never asks for a stop, it gets SIGTERM at the call where the
-- ranks agree to stop; its end then counts as stopped.
local function serve(running, host, endpoint)
  local asks, is_told = false, false
  while true do
    local event, line = running:next(LOOK_S, endpoint and endpoint:waiting_fd())
    if endpoint then status.take_all(endpoint) end
    if event == 'ended' then return is_told end
    if event == 'line' then
      asks = asks or line:find('"stop_requested"', 1, true) ~= nil
      answer(running, line)
    elseif not asks and not is_told and host.is_stopping() then
      is_told = host.stop_requested()
      if is_told then running:send(SIGTERM) end
    end
  end
end

-- Raises an error with the last lines of stderr, which explain the failure.
local function raise_end(config, running, how, exit_code)
  local words = running:last_words():gsub('%s+$', '')
  local error_code = exit_code and 'user' or 'worker_lost'
  errors.raise(error_code, ('%s %s%s'):format(config.shown, how, words ~= '' and ':\n' .. words or ''))
end

-- Opens the status endpoint of rank 0, if the run has one; the programs of other ranks get no address.
local function serve_status(state, env)
  if state.trial and state.trial:needs_all_ranks() then
    errors.raise('config', ('status_endpoint: only rank 0 reports, and the scheduler of this sweep needs all %d ranks to: '
      .. 'give each trial one worker, or leave the scheduler away'):format(state.context.world_size))
  end
  return state.context.world_rank == 0 and status.serve(env) or nil
end

local function names_to_drop(config)
  local out = {unpack(environment.DROPPED)}
  for _, name in ipairs(config.status_endpoint and status.DROPPED or {}) do out[#out + 1] = name end
  return out
end

---Runs the program to its end as this rank.
---@param config {command: string[], shown: string, env: table<string, string>?, status_endpoint: boolean?}
---@param backend Backend
---@param settings table the run's configs: {max_failures, num_to_keep, checkpoint_score_attribute,
---  checkpoint_score_order}
---Raises code 'user' if it ends with an exit code other than 0, 'worker_lost' if a signal ends it.
function program.run(config, backend, settings)
  local host = require 'rtrain._worker'
  -- This call also tells the controller that this rank handles stops, independent of its program.
  if host.stop_requested() then return end
  local worker = worker_of()
  for name, value in next, config.env or {} do worker.env[name] = value end
  worker.env.PYTHONPATH, worker.env.RTRAIN_PROGRAM_FD = python_path(worker.env), '3'
  requests.status_endpoint, requests.run_config = config.status_endpoint == true, settings
  local endpoint = config.status_endpoint and serve_status(session.get('a program'), worker.env)
  backend:on_start(worker)
  local running = require('rtrain._program').start {
    command = config.command, env = worker.env, without = names_to_drop(config),
  }
  host.set_program(running:pid())
  host.busy('runs a program', FOREVER_S)  -- the program's progress is not visible: only a stopped process is detected
  backend:on_training_start(worker)
  local ok, was_told = xpcall(serve, errors.wrap, running, host, endpoint or nil)
  local how, code = running:finish(ok and 5 or 0)
  if endpoint then endpoint:release() end
  backend:on_shutdown(worker)
  if not ok then error(was_told, 0) end
  if code ~= 0 and not was_told then raise_end(config, running, how, code) end
end

return program
