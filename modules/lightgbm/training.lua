-- lightgbm/training.lua: lightgbm.train.

local args = require 'base.args'
local Booster = require 'lightgbm.booster'
local Callback = require('lightgbm.callback').Callback
local callback = require 'lightgbm.callback'
local class = require 'base.class'
local Dataset = require 'lightgbm.dataset'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local parameters = require 'lightgbm.parameters'

local training = {}

local OPTIONS = {'num_boost_round', 'valid_sets', 'valid_names', 'feval', 'init_model', 'callbacks',
                 'keep_training_booster'}
-- Parameters that have the same meaning as options.
local ROUNDS, EARLY = 'num_iterations', 'early_stopping_round'

local function without(params, ...)
  local out, dropped = {}, {}
  for i = 1, select('#', ...) do dropped[(select(i, ...))] = true end
  for name, value in next, params do
    if not dropped[parameters.main_name(tostring(name)) or name] then out[name] = value end
  end
  return out
end

local function check_rounds(value)
  if type(value) ~= 'number' or value < 0 or value % 1 ~= 0 then
    errors.raise('argument', ('lightgbm.train: num_boost_round = %s: expected an integer of at least 0'):format(
      tostring(value)))
  end
  return value
end

local function callbacks_of(options, params)
  local list = {}
  for i, item in ipairs(options.callbacks or {}) do
    if type(item) == 'function' then
      local call = item
      item = Callback()
      rawset(item, 'after_iteration', function(_, env) return call(env) end)
    elseif not class.is(item, Callback) then
      errors.raise('argument', ('lightgbm.train: callbacks[%d] is a %s, expected a function or a lightgbm.Callback'):format(i,
        type(item)))
    end
    list[i] = item
  end
  local rounds = parameters.value(params, EARLY)
  if rounds and rounds > 0 then list[#list + 1] = callback.early_stopping(rounds) end
  return list
end

local function model_of(given)
  if given == nil or class.is(given, Booster) then return given end
  if type(given) == 'string' then return Booster {model_file = given} end
  errors.raise('argument', ('lightgbm.train: init_model is a %s, expected a Booster or a file name'):format(type(given)))
end

-- Adds the valid sets, and returns whether the training data are among them.
local function add_valid_sets(booster, train_set, options, init_model)
  local names, has_train = options.valid_names or {}, false
  for i, data in ipairs(options.valid_sets or {}) do
    if not class.is(data, Dataset) then
      errors.raise('argument', ('lightgbm.train: valid_sets[%d] is a %s, expected a Dataset'):format(i, type(data)))
    end
    if data == train_set then
      has_train = true
    else
      if not data._handle and not data._reference then data._reference = train_set end
      booster:add_valid(data, names[i] or ('valid_%d'):format(i - 1), init_model)
    end
  end
  return has_train
end

-- Calls all callbacks, and returns whether one of them ends the training.
local function ask(callbacks, method, env)
  local is_over = false
  for _, item in ipairs(callbacks) do
    if item[method](item, env) then is_over = true end
  end
  return is_over
end

local function evaluate(booster, options, has_train)
  local list = has_train and booster:eval_train(options.feval) or {}
  for _, item in ipairs(booster:eval_valid(options.feval)) do list[#list + 1] = item end
  return list
end

local function rounds(booster, options, run)
  local first, list = booster:current_iteration(), {}
  for iteration = first, first + run.rounds - 1 do
    local env = {model = booster, params = run.params, iteration = iteration, begin_iteration = first,
                 end_iteration = first + run.rounds, evaluation_result_list = {}}
    if ask(run.callbacks, 'before_iteration', env) then break end
    booster:update {fobj = run.fobj}
    list = evaluate(booster, options, run.has_train)
    env.evaluation_result_list = list
    if ask(run.callbacks, 'after_iteration', env) then break end
  end
  return booster._best_list or list
end

---Trains a model. In a train function of train.LightGBMTrainer all ranks call it, each with its rows, and all get the same
---model. Python equivalent: lightgbm.train.
---@param params table<string, any> parameters of the library: objective, num_leaves, learning_rate, metric, …; objective may
---  be a function(preds, train_set) that returns gradients and hessians
---@param train_set lightgbm.Dataset
---@param options? {num_boost_round: integer, valid_sets: lightgbm.Dataset[], valid_names: string[], feval: function,
---  init_model: string|lightgbm.Booster, callbacks: any[], keep_training_booster: boolean} num_boost_round = 100; valid_sets:
---  data whose metrics are computed in each round, which may include train_set; feval(preds, data) returns a name, a
---  number, and whether larger is better; with several ranks each metric is averaged; init_model: the training
---  continues from this model, for num_boost_round more rounds; keep_training_booster = false: the model keeps only the
---  rounds up to the best one, and the data are released
---@return lightgbm.Booster
---Raises code 'argument' if the library rejects an argument.
---
---```lua
---local lightgbm, torch = require 'lightgbm', require 'torch'
---local x = torch.arange(200):view(200, 1)
---local data = lightgbm.Dataset(x, x:view(-1):ge(70))
---local result = {}
---local booster = lightgbm.train({objective = 'binary', metric = {'binary_logloss', 'auc'}, verbosity = -1}, data, {
---  num_boost_round = 20, valid_sets = {data}, callbacks = {lightgbm.record_evaluation(result)}})
---assert(#result.training.auc == 20 and result.training.auc[20] == 1)
---assert(booster:predict(x)[199]:item() > 0.8)
---```
function training.train(params, train_set, options)
  options = args.options(options, OPTIONS, 'lightgbm.train')
  local given = {}
  for name, value in next, params do given[name] = value end
  local fobj = type(given.objective) == 'function' and given.objective or nil
  if fobj then given.objective = 'none' end
  parameters.text('lightgbm.train', given)
  local run = {fobj = fobj, params = params, callbacks = callbacks_of(options, given)}
  run.rounds = check_rounds(parameters.value(given, ROUNDS) or options.num_boost_round or 100)
  local init_model = model_of(options.init_model)
  local booster = Booster {params = without(given, ROUNDS, EARLY), train_set = train_set, init_model = init_model}
  run.has_train = add_valid_sets(booster, train_set, options, init_model)
  for _, item in ipairs(rounds(booster, options, run)) do
    booster.best_score[item[1]] = booster.best_score[item[1]] or ordered.new()
    booster.best_score[item[1]][item[2]] = item[3]
  end
  booster._best_list = nil
  for _, item in ipairs(run.callbacks) do item:after_training(booster) end
  if not options.keep_training_booster then booster:_end_training() end
  return booster
end

return training
