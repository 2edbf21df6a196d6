-- rtrain/horovod.lua: train.horovod: the configuration of a HorovodTrainer.

---@class rtrain.horovod
---@field HorovodConfig HorovodConfig
return require 'base.namespace'('train.horovod', {modules = {HorovodConfig = 'rtrain.config.horovod'}})
