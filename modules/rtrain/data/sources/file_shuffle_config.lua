-- rtrain/data/sources/file_shuffle_config.lua: FileShuffleConfig: the order in which a source reads its files.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'

---A random order of the files for each epoch. Arguments: {seed, reseed_after_execution = true}: without a seed the seed
---of the execution is used; with reseed_after_execution = false all epochs have the same order. Ray equivalent:
---ray.data.FileShuffleConfig.
---
---```lua
---local data = require 'rtrain.data'
---local config = data.FileShuffleConfig{seed = 42}
---assert(config.reseed_after_execution)
---```
---@class rtrain.data.FileShuffleConfig
---@field seed? integer
---@field reseed_after_execution boolean
---@overload fun(options?: table): rtrain.data.FileShuffleConfig
local FileShuffleConfig = class('FileShuffleConfig')

local signature = args.signature('FileShuffleConfig', {{'seed'}, {'reseed_after_execution', true}})

function FileShuffleConfig:init(...)
  local a = signature:bind(...)
  if a.seed ~= nil and (type(a.seed) ~= 'number' or a.seed % 1 ~= 0 or a.seed < 0) then
    errors.raise('argument', ('FileShuffleConfig: seed is a whole number from 0 on, got %s'):format(tostring(a.seed)))
  end
  self.seed, self.reseed_after_execution = a.seed, a.reseed_after_execution
end

return FileShuffleConfig
