-- rtrain/tune/schedulers/asha.lua: ASHAScheduler: the short name of AsyncHyperBandScheduler.

local AsyncHyperBandScheduler = require 'rtrain.tune.schedulers.async_hyperband'

---The short name of AsyncHyperBandScheduler: asynchronous successive halving. Ray equivalent:
---ray.tune.schedulers.ASHAScheduler.
---
---```lua
---local train = require 'rtrain'
---local scheduler = train.tune.schedulers.ASHAScheduler {max_t = 27, grace_period = 3, reduction_factor = 3}
---assert(scheduler.max_t == 27 and scheduler.brackets == 1)
---```
---@class rtrain.tune.ASHAScheduler: rtrain.tune.AsyncHyperBandScheduler
---@overload fun(options?: rtrain.tune.AsyncHyperBandOptions): rtrain.tune.ASHAScheduler
local ASHAScheduler = AsyncHyperBandScheduler:extend('ASHAScheduler')

return ASHAScheduler
