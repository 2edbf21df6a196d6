-- rtrain/program/program_trainer.lua: ProgramTrainer: trainers whose workers run a program of the user, in any
-- language.

local args = require 'base.args'
local Backend = require 'rtrain.backends.backend'
local backends = require 'rtrain.program.backends'
local class = require 'base.class'
local command_flags = require 'rtrain.run.command_flags'
local errors = require 'base.errors'
local DataParallelTrainer = require('rtrain.trainers.trainer').DataParallelTrainer

local FIELDS = {'command', 'env', 'backend_config', 'status_endpoint', 'scaling_config', 'run_config'}

---@class ProgramTrainerOptions
---@field command string[] the program, searched in PATH, and its arguments
---@field env? table<string, string> additional environment variables of the program
---@field backend_config? 'torch'|'tensorflow'|'jax'|'horovod'|Backend sets further variables besides torchrun's;
---  default 'torch'
---@field status_endpoint? boolean rank 0's program gets the endpoint of Kubeflow's status protocol (KEP-2779), and
---  its posts become the run's reports; default false
---@field scaling_config? ScalingConfig the number of workers
---@field run_config? RunConfig name, folder, checkpoints, failures

---Runs a program on several worker processes, such as a Python script that torchrun would start: with torchrun's
---variables, and under the same controller as a train function in Lua: records, logs, retries, stops, leases. A program
---that does not use rtrain succeeds with exit code 0. A Python script can import `rtrain.train`, which is available,
---and report as a script for Ray Train does. Ray equivalent: a DataParallelTrainer with a custom Backend. `rtrain
---launch` is this trainer as a command.
---
---```lua
---local train = require 'rtrain'
---local result = train.ProgramTrainer({
---  command = {'sh', '-c', 'echo rank $RANK of $WORLD_SIZE'},
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---assert(result.error == nil)
---```
---@class ProgramTrainer: DataParallelTrainer
---@overload fun(options: ProgramTrainerOptions): ProgramTrainer
local ProgramTrainer = DataParallelTrainer:extend('ProgramTrainer')
ProgramTrainer._backend = 'torch'

local function check_command(self, command)
  if type(command) ~= 'table' or #command == 0 then
    errors.raise('config', ("%s: command is %s, expected a list such as {'python3', 'train.py'}"):format(self.__name,
      type(command) == 'table' and 'empty' or 'a ' .. type(command)))
  end
  for i, word in ipairs(command) do
    if type(word) ~= 'string' then
      errors.raise('config', ('%s: command[%d] is a %s, expected a string'):format(self.__name, i, type(word)))
    end
  end
end

local function check_env(self, env)
  for name, value in next, env or {} do
    if type(name) ~= 'string' or type(value) ~= 'string' then
      errors.raise('config', ('%s: env[%s] is a %s, expected a string'):format(self.__name, tostring(name), type(value)))
    end
  end
end

local function backend_of(self, given)
  if class.is(given, Backend) then return given end
  local name = args.one_of(self.__name .. ': backend_config', given or self._backend, {'horovod', 'jax', 'tensorflow', 'torch'})
  return backends[name]()
end

-- Returns the name of the program for messages: the script of an interpreter, else the program.
local function shown(command)
  local is_interpreter = command[1]:match '[^/]*$':match '^python[%d.]*$' ~= nil
  for i = 2, is_interpreter and #command or 1 do
    if command[i]:sub(1, 1) ~= '-' then return command[i] end
  end
  return command[1]
end

-- Returns the run's settings, with the flags of the command applied, for the comparison with a program's own configs.
local function settings_of(run_config)
  local flags = command_flags.get()
  local run = run_config or {}
  local checkpoints, failures = run.checkpoint_config or {}, run.failure_config or {}
  return {
    max_failures = flags.max_failures or failures.max_failures or 0, num_to_keep = checkpoints.num_to_keep,
    checkpoint_score_attribute = checkpoints.checkpoint_score_attribute,
    checkpoint_score_order = checkpoints.checkpoint_score_order,
  }
end

---@param options ProgramTrainerOptions
---Raises code 'config' for an unknown field or a wrong value.
function ProgramTrainer:init(options)
  options = options or {}
  self:_check_fields(options, FIELDS)
  check_command(self, options.command)
  check_env(self, options.env)
  local backend = backend_of(self, options.backend_config)
  local status_endpoint = options.status_endpoint
  if status_endpoint ~= nil and type(status_endpoint) ~= 'boolean' then
    errors.raise('config', ('%s: status_endpoint is a %s, expected true or false'):format(self.__name, type(status_endpoint)))
  end
  local settings = settings_of(options.run_config)
  DataParallelTrainer.init(self, {
    train_loop_per_worker = function(config) return require('rtrain.program').run(config, backend, settings) end,
    train_loop_config = {
      command = options.command, shown = shown(options.command), env = options.env, status_endpoint = status_endpoint,
    },
    scaling_config = options.scaling_config,
    run_config = options.run_config,
  })
end

---A ProgramTrainer whose programs use TensorFlow's MultiWorkerMirroredStrategy: their environment has TF_CONFIG. Ray
---equivalent: ray.train.tensorflow.TensorflowTrainer.
---@class TensorflowTrainer: ProgramTrainer
---@overload fun(options: ProgramTrainerOptions): TensorflowTrainer
local TensorflowTrainer = ProgramTrainer:extend('TensorflowTrainer')
TensorflowTrainer._backend = 'tensorflow'

---A ProgramTrainer whose programs call jax.distributed.initialize(). Ray equivalent: ray.train.v2.jax.JaxTrainer.
---@class JaxTrainer: ProgramTrainer
---@overload fun(options: ProgramTrainerOptions): JaxTrainer
local JaxTrainer = ProgramTrainer:extend('JaxTrainer')
JaxTrainer._backend = 'jax'

return {ProgramTrainer = ProgramTrainer, TensorflowTrainer = TensorflowTrainer, JaxTrainer = JaxTrainer}
