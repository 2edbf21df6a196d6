-- rtrain/config/horovod.lua: HorovodConfig: the fields of Ray's HorovodConfig. rtrain starts the ranks itself.

local schema = require 'rtrain.config.schema'

---Config of a HorovodTrainer. Its fields are accepted and change nothing: rtrain connects the ranks itself, and
---TorchConfig.timeout_s is the time-out of collectives. Ray equivalent: ray.train.horovod.HorovodConfig.
---@class HorovodConfig
---@overload fun(fields?: table): HorovodConfig
---@field timeout_s number default 300
---@field placement_group_timeout_s number default 100
---@field verbose integer default 1
---@field nics? string[] network interfaces
---@field key? string
---@field ssh_port? integer
---@field ssh_identity_file? string
local HorovodConfig = schema.define('HorovodConfig', {
  {'timeout_s', default = 300, check = schema.positive},
  {'placement_group_timeout_s', default = 100, check = schema.positive},
  {'verbose', default = 1, check = schema.integer(0)},
  {'nics'},
  {'key', in_record = false},
  {'ssh_port', check = schema.integer(1, 65535)},
  {'ssh_identity_file', check = schema.string},
})

return HorovodConfig
