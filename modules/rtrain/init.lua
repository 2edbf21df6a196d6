-- rtrain/init.lua: Ray Train's API: trainers and configs for the script, report() and similar functions for the train
-- function.
--
-- Parts are loaded at their first use. Names that Ray has and this version lacks raise an error that says so.

local errors = require 'base.errors'

---@class rtrain
---@field BaseTrainer BaseTrainer
---@field TorchTrainer TorchTrainer
---@field DataParallelTrainer DataParallelTrainer
---@field XGBoostTrainer XGBoostTrainer
---@field LightGBMTrainer LightGBMTrainer
---@field HorovodTrainer HorovodTrainer
---@field Tuner Tuner
---@field ScalingConfig ScalingConfig
---@field RunConfig RunConfig
---@field CheckpointConfig CheckpointConfig
---@field FailureConfig FailureConfig
---@field TorchConfig TorchConfig
---@field DataConfig DataConfig
---@field LoggingConfig LoggingConfig
---@field HealthConfig HealthConfig
---@field Result Result
---@field Checkpoint Checkpoint
---@field UserCallback UserCallback
---@field Backend Backend
---@field BackendConfig BackendConfig
---@field CheckpointUploadMode CheckpointUploadMode
---@field report fun(metrics: table, options?: ReportOptions)
---@field log fun(metrics: table<string, number>, options?: {step: integer})
---@field annotate fun(text: string, options?: {severity: string, rank_zero_only: boolean})
---@field log_image fun(name: string, img_tensor: torch.Tensor, options?: {step: integer, dataformats: string})
---@field log_video fun(name: string, vid_tensor: torch.Tensor, options?: {step: integer, fps: number})
---@field log_audio fun(name: string, snd_tensor: torch.Tensor, options?: {step: integer, sample_rate: integer})
---@field log_histogram fun(name: string, values: torch.Tensor|number[], options?: {step: integer, bins: integer})
---@field log_table fun(name: string, table: table, options?: {step: integer})
---@field log_text fun(name: string, text: string, options?: {step: integer})
---@field display fun(value: any, options?: {mime: string})
---@field display_images fun(images: torch.Tensor|torch.Tensor[], options?: table)
---@field get_checkpoint fun(): Checkpoint?
---@field get_all_reported_checkpoints fun(options?: {consistency_mode: string, timeout_s: number}): ReportedCheckpoint[]
---@field CheckpointConsistencyMode CheckpointConsistencyMode
---@field ReportedCheckpointStatus ReportedCheckpointStatus
---@field ValidationConfig ValidationConfig
---@field ValidationTaskConfig ValidationTaskConfig
---@field get_context fun(): TrainContext
---@field stop_requested fun(): boolean
---@field get_dataset_shard fun(dataset_name?: string): rtrain.data.DataIterator
---@field best fun(run: string, options?: {storage_path: string}): Checkpoint
---@field tempdir fun(fn: fun(path: string): any): any
---@field graph fun(step_fn: function, options?: table): rtrain.Graph
---@field compile fun(step_fn: function, options?: table): rtrain.CompiledStep
---@field busy fun(reason: string, seconds: number)
---@field async_save fun(obj: any, f: string): AsyncSave
---@field export fun(model: nn.Module|table, path: string, options?: table)
---@field loop train.loop
---@field state fun(given: table): TrainState
---@field elastic fun(state: TrainState, fn: fun(state: TrainState): ...): ...
---@field torch rtrain.torch
---@field xgboost rtrain.xgboost
---@field lightgbm rtrain.lightgbm
---@field horovod rtrain.horovod
---@field collective rtrain.collective
---@field health rtrain.health
---@field loggers rtrain.loggers
---@field data rtrain.data
---@field tune rtrain.tune
---@field psutil rtrain.psutil
---@field time rtrain.time
local train = require 'base.namespace'('train', {
  files = {
    {'rtrain.trainers.trainer', 'TorchTrainer', 'DataParallelTrainer'},
    {'rtrain.program.program_trainer', 'ProgramTrainer', 'TensorflowTrainer', 'JaxTrainer'},
    {'rtrain.tune.tuner', 'Tuner'},
    {'rtrain.functions.report', 'report', 'get_checkpoint'},
    {'rtrain.functions.reported_checkpoints', 'get_all_reported_checkpoints'},
    {'rtrain.config.validation', 'ValidationConfig', 'ValidationTaskConfig'},
    {'rtrain.functions.log', 'log', 'annotate'},
    {'rtrain.functions.media', 'log_image', 'log_video', 'log_audio', 'log_histogram', 'log_table',
      'log_text'},
    {'rtrain.functions.display', 'display', 'display_images'},
    {'rtrain.functions.context', 'get_context'},
    {'rtrain.state', 'state'},
    {'rtrain.elastic', 'elastic'},
    {'rtrain.graph', 'graph'},
    {'rtrain.compile', 'compile'},
    {'rtrain.functions.stop', 'stop_requested'},
    {'rtrain.functions.dataset_shards', 'get_dataset_shard'},
  },
  modules = {
    BaseTrainer = 'rtrain.trainers.base_trainer',
    ScalingConfig = 'rtrain.config.scaling',
    RunConfig = 'rtrain.config.run',
    CheckpointConfig = 'rtrain.config.checkpoint',
    FailureConfig = 'rtrain.config.failure',
    TorchConfig = 'rtrain.config.torch',
    DataConfig = 'rtrain.config.data',
    LoggingConfig = 'rtrain.config.logging',
    HealthConfig = 'rtrain.config.health',
    Result = 'rtrain.results.result',
    UserCallback = 'rtrain.callbacks.user_callback',
    XGBoostTrainer = 'rtrain.trainers.xgboost_trainer',
    LightGBMTrainer = 'rtrain.trainers.lightgbm_trainer',
    HorovodTrainer = 'rtrain.trainers.horovod_trainer',
    Backend = 'rtrain.backends.backend', BackendConfig = 'rtrain.config.backend',
    Checkpoint = 'rtrain.results.checkpoint',
    CheckpointUploadMode = 'rtrain.results.checkpoint_upload_mode',
    CheckpointConsistencyMode = 'rtrain.results.checkpoint_consistency_mode',
    ReportedCheckpointStatus = 'rtrain.results.reported_checkpoint_status',
    best = 'rtrain.results.best',
    tempdir = 'rtrain.functions.tempdir',
    busy = 'rtrain.functions.busy',
    async_save = 'rtrain.functions.async_save',
    export = 'rtrain.functions.export',
    loop = 'rtrain.loop',
    torch = 'rtrain.torch',
    xgboost = 'rtrain.xgboost',
    lightgbm = 'rtrain.lightgbm',
    horovod = 'rtrain.horovod',
    collective = 'rtrain.collective',
    health = 'rtrain.health',
    loggers = 'rtrain.loggers',
    data = 'rtrain.data',
    tune = 'rtrain.tune',
    psutil = 'rtrain.psutil',
    time = 'rtrain.time',
  },
})

getmetatable(train).__newindex = function(_, name)
  errors.raise('argument', ('train.%s cannot be assigned'):format(tostring(name)))
end

return train
