-- rtrain/tune/config.lua: TuneConfig: the number of trials, the objective, the search and the scheduler.

local class = require 'base.class'
local FIFOScheduler = require 'rtrain.tune.schedulers.scheduler'
local schema = require 'rtrain.config.schema'

local function check_scheduler(value)
  if not class.is(value, FIFOScheduler) then return 'expected a scheduler of train.tune.schedulers' end
end

local function check_search(value)
  if type(value) ~= 'table' or type(value.set_search_properties) ~= 'function' or type(value.suggest) ~= 'function' then
    return 'expected a sampler of train.tune.search'
  end
end

---How a Tuner searches. Ray equivalent: ray.tune.TuneConfig.
---
---```lua
---local train = require 'rtrain'
---local config = train.tune.TuneConfig {metric = 'loss', mode = 'min', num_samples = 8}
---assert(config.num_samples == 8 and config.scheduler == nil)
---```
---@class TuneConfig
---@overload fun(fields?: table): TuneConfig
---@field metric? string the metric of the reports that is optimized
---@field mode? 'min'|'max'
---@field num_samples integer how often the space is sampled, and each grid repeated; with a search_alg the number of
---  trials; default 1
---@field max_concurrent_trials? integer default: the number for which this node has cores (or GPUs)
---@field search_alg? rtrain.tune.TPESampler chooses the configurations; default: grids and random draws
---@field scheduler? rtrain.tune.FIFOScheduler decides which trials continue; default: all
---@field seed? integer seed of the draws: the same seed gives the same trials; default 0
local TuneConfig = schema.define('TuneConfig', {
  {'metric', check = schema.string},
  {'mode', check = schema.one_of('min', 'max')},
  {'num_samples', default = 1, check = schema.integer(1)},
  {'max_concurrent_trials', check = schema.integer(1)},
  {'search_alg', check = check_search, in_record = false},
  {'scheduler', check = check_scheduler, in_record = false},
  {'seed', default = 0, check = schema.integer(0)},
  {'time_budget_s', absent = 'stop the sweep: with the same name and resume = \'auto\' it goes on'},
  {'reuse_actors', absent = 'each trial is a process of its own'},
  {'trial_name_creator', absent = 'a trial is called <sweep>-<number>'},
  {'trial_dirname_creator', absent = "a trial's folder has its run's name"},
})

return TuneConfig
