-- rtrain/tune/init.lua: train.tune: spaces, schedulers and searches for train.Tuner and `rtrain sweep`, with Ray Tune's names.

---@class rtrain.tune
---@field TuneConfig TuneConfig
---@field ResultGrid ResultGrid
---@field schedulers rtrain.tune.schedulers
---@field search rtrain.tune.search
---@field uniform fun(lower: number, upper: number): rtrain.tune.Domain
---@field quniform fun(lower: number, upper: number, q: number): rtrain.tune.Domain
---@field loguniform fun(lower: number, upper: number): rtrain.tune.Domain
---@field qloguniform fun(lower: number, upper: number, q: number): rtrain.tune.Domain
---@field randn fun(mean?: number, sd?: number): rtrain.tune.Domain
---@field qrandn fun(mean: number, sd: number, q: number): rtrain.tune.Domain
---@field randint fun(lower: integer, upper: integer): rtrain.tune.Domain
---@field qrandint fun(lower: integer, upper: integer, q?: integer): rtrain.tune.Domain
---@field lograndint fun(lower: integer, upper: integer): rtrain.tune.Domain
---@field qlograndint fun(lower: integer, upper: integer, q: integer): rtrain.tune.Domain
---@field choice fun(categories: any[]): rtrain.tune.Domain
---@field grid_search fun(values: any[]): rtrain.tune.Domain
---@field sample_from fun(fn: fun(spec: table): any): rtrain.tune.Domain
return require 'base.namespace'('train.tune', {
  files = {
    {'rtrain.tune.spaces', 'uniform', 'quniform', 'loguniform', 'qloguniform', 'randn', 'qrandn', 'randint', 'qrandint',
     'lograndint', 'qlograndint', 'choice', 'grid_search', 'sample_from'},
  },
  modules = {
    TuneConfig = 'rtrain.tune.config',
    ResultGrid = 'rtrain.tune.result_grid',
    schedulers = 'rtrain.tune.schedulers',
    search = 'rtrain.tune.search',
  },
})
