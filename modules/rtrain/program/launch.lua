-- rtrain/program/launch.lua: runs the program of `rtrain launch`.

local errors = require 'base.errors'
local ProgramTrainer = require('rtrain.program.program_trainer').ProgramTrainer
local RunConfig = require 'rtrain.config.run'
local system = require 'base._system'

local launch = {}

---Trains with the program as configured by the flags of the command.
---@param command string[] as typed; a script that ends in .py is run by Python
---@param env table<string, string>
---@param options {backend: string, status_endpoint: boolean, checkpoint_config: table?}
---Raises code 'usage' if the script does not exist, and the errors of fit().
function launch.run(command, env, options)
  if command[1]:match '%.py$' then
    if system.path_kind(command[1]) ~= 'file' then errors.raise('usage', ('there is no file %s'):format(command[1])) end
    table.insert(command, 1, os.getenv 'RTRAIN_PYTHON' or 'python3')
  end
  ProgramTrainer({
    command = command, env = next(env) and env or nil, backend_config = options.backend,
    status_endpoint = options.status_endpoint,
    run_config = options.checkpoint_config and RunConfig {checkpoint_config = options.checkpoint_config},
  }):fit()
end

return launch
