-- rtrain/submit/sweep.lua: the trials of `rtrain submit slurm --sweep`: tasks of an array, each with its own run.
--
-- Tasks do not communicate, so all configurations are chosen in advance: a grid, or random draws.

local errors = require 'base.errors'
local RunConfig = require 'rtrain.config.run'
local RunOptions = require 'rtrain.tune.run_options'
local Variants = require 'rtrain.tune.variants'
local written = require 'rtrain.tune.written'

local sweep = {}

-- Options that require --sweep.
local OPTIONS = {'grid', 'space', 'random', 'seed', 'jobs'}

---@class SubmitSweep
---@field name string name of the sweep
---@field tag string tag of its runs
---@field jobs? integer trials at a time
---@field trials SubmitTrial[] in the order of the tasks, from task 0

---@class SubmitTrial
---@field name string name of its run
---@field settings string[] the trial's own words: '--name', 'NAME-000', '--set', 'lr=0.1'
---@field words string[] its whole command, set by the caller

---@param request {engine: string, file: string, options: table}
---@return SubmitSweep? sweep nil without --sweep
---Errors: 'usage', 'config' for wrong options.
function sweep.of(request)
  local options = request.options
  if not options.sweep then
    for _, name in ipairs(OPTIONS) do
      if options[name] ~= nil then errors.raise('usage', ('submit %s: --%s needs --sweep'):format(request.engine, name)) end
    end
    return nil
  end
  if options.wait then errors.raise('usage', 'submit: --wait shows the output of one job: an array has one for each trial') end
  local tree = written.param_space {grid = options.grid or {}, space = options.space or {}, random = options.random}
  local name = RunOptions({script = request.file, name = options.name}):name_of(RunConfig {})
  local variants = Variants(tree, {num_samples = options.random or 1, seed = options.seed or 0})
  local trials = {}
  for number = 0, variants.count - 1 do
    local trial = ('%s-%03d'):format(name, number)
    trials[number + 1] = {name = trial, settings = {'--name', trial, unpack(written.settings(variants:suggest(number)))}}
  end
  return {name = name, tag = 'sweep:' .. name, jobs = options.jobs, trials = trials}
end

---Returns the bash line of each task: the array `trial` has the trial's own words.
---@param options string
---@param arguments string
---@return string command
function sweep.command(options, arguments)
  return ('%s "${trial[@]}"%s'):format(options, arguments == '' and '' or ' ' .. arguments)
end

return sweep
