-- xgboost/training.lua: xgboost.train.

local args = require 'base.args'
local Booster = require 'xgboost.booster'
local callback = require 'xgboost.callback'
local class = require 'base.class'
local collective = require 'xgboost.collective'
local errors = require 'base.errors'
local ordered = require 'base.ordered'

local training = {}

local OPTIONS = {'num_boost_round', 'evals', 'obj', 'maximize', 'early_stopping_rounds', 'evals_result', 'verbose_eval',
                 'xgb_model', 'callbacks', 'custom_metric'}

-- Returns the mean over the ranks: a script's own metric only knows the rows of its rank.
local function mean_of_ranks(value)
  local size = collective.get_world_size()
  if size == 1 then return value end
  local tensor = require('torch').tensor({value}, {dtype = 'float64'})
  return collective.allreduce(tensor, collective.Op.SUM)[0]:item() / size
end

-- Adds the metrics of a round, '[3]\ttrain-rmse:0.5\ttrain-mine:2', to the log.
local function note(log, text, num_own)
  local parts = {}
  for part in text:gmatch '[^\t]+' do parts[#parts + 1] = part end
  for i = 2, #parts do
    local name, metric, value = parts[i]:match '^([^-]*)%-(.*):([^:]*)$'
    value = tonumber(value) or 0 / 0
    if i > #parts - num_own then value = mean_of_ranks(value) end
    log[name] = log[name] or ordered.new()
    log[name][metric] = log[name][metric] or {}
    table.insert(log[name][metric], value)
  end
end

local function check_count(name, value)
  if type(value) ~= 'number' or value < 0 or value % 1 ~= 0 then
    errors.raise('argument', ('xgboost.train: %s = %s: expected an integer of at least 0'):format(name, tostring(value)))
  end
  return value
end

local function check_function(name, value)
  if value ~= nil and type(value) ~= 'function' then
    errors.raise('argument', ('xgboost.train: %s is a %s, expected a function'):format(name, type(value)))
  end
end

local function check_ref(dtrain, evals)
  for i, item in ipairs(evals) do
    local ref = rawget(item[1], '_ref')
    local is_binned = item[1].__name ~= 'DMatrix'
    if is_binned and item[1] ~= dtrain and ref ~= dtrain then
      errors.raise('argument', ("xgboost.train: evals[%d] is a %s of its own bins: make it with {ref = dtrain}"):format(i,
        item[1].__name))
    end
  end
end

-- Returns the given callbacks, and those for the options.
local function callbacks_of(options)
  local list = {}
  for i, item in ipairs(options.callbacks or {}) do
    if not class.is(item, callback.TrainingCallback) then
      errors.raise('argument', ('xgboost.train: callbacks[%d] is not a xgboost.callback.TrainingCallback'):format(i))
    end
    list[i] = item
  end
  local verbose = options.verbose_eval
  if verbose == nil or verbose == true then verbose = 1 end
  if verbose and verbose ~= 0 then list[#list + 1] = callback.EvaluationMonitor {period = verbose} end
  if options.early_stopping_rounds then
    list[#list + 1] = callback.EarlyStopping {rounds = options.early_stopping_rounds, maximize = options.maximize}
  end
  return list
end

-- Calls all callbacks, and returns whether one of them ends the training.
local function ask(callbacks, method, ...)
  local is_over = false
  for _, item in ipairs(callbacks) do
    if item[method](item, ...) then is_over = true end
  end
  return is_over
end

local function through(callbacks, method, model)
  for _, item in ipairs(callbacks) do
    model = item[method](item, model)
    if not class.is(model, Booster) then
      errors.raise('argument', ('%s:%s must return the model'):format(item.__name, method))
    end
  end
  return model
end

local function rounds(booster, dtrain, options, callbacks, log)
  local evals, metric = options.evals or {}, options.custom_metric
  local num_own = metric and #evals or 0
  local first = booster:num_boosted_rounds()
  for epoch = first, first + options.num_boost_round - 1 do
    if ask(callbacks, 'before_iteration', booster, epoch, log) then return end
    booster:update(dtrain, epoch, options.obj)
    if #evals > 0 then note(log, booster:eval_set(evals, epoch, metric, options.obj ~= nil), num_own) end
    if ask(callbacks, 'after_iteration', booster, epoch, log) then return end
  end
end

---Trains a model. In a train function of train.XGBoostTrainer all ranks call it, each with its rows, and all get the same
---model. Python equivalent: xgboost.train.
---@param params table<string, any> parameters of the library: objective, max_depth, eta, eval_metric, …
---@param dtrain xgboost.DMatrix
---@param options? {num_boost_round: integer, evals: table, obj: function, maximize: boolean,
---  early_stopping_rounds: integer, evals_result: table, verbose_eval: boolean|integer, xgb_model: string|xgboost.Booster,
---  callbacks: xgboost.callback.TrainingCallback[], custom_metric: function} num_boost_round = 10; evals: data whose metrics
---  are computed in each round, {{dtrain, 'train'}, {dvalid, 'valid'}}; obj(predt, dtrain) returns gradients and
---  hessians; custom_metric(predt, data) returns a name and a number, which is averaged over the ranks; evals_result: a
---  table to which the metrics are written, data → metric → values; verbose_eval: prints them every that many rounds,
---  false: never; xgb_model: the training continues from this model, for num_boost_round more rounds, whose numbers
---  continue too
---@return xgboost.Booster
---Raises code 'argument' if the library rejects an argument.
---
---```lua
---local torch, xgboost = require 'torch', require 'xgboost'
---local x = torch.arange(64):view(64, 1)
---local dtrain = xgboost.DMatrix(x, {label = x:view(-1):ge(20)})
---local result = {}
---local booster = xgboost.train({objective = 'binary:logistic', eval_metric = {'logloss', 'error'}}, dtrain, {
---  num_boost_round = 20, evals = {{dtrain, 'train'}}, evals_result = result, verbose_eval = false,
---})
---assert(#result.train.error == 20 and result.train.error[20] == 0)
---assert(booster:predict(dtrain)[63]:item() > 0.8)
---```
function training.train(params, dtrain, options)
  options = args.options(options, OPTIONS, 'xgboost.train')
  local given = {}
  for name, value in next, options do given[name] = value end
  given.num_boost_round = check_count('num_boost_round', options.num_boost_round or 10)
  check_function('obj', options.obj)
  check_function('custom_metric', options.custom_metric)
  local evals, cache = options.evals or {}, {dtrain}
  Booster._check_evals('xgboost.train', evals)
  check_ref(dtrain, evals)
  for i, item in ipairs(evals) do cache[i + 1] = item[1] end
  local callbacks = callbacks_of(options)
  local booster = Booster(params, cache, options.xgb_model)
  booster._caller = 'xgboost.train'
  local log = ordered.new()
  booster = through(callbacks, 'before_training', booster)
  rounds(booster, dtrain, given, callbacks, log)
  booster = through(callbacks, 'after_training', booster)
  for name, data in ordered.items(log) do
    if options.evals_result then options.evals_result[name] = data end
  end
  booster._caller = nil
  return booster:reset()
end

return training
