-- rtrain/config/run.lua: RunConfig: the run's name, the place of its results, and which results are kept.

local Callbacks = require 'rtrain.callbacks.callbacks'
local CheckpointConfig = require 'rtrain.config.checkpoint'
local FailureConfig = require 'rtrain.config.failure'
local HealthConfig = require 'rtrain.config.health'
local LoggingConfig = require 'rtrain.config.logging'
local schema = require 'rtrain.config.schema'
local storage = require 'rtrain.results.storage'
local StopCondition = require 'rtrain.callbacks.stop_condition'
local system = require 'base._system'
local worker_env = require 'rtrain.config.worker_env'

local SEE_REPORTS = 'every report is in the store: see `rtrain metrics RUN`'

local function check_name(value)
  if type(value) ~= 'string' then return 'expected a string' end
  local problem = system.run_name_problem(value)
  return problem and "it cannot be a run's name: " .. problem
end

local function check_storage_path(value)
  if type(value) ~= 'string' or value == '' then return 'expected a path' end
  if value:find('^%a[%w+.-]*://') and not system.is_object_uri(value) then
    return 'expected a folder, or a URI that begins with s3://, gs://, abfs:// or hdfs://', 'unsupported'
  end
end

---The run's name, the place of its results, and which results are kept. Ray equivalent: ray.train.RunConfig.
---
---```lua
---local train = require 'rtrain'
---local config = train.RunConfig {name = 'mine', checkpoint_config = {num_to_keep = 1}}
---assert(config.checkpoint_config.num_to_keep == 1 and config.failure_config.max_failures == 0)
---```
---@class RunConfig
---@overload fun(fields?: table): RunConfig
---@field name? string the run's name and folder; default `<script>-<date>-<4 hex>`, in a job of a scheduler such as
---  Slurm `<script>-<job id>` (but not in an interactive shell)
---@field storage_path? string folder or URI (s3://bucket/folder) of results; default $RTRAIN_STORAGE, then ~/rtrain_results
---@field resume string what happens when a run of that name exists: 'never' (default) refuses; 'auto' continues it,
---  or starts a new run if there is none; 'must' continues it, or refuses if there is none. A continued run keeps its
---  id, reports and checkpoints, and its first attempt starts from the latest checkpoint; a run that had finished
---  continues from there too. In a job that was requeued (SLURM_RESTART_COUNT above 0) the default is 'auto'
---@field checkpoint_config CheckpointConfig
---@field failure_config FailureConfig
---@field health_config HealthConfig how the nodes are checked, and what happens with a bad node
---@field callbacks? UserCallback[] called in the script's process during the run
---@field stop? table|fun(metrics: table): boolean the run ends as FINISHED when rank 0's metrics of a report satisfy the
---  function, or when one of the metrics is at least its threshold: `stop = {epoch = 10, accuracy = 0.99}`
---@field worker_env? table<string, string> environment variables of the workers, set before any library is loaded, in
---  addition to the environment of `rtrain run`. Ray's spelling `worker_runtime_env = {env_vars = {…}}` works too
---@field log_bytes integer how many bytes of a rank's log are kept in one attempt, at least 65536 (default 256 MiB).
---  A longer log loses its oldest lines, never its newest half
---@field logging_config LoggingConfig
---@field storage_filesystem? StorageFilesystem copies the checkpoints to another place; the run itself writes to
---  storage_path
local RunConfig = schema.define('RunConfig', {
  {'name', check = check_name},
  {'storage_path', check = check_storage_path},
  {'resume', default = 'never', check = schema.one_of('never', 'auto', 'must')},
  {'checkpoint_config'},
  {'failure_config'},
  {'health_config'},
  {'stop', check = StopCondition.problem, in_record = false},
  {'worker_env', check = worker_env.problem, in_record = false},
  {'worker_runtime_env', check = worker_env.runtime_problem, in_record = false},
  {'callbacks', check = Callbacks.problem, in_record = false},
  {'log_bytes', default = 256 * 2 ^ 20, check = schema.integer(65536)},
  {'logging_config'},
  {'storage_filesystem', check = function(value) return storage.problem(value, 'put') end, in_record = false},
  {'sync_config', removed = 'a checkpoint in an object store is there when it is committed'},
  {'verbose', removed = '`rtrain run -q` shows less'},
  {'progress_reporter', removed = SEE_REPORTS},
  {'log_to_file', removed = "workers' output is always kept: see `rtrain logs RUN`"},
})

function RunConfig:_validate()
  self.checkpoint_config = schema.coerce(self.checkpoint_config, CheckpointConfig, 'RunConfig.checkpoint_config')
  self.failure_config = schema.coerce(self.failure_config, FailureConfig, 'RunConfig.failure_config')
  self.health_config = schema.coerce(self.health_config, HealthConfig, 'RunConfig.health_config')
  self.logging_config = schema.coerce(self.logging_config, LoggingConfig, 'RunConfig.logging_config')
end

return RunConfig
