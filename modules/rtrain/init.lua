-- rtrain/init.lua: Ray Train's API: trainers and configs for the script, report() and its like for the train function.
--
-- Parts are loaded at their first use. What Ray has and this version does not is refused by name.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'

---@class rtrain
local train = {}

-- name → {module, field}; without a field the module itself.
local PARTS = {
  TorchTrainer = {'rtrain.trainer', 'TorchTrainer'},
  DataParallelTrainer = {'rtrain.trainer', 'DataParallelTrainer'},
  ScalingConfig = {'rtrain.config.scaling'},
  RunConfig = {'rtrain.config.run'},
  CheckpointConfig = {'rtrain.config.checkpoint'},
  FailureConfig = {'rtrain.config.failure'},
  TorchConfig = {'rtrain.config.torch'},
  DataConfig = {'rtrain.config.data'},
  Result = {'rtrain.result'},
  Checkpoint = {'rtrain.checkpoint'},
  report = {'rtrain.report', 'report'},
  get_checkpoint = {'rtrain.report', 'get_checkpoint'},
  get_context = {'rtrain.context', 'get_context'},
  tempdir = {'rtrain.tempdir'},
  torch = {'rtrain.torch'},
  collective = {'rtrain.collective'},
}

local LATER = {
  get_all_reported_checkpoints = 'see result.best_checkpoints or `rtrain checkpoints RUN`',
  get_dataset_shard = 'make a DataLoader in the train function',
  log = 'use train.report on every rank',
  annotate = 'use train.report',
  stop_requested = 'Ctrl-C stops the whole run',
  data = 'use torch.utils.data',
  UserCallback = 'use train.report',
  LoggingConfig = "workers' output is kept under logs/",
  ValidationConfig = 'validate in the train function',
  CheckpointUploadMode = 'a reported checkpoint is copied before report() returns',
}

local function names_of(map)
  local names = {}
  for name in next, map do names[#names + 1] = name end
  table.sort(names)
  return names
end

setmetatable(train, {
  __index = function(_, name)
    local part = PARTS[name]
    if part then
      local value = require(part[1])
      if part[2] then value = value[part[2]] end
      rawset(train, name, value)
      return value
    end
    args.no_such('train', name, names_of(PARTS), LATER)
  end,
  __newindex = function(_, name)
    errors.raise('argument', ('train.%s cannot be assigned'):format(tostring(name)))
  end,
})

return train
