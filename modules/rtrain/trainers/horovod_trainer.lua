-- rtrain/trainers/horovod_trainer.lua: HorovodTrainer: train functions that call the module `horovod`.

local HorovodConfig = require 'rtrain.config.horovod'
local schema = require 'rtrain.config.schema'
local TorchTrainer = require('rtrain.trainers.trainer').TorchTrainer

---A trainer whose train function uses Horovod's API, `require 'horovod'`, over the process group of a TorchTrainer. It
---has the fields of a TorchTrainer and horovod_config. A Python script with Horovod runs under `rtrain launch --backend
---horovod`. Ray equivalent: ray.train.horovod.HorovodTrainer.
---
---```lua
---local hvd, torch, train = require 'horovod', require 'torch', require 'rtrain'
---local result = train.HorovodTrainer({
---  train_loop_per_worker = function()
---    hvd.init()
---    local mean = hvd.allreduce(torch.tensor(hvd.rank() + 1))
---    train.report {mean = mean:item(), size = hvd.size()}
---  end,
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---assert(result.metrics.mean == 1.5 and result.metrics.size == 2)
---```
---@class HorovodTrainer: TorchTrainer
---@overload fun(f: TrainerOptions|(fun(config?: table): any), options?: TrainerOptions): HorovodTrainer
local HorovodTrainer = TorchTrainer:extend('HorovodTrainer')
HorovodTrainer._fields = TorchTrainer:_fields_and('horovod_config')

---@param f TrainerOptions|(fun(config?: table): any) the function, or one table with everything
---@param options? TrainerOptions
---Raises code 'config' for an unknown field or a wrong value.
function HorovodTrainer:init(f, options)
  local given = type(f) == 'table' and f or options or {}
  TorchTrainer.init(self, f, options)
  self.horovod_config = schema.coerce(given.horovod_config, HorovodConfig, 'horovod_config')
end

return HorovodTrainer
