-- rtrain/loggers/mlflow.lua: train.loggers.MLflow.

local checks = require 'rtrain.loggers.checks'
local errors = require 'base.errors'
local Logger = require 'rtrain.loggers.logger'

---Sends the run to a server of MLflow while it goes on: reports and points of train.log as metrics, train_loop_config as
---parameters, tags, and the media of rank 0 as artifacts where the server takes artifacts itself, as it does by default.
---A run that is continued goes on there too. Ray equivalent: MLflowLoggerCallback.
---
---```lua
---local train = require 'rtrain'
---local mlflow = train.loggers.MLflow {tracking_uri = 'http://127.0.0.1:1', experiment_name = 'digits'}
---assert(tostring(mlflow):find 'MLflow')
---```
---@class MLflow: UserCallback
---@overload fun(options?: table): MLflow
---@field tracking_uri? string URL of the server (default $MLFLOW_TRACKING_URI)
---@field experiment_name? string made if there is none of that name (default $MLFLOW_EXPERIMENT_NAME, then Default)
---@field run_name? string default: the run's name
---@field tags? table<string, string>
---@field tracking_token? string default $MLFLOW_TRACKING_TOKEN
---@field tracking_username? string with `tracking_password`; default $MLFLOW_TRACKING_USERNAME and _PASSWORD
---@field tracking_password? string
---@field insecure_tls? boolean takes any certificate of the server (default $MLFLOW_TRACKING_INSECURE_TLS = 'true')
local MLflow = Logger:extend('MLflow')

local CHECKS = {
  tracking_uri = checks.url, experiment_name = checks.text, run_name = checks.text, tags = checks.texts,
  tracking_token = checks.text, tracking_username = checks.text, tracking_password = checks.text,
  insecure_tls = checks.boolean,
}

---@param options? table
function MLflow:init(options)
  local given = self:_checked(options, CHECKS)
  local uri = given.tracking_uri or os.getenv 'MLFLOW_TRACKING_URI'
  if uri == nil then
    errors.raise('config', 'train.loggers.MLflow: give tracking_uri, or set MLFLOW_TRACKING_URI')
  end
  local problem = checks.url(uri)
  if problem then errors.raise('config', ('MLFLOW_TRACKING_URI = %s: %s'):format(uri, problem)) end
  self._tracker = {
    kind = 'mlflow',
    tracking_uri = uri,
    experiment_name = given.experiment_name,
    run_name = given.run_name,
    tags = given.tags,
    token = given.tracking_token,
    username = given.tracking_username,
    password = given.tracking_password,
    insecure_tls = given.insecure_tls,
  }
end

function MLflow:_rest_command(run) return ('rtrain export --mlflow %s'):format(run) end

return MLflow
