-- lightgbm/booster.lua: Booster: the model.

local args = require 'base.args'
local array = require 'xgboost.array'
local class = require 'base.class'
local Dataset = require 'lightgbm.dataset'
local errors = require 'base.errors'
local ffi = require 'ffi'
local library = require 'lightgbm.library'
local matrix = require 'lightgbm.matrix'
local network = require 'lightgbm.network'
local ordered = require 'base.ordered'
local parameters = require 'lightgbm.parameters'

---A model of LightGBM. lightgbm.train makes one. Python equivalent: lightgbm.Booster.
---
---Arguments: {model_file, model_str} for a saved model, {params, train_set} for a model to train with `update`.
---
---Fields: `best_iteration`, and `best_score`, a table data → metric → value. lightgbm.train sets both.
---
---```lua
---local lightgbm, torch = require 'lightgbm', require 'torch'
---local x = torch.randn(200, 2)
---local booster = lightgbm.train({verbosity = -1}, lightgbm.Dataset(x, x:select(1, 0)), {num_boost_round = 10})
---local copy = lightgbm.Booster {model_str = booster:model_to_string()}
---assert(copy:num_trees() == 10 and torch.equal(copy:predict(x), booster:predict(x)))
---```
---@class lightgbm.Booster
---@overload fun(options: table): lightgbm.Booster
---@field best_iteration integer
---@field best_score table<string, table<string, number>>
local Booster = class('Booster')

local OPTIONS = {'params', 'train_set', 'model_file', 'model_str'}

local function own(self, handle) self._handle = library.owned(handle, 'LGBM_BoosterFree') end

local function number(self, fn)
  local out = ffi.new 'int[1]'
  library.call('lightgbm.Booster', fn, self._handle, out)
  return out[0]
end

local function begin_training(self, options)
  if not class.is(options.train_set, Dataset) then
    errors.raise('argument', ('lightgbm.train: train_set is a %s, expected a Dataset'):format(type(options.train_set)))
  end
  local params, handle = {}, ffi.new 'rt_lgb_handle[1]'
  for name, value in next, options.params or {} do params[name] = value end
  local data = options.train_set:construct(params, options.init_model)
  local text = parameters.text('lightgbm.train', params) .. ' ' .. data._parameters
  library.call('lightgbm.train', 'LGBM_BoosterCreate', data._handle, text, handle)
  own(self, handle)
  self._train_set, self._valid_sets, self._names = data, {}, {}
  if options.init_model then
    library.call('lightgbm.train', 'LGBM_BoosterMerge', self._handle, options.init_model._handle)
  end
end

local function load_file(self, path)
  if require('base._system').path_kind(path) ~= 'file' then
    errors.raise('argument', ('lightgbm.Booster: there is no file %s'):format(path))
  end
  local iterations, handle = ffi.new 'int[1]', ffi.new 'rt_lgb_handle[1]'
  library.call('lightgbm.Booster', 'LGBM_BoosterCreateFromModelfile', path, iterations, handle)
  own(self, handle)
end

local function load_text(self, text)
  local iterations, handle = ffi.new 'int[1]', ffi.new 'rt_lgb_handle[1]'
  library.call('lightgbm.Booster', 'LGBM_BoosterLoadModelFromString', text, iterations, handle)
  own(self, handle)
end

---@param options {params: table, train_set: lightgbm.Dataset, model_file: string, model_str: string}
function Booster:init(options)
  options = options or {}
  local init_model = rawget(options, 'init_model')
  local checked = {}
  for name, value in next, options do
    if name ~= 'init_model' then checked[name] = value end
  end
  args.options(checked, OPTIONS, 'lightgbm.Booster')
  self.best_iteration, self.best_score = 0, ordered.new()
  if options.model_file then return load_file(self, options.model_file) end
  if options.model_str then return load_text(self, options.model_str) end
  if options.train_set == nil then
    errors.raise('argument', 'lightgbm.Booster: needs a train_set, a model_file or a model_str')
  end
  begin_training(self, {params = options.params, train_set = options.train_set, init_model = init_model})
end

local function check_training(self, what)
  if self._train_set then return end
  errors.raise('argument', ('%s: this model was loaded, and is not in training'):format(what))
end

-- Ends the training: keeps the model of the rounds up to the best one, without the data.
function Booster:_end_training()
  load_text(self, self:model_to_string())
  self._train_set, self._valid_sets = nil, nil
end

---Adds data whose metrics are computed.
---@param data lightgbm.Dataset made with {reference = train_set}
---@param name string
---@param init_model? lightgbm.Booster the model from which the training continues
function Booster:add_valid(data, name, init_model)
  check_training(self, 'add_valid')
  data:construct(nil, init_model)
  library.call('add_valid', 'LGBM_BoosterAddValidData', self._handle, data._handle)
  table.insert(self._valid_sets, data)
  table.insert(self._names, name)
end

local function custom_gradients(self, fobj)
  local grad, hess = fobj(self:_inner_predict(0), self._train_set)
  local out = {}
  for i, value in ipairs {grad, hess} do
    local tensor = array.tensor(i == 1 and 'update: grad' or 'update: hess', value):to('float32')
    if tensor:dim() == 2 then tensor = tensor:t() end  -- the library orders them by class
    out[i] = tensor:contiguous():view(-1)
    if out[i]:numel() ~= self:_num_predict(0) then
      errors.raise('argument', ('update: %d gradients, expected %d'):format(out[i]:numel(), self:_num_predict(0)))
    end
  end
  return out[1], out[2]
end

---Runs one round of boosting, on all ranks. lightgbm.train calls it.
---@param options? {fobj: function} fobj(preds, train_set) returns gradients and hessians
---@return boolean is_finished whether no split improved the model
function Booster:update(options)
  check_training(self, 'update')
  options = args.options(options, {'fobj'}, 'update')
  local finished = ffi.new 'int[1]'
  if options.fobj then
    local grad, hess = custom_gradients(self, options.fobj)
    library.call('lightgbm.train', 'LGBM_BoosterUpdateOneIterCustom', self._handle, ffi.cast('const float *', grad:data_ptr()),
      ffi.cast('const float *', hess:data_ptr()), finished)
  else
    library.call('lightgbm.train', 'LGBM_BoosterUpdateOneIter', self._handle, finished)
  end
  return finished[0] == 1
end

---Undoes the last round.
---@return lightgbm.Booster self
function Booster:rollback_one_iter()
  library.call('rollback_one_iter', 'LGBM_BoosterRollbackOneIter', self._handle)
  return self
end

---Changes parameters of the training, such as learning_rate.
---@param params table<string, any>
---@return lightgbm.Booster self
function Booster:reset_parameter(params)
  library.call('reset_parameter', 'LGBM_BoosterResetParameter', self._handle, parameters.text('reset_parameter', params))
  return self
end

function Booster:_num_predict(index)
  local out = ffi.new 'int64_t[1]'
  library.call('predict', 'LGBM_BoosterGetNumPredict', self._handle, index, out)
  return tonumber(out[0])
end

-- Returns the present scores of the training data (0) or of valid sets: (rows) or (rows, classes).
function Booster:_inner_predict(index)
  local count, size = self:_num_predict(index), ffi.new 'int64_t[1]'
  local out = require('torch').empty({count}, {dtype = 'float64'})
  library.call('predict', 'LGBM_BoosterGetPredict', self._handle, index, size, ffi.cast('double *', out:data_ptr()))
  local classes = number(self, 'LGBM_BoosterGetNumClasses')
  return classes > 1 and out:view(classes, -1):t() or out
end

-- Metrics for which larger is better.
local MAXIMIZED = {'auc', 'ndcg@', 'map@', 'average_precision', 'auc_mu'}

local function is_higher_better(name)
  for _, start in ipairs(MAXIMIZED) do
    if name:sub(1, #start) == start then return true end
  end
  return false
end

-- Metrics that are the root of a mean over the rows.
local ROOTS = {rmse = true}

-- A rank's metrics cover its own rows. The mean, weighted by rows, is the same on all ranks, so all ranks stop in the
-- same round. `sets`: the data of each item.
local function mean_of_ranks(list, sets)
  if network.num_machines() == 1 or #list == 0 then return list end
  local torch, sums, count = require 'torch', {}, #list
  for i, item in ipairs(list) do
    local weight, value = sets[i]:_total_weight(), item[3]
    sums[i], sums[count + i] = (ROOTS[item[2]] and value ^ 2 or value) * weight, weight
  end
  local totals = torch.tensor(sums, {dtype = 'float64'})
  torch.distributed.all_reduce(totals)
  local values = totals:narrow(0, 0, count):div(totals:narrow(0, count, count)):tolist()
  for i, item in ipairs(list) do item[3] = ROOTS[item[2]] and math.sqrt(values[i]) or values[i] end
  return list
end

local function repeated(value, count)
  local out = {}
  for i = 1, count do out[i] = value end
  return out
end

-- Returns {data, metric, value, whether larger is better} of one data set; 0 is the training data.
function Booster:_eval(index, data_name, data, feval)
  local out, count = {}, number(self, 'LGBM_BoosterGetEvalCounts')
  if count > 0 then
    local names = library.names('lightgbm.train', 'LGBM_BoosterGetEvalNames', self._handle, count)
    local values, size = ffi.new('double[?]', count), ffi.new 'int[1]'
    library.call('lightgbm.train', 'LGBM_BoosterGetEval', self._handle, index, size, values)
    for i = 1, size[0] do out[i] = {data_name, names[i], values[i - 1], is_higher_better(names[i])} end
  end
  if feval then
    local name, value, is_higher = feval(self:_inner_predict(index), data)
    if type(name) ~= 'string' or not tonumber(value) then
      errors.raise('argument', ('feval returned %s and %s, expected a name, a number, and whether more is better'):format(
        type(name), type(value)))
    end
    out[#out + 1] = {data_name, name, value, is_higher or false}
  end
  return out
end

---Returns the metrics of the training data. With several ranks they are the mean over all their rows.
---@param feval? fun(preds: torch.Tensor, data: lightgbm.Dataset): string, number, boolean
---@return table[] list of {data, metric, value, whether larger is better}
function Booster:eval_train(feval)
  local list = self:_eval(0, 'training', self._train_set, feval)
  return mean_of_ranks(list, repeated(self._train_set, #list))
end

---Returns the metrics of the validation sets. With several ranks they are the mean over all their rows.
---@param feval? fun(preds: torch.Tensor, data: lightgbm.Dataset): string, number, boolean
---@return table[] list of {data, metric, value, whether larger is better}
function Booster:eval_valid(feval)
  local out, sets = {}, {}
  for i, data in ipairs(self._valid_sets) do
    for _, item in ipairs(self:_eval(i, self._names[i], data, feval)) do out[#out + 1], sets[#out + 1] = item, data end
  end
  return mean_of_ranks(out, sets)
end

local PREDICT_OPTIONS = {'start_iteration', 'num_iteration', 'raw_score', 'pred_leaf', 'pred_contrib'}

-- Returns how many rounds are used: all, or up to the best one.
local function iterations_of(self, given)
  if given then return given end
  return self.best_iteration > 0 and self.best_iteration or -1
end

function Booster:_predict_matrix(rows, options)
  local kind = options.raw_score and 1 or options.pred_leaf and 2 or options.pred_contrib and 3 or 0
  local first, count = options.start_iteration or 0, iterations_of(self, options.num_iteration)
  local size = ffi.new 'int64_t[1]'
  library.call('predict', 'LGBM_BoosterCalcNumPredict', self._handle, rows.rows, kind, first, count, size)
  local out = require('torch').empty({tonumber(size[0])}, {dtype = 'float64'})
  library.call('predict', 'LGBM_BoosterPredictForMat', self._handle, ffi.cast('const void *', rows.tensor:data_ptr()),
    rows.type, rows.rows, rows.columns, rows.is_row_major, kind, first, count,
    ('num_threads=%d'):format(require('torch').get_num_threads()), size, ffi.cast('double *', out:data_ptr()))
  local width = rows.rows > 0 and out:numel() / rows.rows or 1
  return width > 1 and out:view(rows.rows, width) or out
end

---Returns the model's predictions. They use the rounds up to best_iteration if early stopping has set it.
---@param data torch.Tensor|table<string, torch.Tensor|any[]> (rows, features), or a table column → values. Of a table,
---  the columns are used whose names the model knows
---@param options? {start_iteration: integer, num_iteration: integer, raw_score: boolean, pred_leaf: boolean,
---  pred_contrib: boolean} num_iteration: -1 for all rounds; raw_score: returns scores before the objective's
---  transformation; pred_leaf: returns the leaf of each tree; pred_contrib: returns SHAP values
---@return torch.Tensor float64: (rows) or (rows, classes)
function Booster:predict(data, options)
  options = args.options(options, PREDICT_OPTIONS, 'predict')
  if class.is(data, Dataset) then
    errors.raise('argument', 'predict: a Dataset holds bins alone: pass the tensor, or the table of columns')
  end
  local rows = matrix.of('predict', data, {}, not array.is_tensor(data) and self:feature_name() or nil)
  if rows.columns ~= self:num_feature() then
    errors.raise('argument', ('predict: the data have %d features, the model %d'):format(rows.columns, self:num_feature()))
  end
  return self:_predict_matrix(rows, options)
end

local IMPORTANCE = {split = 0, gain = 1}

local function importance_of(who, name)
  return IMPORTANCE[args.one_of(who .. ': importance_type', name or 'split', {'gain', 'split'})]
end

local SAVE_OPTIONS = {'num_iteration', 'start_iteration', 'importance_type'}

---Writes the model as text, which Python's lightgbm can read.
---@param filename string
---@param options? {num_iteration: integer, start_iteration: integer, importance_type: string}
---@return lightgbm.Booster self
function Booster:save_model(filename, options)
  options = args.options(options, SAVE_OPTIONS, 'save_model')
  library.call('save_model', 'LGBM_BoosterSaveModel', self._handle, options.start_iteration or 0,
    iterations_of(self, options.num_iteration), importance_of('save_model', options.importance_type), filename)
  return self
end

---@param options? {num_iteration: integer, start_iteration: integer, importance_type: string}
---@return string the text that save_model writes
function Booster:model_to_string(options)
  options = args.options(options, SAVE_OPTIONS, 'model_to_string')
  return library.text('model_to_string', 'LGBM_BoosterSaveModelToString', self._handle, options.start_iteration or 0,
    iterations_of(self, options.num_iteration), importance_of('model_to_string', options.importance_type))
end

---@param options? {num_iteration: integer, start_iteration: integer, importance_type: string}
---@return table model the trees as plain data
function Booster:dump_model(options)
  options = args.options(options, SAVE_OPTIONS, 'dump_model')
  return require('base._system').from_json(library.text('dump_model', 'LGBM_BoosterDumpModel', self._handle,
    options.start_iteration or 0, iterations_of(self, options.num_iteration),
    importance_of('dump_model', options.importance_type)))
end

---Returns the importance of each feature.
---@param options? {importance_type: string, iteration: integer} 'split' (default): the number of its splits; 'gain':
---  the sum of their gains
---@return torch.Tensor float64, a number for each feature
function Booster:feature_importance(options)
  options = args.options(options, {'importance_type', 'iteration'}, 'feature_importance')
  local out = require('torch').empty({self:num_feature()}, {dtype = 'float64'})
  library.call('feature_importance', 'LGBM_BoosterFeatureImportance', self._handle, iterations_of(self, options.iteration),
    importance_of('feature_importance', options.importance_type), ffi.cast('double *', out:data_ptr()))
  return out
end

---@return string[]
function Booster:feature_name()
  return library.names('feature_name', 'LGBM_BoosterGetFeatureNames', self._handle, self:num_feature())
end

---@return integer
function Booster:num_feature() return number(self, 'LGBM_BoosterGetNumFeature') end

---@return integer trees each round makes one tree for each class
function Booster:num_trees() return number(self, 'LGBM_BoosterNumberOfTotalModel') end

---@return integer
function Booster:num_model_per_iteration() return number(self, 'LGBM_BoosterNumModelPerIteration') end

---@return integer rounds
function Booster:current_iteration() return number(self, 'LGBM_BoosterGetCurrentIteration') end

-- A Booster is sent to other ranks and threads as its trees.
function Booster:__pack()
  return 'lightgbm.booster', '_unpack', {text = self:model_to_string {num_iteration = -1}, best = self.best_iteration}
end

-- Rebuilds a received Booster.
function Booster._unpack(state)
  local out = Booster {model_str = state.text}
  out.best_iteration = state.best
  return out
end

return Booster
