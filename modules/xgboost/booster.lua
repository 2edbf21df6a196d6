-- xgboost/booster.lua: Booster: the model.

local args = require 'base.args'
local array = require 'xgboost.array'
local class = require 'base.class'
local columns = require 'xgboost.columns'
local DMatrix = require('xgboost.dmatrix').DMatrix
local errors = require 'base.errors'
local ffi = require 'ffi'
local library = require 'xgboost.library'
local ordered = require 'base.ordered'
local parameters = require 'xgboost.parameters'

local to_json = require('base._system').to_json

---A model of XGBoost. xgboost.train makes one. Python equivalent: xgboost.Booster.
---
---Arguments: params, a table {name = value}; cache, a list of DMatrix whose predictions are kept during the training;
---model_file, a file, or another Booster, which is copied.
---
---Its fields: `best_iteration` and `best_score`, which early stopping sets, and `feature_names` and `feature_types`,
---which the script may set.
---
---```lua
---local torch, train, xgboost = require 'torch', require 'rtrain', require 'xgboost'
---local x = torch.arange(8):view(8, 1)
---local booster = xgboost.train({max_depth = 2}, xgboost.DMatrix(x, {label = x:view(-1)}), {num_boost_round = 20})
---train.tempdir(function(folder)
---  booster:save_model(folder .. '/model.json')
---  local loaded = xgboost.Booster()
---  loaded:load_model(folder .. '/model.json')
---  assert(loaded:num_boosted_rounds() == 20)
---  assert(torch.equal(loaded:inplace_predict(x), booster:inplace_predict(x)))
---end)
---```
---@class xgboost.Booster
---@overload fun(params?: table, cache?: xgboost.DMatrix[], model_file?: string|xgboost.Booster): xgboost.Booster
---@field best_iteration integer
---@field best_score number
---@field feature_names string[]|nil
---@field feature_types string[]|nil
local Booster = class('Booster')

-- Returns the name of the function that the script called, for messages.
local function who_of(self, name) return rawget(self, '_caller') or name end

local function out_handle() return ffi.new 'rt_xgb_handle[1]' end

local function check_matrix(who, value)
  if not class.is(value, DMatrix) then
    errors.raise('argument', ('%s: expected a DMatrix, got a %s'):format(who, (class.of(value) or {}).__name or type(value)))
  end
end

local function own(self, handle) self._handle = library.owned(handle, 'XGBoosterFree') end

local function copy_of(self, other)
  local size, bytes = ffi.new 'rt_xgb_size[1]', ffi.new 'const char *[1]'
  library.call('xgboost.Booster', 'XGBoosterSerializeToBuffer', other._handle, size, bytes)
  library.call('xgboost.Booster', 'XGBoosterUnserializeFromBuffer', self._handle, bytes[0], size[0])
end

local function load_first(self, model)
  if model == nil then return end
  if class.is(model, Booster) then return copy_of(self, model) end
  if type(model) == 'string' then return self:load_model(model) end
  errors.raise('argument', ('xgboost.Booster: model_file is a %s, expected a file name or a Booster'):format(type(model)))
end

---@param params? table
---@param cache? xgboost.DMatrix[]
---@param model_file? string|xgboost.Booster
function Booster:init(params, cache, model_file)
  cache = cache or {}
  local handles, handle = ffi.new('rt_xgb_handle[?]', math.max(#cache, 1)), out_handle()
  for i, data in ipairs(cache) do
    check_matrix('xgboost.Booster: cache', data)
    handles[i - 1] = data._handle
  end
  library.call('xgboost.Booster', 'XGBoosterCreate', handles, #cache, handle)
  own(self, handle)
  for _, data in ipairs(cache) do self:_take_features('xgboost.Booster', data) end
  load_first(self, model_file)
  params = params or {}
  if params.nthread == nil and params.n_jobs == nil then
    self:set_param('nthread', require('torch').get_num_threads())
  end
  self:_set_params('xgboost.Booster', params)
  self:set_param('validate_parameters', true)
end

function Booster:_set_params(who, params)
  for _, item in ipairs(parameters.texts(who, params, self.feature_names)) do
    library.call(who, 'XGBoosterSetParam', self._handle, item[1], item[2])
  end
end

-- The first data set determines the names of the features; others must have the same names.
function Booster:_take_features(who, data)
  if data:num_row() == 0 then return end
  if self.feature_names == nil then self.feature_names = data.feature_names end
  if self.feature_types == nil then self.feature_types = data.feature_types end
  self:_check_features(who, data.feature_names)
end

local function missing_in(list, other)
  local index_of, out = require 'base.index_of', {}
  for _, name in ipairs(list) do
    if not index_of(other, name) then out[#out + 1] = name end
  end
  return table.concat(out, ', ')
end

function Booster:_check_features(who, names)
  local own_names = self.feature_names
  if own_names == nil then return end
  if names == nil then
    errors.raise('argument', ('%s: the data have no feature names, the model was trained with: %s'):format(who,
      table.concat(own_names, ', ')))
  end
  if table.concat(own_names, '\n') == table.concat(names, '\n') then return end
  local lacks, extra = missing_in(own_names, names), missing_in(names, own_names)
  local how = lacks == '' and extra == '' and 'they are the same in another order' or ''
  if lacks ~= '' then how = 'the data lack ' .. lacks end
  if extra ~= '' then how = (how ~= '' and how .. '; ' or '') .. 'the model does not know ' .. extra end
  errors.raise('argument', ('%s: the features are not those of the model: %s'):format(who, how))
end

---Sets parameters: `set_param('eta', 0.1)` or `set_param {eta = 0.1}`.
---@param params string|table<string, any>
---@param value? any
function Booster:set_param(params, value)
  if type(params) == 'string' then params = {[params] = value} end
  self:_set_params('set_param', params)
end

---Runs one round of boosting, on all ranks. xgboost.train calls it.
---@param dtrain xgboost.DMatrix
---@param iteration integer
---@param fobj? fun(predt: torch.Tensor, dtrain: xgboost.DMatrix): torch.Tensor, torch.Tensor a custom objective:
---  returns gradients and hessians, of the shape of the margins
function Booster:update(dtrain, iteration, fobj)
  check_matrix('update', dtrain)
  self:_take_features(who_of(self, 'update'), dtrain)
  if fobj == nil then
    return library.call(who_of(self, 'update'), 'XGBoosterUpdateOneIter', self._handle, iteration, dtrain._handle)
  end
  self:boost(dtrain, iteration, fobj(self:predict(dtrain, {output_margin = true, training = true}), dtrain))
end

local function gradients(name, value, num_rows)
  local tensor = array.tensor('boost: ' .. name, value)
  if tensor:dim() == 1 then tensor = tensor:view(-1, 1) end
  if tensor:size(0) ~= num_rows then
    errors.raise('argument', ('boost: %s has %d rows, the data have %d'):format(name, tensor:size(0), num_rows))
  end
  return tensor
end

---Runs one round of boosting with given gradients.
---@param dtrain xgboost.DMatrix
---@param iteration integer
---@param grad torch.Tensor (rows) or (rows, outputs)
---@param hess torch.Tensor
function Booster:boost(dtrain, iteration, grad, hess)
  check_matrix('boost', dtrain)
  self:_take_features('boost', dtrain)
  local rows = dtrain:num_row()
  grad, hess = gradients('grad', grad, rows), gradients('hess', hess, rows)
  library.call('boost', 'XGBoosterTrainOneIter', self._handle, dtrain._handle, iteration, array.interface(grad),
    array.interface(hess))
end

-- Checks {{dmatrix, 'train'}, …}.
local function check_evals(who, evals)
  for i, item in ipairs(evals) do
    if type(item) ~= 'table' or type(item[2]) ~= 'string' then
      errors.raise('argument', ("%s: evals[%d] is not {DMatrix, 'name'}"):format(who, i))
    end
    check_matrix(('%s: evals[%d]'):format(who, i), item[1])
    if item[2]:find '-' then
      errors.raise('argument', ("%s: evals[%d]: the name '%s' holds a '-'"):format(who, i, item[2]))
    end
  end
end

---Returns the metrics of some data, as text: '[0]\ttrain-rmse:0.5'.
---@param evals table[] {{dmatrix, 'train'}, …}
---@param iteration? integer
---@param feval? fun(predt: torch.Tensor, data: xgboost.DMatrix): string, number a custom metric
---@param output_margin? boolean whether feval gets margins instead of predictions (default true)
---@return string
function Booster:eval_set(evals, iteration, feval, output_margin)
  check_evals('eval_set', evals)
  local count = math.max(#evals, 1)
  local handles, names, out = ffi.new('rt_xgb_handle[?]', count), {}, ffi.new 'const char *[1]'
  for i, item in ipairs(evals) do
    self:_take_features(who_of(self, 'eval_set'), item[1])
    handles[i - 1], names[i] = item[1]._handle, item[2]
  end
  library.call(who_of(self, 'eval_set'), 'XGBoosterEvalOneIter', self._handle, iteration or 0, handles,
    library.string_list(names), #evals, out)
  local text = ffi.string(out[0])
  for _, item in ipairs(feval and evals or {}) do
    local name, value = feval(self:predict(item[1], {output_margin = output_margin ~= false}), item[1])
    if type(name) ~= 'string' or not tonumber(value) then
      errors.raise('argument', ('custom_metric returned %s and %s, expected its name and a number'):format(type(name),
        type(value)))
    end
    text = text .. ('\t%s-%s:%.17g'):format(item[2], name, value)
  end
  return text
end

---@param data xgboost.DMatrix
---@param name? string default 'eval'
---@param iteration? integer
---@return string
function Booster:eval(data, name, iteration) return self:eval_set({{data, name or 'eval'}}, iteration) end

local PREDICT_OPTIONS = {'output_margin', 'pred_leaf', 'pred_contribs', 'approx_contribs', 'pred_interactions',
                         'validate_features', 'training', 'iteration_range', 'strict_shape'}

-- Returns the library's number for the requested kind of prediction.
local function prediction_type(options)
  local found
  local function take(wanted, number)
    if not wanted then return end
    if found then errors.raise('argument', 'predict: one kind of prediction at a time') end
    found = number
  end
  take(options.output_margin, 1)
  take(options.pred_contribs, options.approx_contribs and 3 or 2)
  take(options.pred_interactions, options.approx_contribs and 5 or 4)
  take(options.pred_leaf, 6)
  return found or 0
end

local function prediction_config(kind, options, more)
  local range = options.iteration_range or {0, 0}
  return ('{"type":%d,"training":%s,"iteration_begin":%d,"iteration_end":%d,"strict_shape":%s%s}'):format(kind,
    tostring(options.training or false), range[1], range[2], tostring(options.strict_shape or false), more or '')
end

---Returns the model's predictions.
---@param data xgboost.DMatrix
---@param options? {output_margin: boolean, pred_leaf: boolean, pred_contribs: boolean, approx_contribs: boolean,
---  pred_interactions: boolean, validate_features: boolean, training: boolean, iteration_range: integer[],
---  strict_shape: boolean} output_margin: returns margins, before the objective's transformation; pred_leaf: returns
---  the leaf of each tree; pred_contribs: returns SHAP values; iteration_range: {first, last + 1} of the rounds, such
---  as {0, booster.best_iteration + 1}
---@return torch.Tensor float32
function Booster:predict(data, options)
  check_matrix('predict', data)
  options = args.options(options, PREDICT_OPTIONS, 'predict')
  if options.validate_features ~= false then self:_check_features('predict', data.feature_names) end
  local shape, dim, out = ffi.new 'const rt_xgb_size *[1]', ffi.new 'rt_xgb_size[1]', ffi.new 'const float *[1]'
  library.call('predict', 'XGBoosterPredictFromDMatrix', self._handle, data._handle,
    prediction_config(prediction_type(options), options), shape, dim, out)
  return array.copy(shape[0], dim[0], out[0])
end

local INPLACE_OPTIONS = {'iteration_range', 'predict_type', 'missing', 'validate_features', 'strict_shape'}

---Returns predictions without a DMatrix.
---@param data torch.Tensor|table<string, torch.Tensor|any[]> (rows, features), or a table column → values. Of a table,
---  the columns are used whose names the model knows
---@param options? {iteration_range: integer[], predict_type: string, missing: number, validate_features: boolean,
---  strict_shape: boolean} predict_type: 'value' or 'margin'
---@return torch.Tensor float32
function Booster:inplace_predict(data, options)
  options = args.options(options, INPLACE_OPTIONS, 'inplace_predict')
  local kind = args.one_of('inplace_predict: predict_type', options.predict_type or 'value', {'value', 'margin'})
  local missing = options.missing and ('%.17g'):format(options.missing) or 'NaN'
  local config = prediction_config(kind == 'margin' and 1 or 0, options, (',"missing":%s,"cache_id":0'):format(missing))
  local shape, dim, out = ffi.new 'const rt_xgb_size *[1]', ffi.new 'rt_xgb_size[1]', ffi.new 'const float *[1]'
  if array.is_tensor(data) then
    local matrix = array.tensor('inplace_predict: data', data)
    library.call('inplace_predict', 'XGBoosterPredictFromDense', self._handle, array.interface(matrix), config, nil, shape,
      dim, out)
  else
    local features = columns.features('inplace_predict', data, {}, self.feature_names)
    library.call('inplace_predict', 'XGBoosterPredictFromColumnar', self._handle, columns.interface(features.tensors), config,
      nil, shape, dim, out)
  end
  return array.copy(shape[0], dim[0], out[0])
end

---Writes the model: a name that ends in .json as JSON, else as UBJSON. Python's xgboost reads both.
---@param fname string
function Booster:save_model(fname)
  if type(fname) ~= 'string' then
    errors.raise('argument', ('save_model: fname is a %s, expected a string'):format(type(fname)))
  end
  library.call('save_model', 'XGBoosterSaveModel', self._handle, fname)
end

---Returns the bytes of the model.
---@param raw_format? 'ubj'|'json' default 'ubj'
---@return string
function Booster:save_raw(raw_format)
  raw_format = args.one_of('save_raw: raw_format', raw_format or 'ubj', {'json', 'ubj'})
  local size, bytes = ffi.new 'rt_xgb_size[1]', ffi.new 'const char *[1]'
  library.call('save_raw', 'XGBoosterSaveModelToBuffer', self._handle, to_json {format = raw_format}, size, bytes)
  return ffi.string(bytes[0], tonumber(size[0]))
end

-- Recognizes a model by its first bytes: '{"' for JSON, '{L' for UBJSON. No file name begins so.
local function is_model(text) return text:sub(1, 1) == '{' and #text > 64 end

---Reads a model that save_model or Python's xgboost has written, or bytes that save_raw has returned.
---@param fname string
function Booster:load_model(fname)
  if type(fname) ~= 'string' then
    errors.raise('argument', ('load_model: expected a file name or the bytes of a model, got a %s'):format(type(fname)))
  end
  if is_model(fname) then
    return library.call('load_model', 'XGBoosterLoadModelFromBuffer', self._handle, fname, #fname)
  end
  if require('base._system').path_kind(fname) ~= 'file' then
    errors.raise('argument', ('load_model: there is no file %s'):format(fname))
  end
  library.call('load_model', 'XGBoosterLoadModel', self._handle, fname)
end

---@return string json the parameters of the library's parts
function Booster:save_config()
  local size, text = ffi.new 'rt_xgb_size[1]', ffi.new 'const char *[1]'
  library.call('save_config', 'XGBoosterSaveJsonConfig', self._handle, size, text)
  return ffi.string(text[0], tonumber(size[0]))
end

---@param config string a result of save_config
function Booster:load_config(config) library.call('load_config', 'XGBoosterLoadJsonConfig', self._handle, config) end

---@return xgboost.Booster another one with the same trees and parameters
function Booster:copy() return Booster(nil, nil, self) end

---Frees the memory that only the training needs.
---@return xgboost.Booster self
function Booster:reset()
  library.call('reset', 'XGBoosterReset', self._handle)
  return self
end

---Returns a Booster of the rounds `first`, `first + step`, … before `last`: Python's booster[first:last:step].
---@param first integer 0-based
---@param last integer
---@param step? integer default 1
---@return xgboost.Booster
function Booster:slice(first, last, step)
  local handle = out_handle()
  library.call('slice', 'XGBoosterSlice', self._handle, first, last, step or 1, handle)
  local out = Booster.__new(Booster)
  own(out, handle)
  return out
end

---@return integer
function Booster:num_boosted_rounds()
  local out = ffi.new 'int[1]'
  library.call(who_of(self, 'num_boosted_rounds'), 'XGBoosterBoostedRounds', self._handle, out)
  return out[0]
end

---@return integer
function Booster:num_features()
  local out = ffi.new 'rt_xgb_size[1]'
  library.call('num_features', 'XGBoosterGetNumFeature', self._handle, out)
  return tonumber(out[0])
end

---Returns an attribute of the model, a text that is saved with it.
---@param key string
---@return string? value nil if there is no such attribute
function Booster:attr(key)
  local out, found = ffi.new 'const char *[1]', ffi.new 'int[1]'
  library.call('attr', 'XGBoosterGetAttr', self._handle, key, out, found)
  return found[0] ~= 0 and ffi.string(out[0]) or nil
end

---@return table<string, string>
function Booster:attributes()
  local size, list, out = ffi.new 'rt_xgb_size[1]', ffi.new 'const char **[1]', {}
  library.call('attributes', 'XGBoosterGetAttrNames', self._handle, size, list)
  for _, name in ipairs(library.strings(list[0], size[0])) do out[name] = self:attr(name) end
  return out
end

---@param attributes table<string, any> false removes an attribute
function Booster:set_attr(attributes)
  for _, key in ipairs(ordered.keys_of(attributes)) do
    local value = attributes[key]
    library.call('set_attr', 'XGBoosterSetAttr', self._handle, key, value ~= false and tostring(value) or nil)
  end
end

---Returns the trees as texts, one for each tree.
---@param options? {fmap: string, with_stats: boolean, dump_format: string} dump_format: 'text', 'json' or 'dot'
---@return string[]
function Booster:get_dump(options)
  options = args.options(options, {'fmap', 'with_stats', 'dump_format'}, 'get_dump')
  local format = args.one_of('get_dump: dump_format', options.dump_format or 'text', {'dot', 'json', 'text'})
  local size, list = ffi.new 'rt_xgb_size[1]', ffi.new 'const char **[1]'
  library.call('get_dump', 'XGBoosterDumpModelEx', self._handle, options.fmap or '', options.with_stats and 1 or 0, format,
    size, list)
  return library.strings(list[0], size[0])
end

local IMPORTANCE = {'cover', 'gain', 'total_cover', 'total_gain', 'weight'}

---Returns the importance of each feature that the trees use.
---@param options? {fmap: string, importance_type: string} 'weight' (default): the number of its splits; 'gain',
---  'cover', 'total_gain', 'total_cover'
---@return table<string, number> scores an ordered map
function Booster:get_score(options)
  options = args.options(options, {'fmap', 'importance_type'}, 'get_score')
  local kind = args.one_of('get_score: importance_type', options.importance_type or 'weight', IMPORTANCE)
  local num_names, names = ffi.new 'rt_xgb_size[1]', ffi.new 'const char **[1]'
  local shape, dim, scores = ffi.new 'const rt_xgb_size *[1]', ffi.new 'rt_xgb_size[1]', ffi.new 'const float *[1]'
  library.call('get_score', 'XGBoosterFeatureScore', self._handle,
    to_json {importance_type = kind, feature_map = options.fmap or ''}, num_names, names, dim, shape, scores)
  local values, out = array.copy(shape[0], dim[0], scores[0]):tolist(), ordered.new()
  for i, name in ipairs(library.strings(names[0], num_names[0])) do out[name] = values[i] end
  return out
end

---@return table<string, number> get_score with importance_type 'weight'
function Booster:get_fscore() return self:get_score() end

local function get_strings(self, field)
  local size, list = ffi.new 'rt_xgb_size[1]', ffi.new 'const char **[1]'
  library.call('feature_names', 'XGBoosterGetStrFeatureInfo', self._handle, field, size, list)
  local out = library.strings(list[0], size[0])
  return #out > 0 and out or nil
end

local function set_strings(self, field, list)
  list = list or {}
  library.call('feature_names', 'XGBoosterSetStrFeatureInfo', self._handle, field, library.string_list(list), #list)
end

local function early_stopping_attribute(self, key)
  local value = self:attr(key)
  if value then return tonumber(value) end
  errors.raise('argument', ('Booster: %s is there only after early stopping (early_stopping_rounds)'):format(key))
end

local GETTERS = {
  feature_names = function(self) return get_strings(self, 'feature_name') end,
  feature_types = function(self) return get_strings(self, 'feature_type') end,
  best_iteration = function(self) return early_stopping_attribute(self, 'best_iteration') end,
  best_score = function(self) return early_stopping_attribute(self, 'best_score') end,
}

local SETTERS = {
  feature_names = function(self, value) set_strings(self, 'feature_name', value) end,
  feature_types = function(self, value) set_strings(self, 'feature_type', value) end,
  best_iteration = function(self, value) self:set_attr {best_iteration = value} end,
  best_score = function(self, value) self:set_attr {best_score = value} end,
}

function Booster:__index(key)
  local get = GETTERS[key]
  if get then return get(self) end
  return class.of(self)[key]
end

function Booster:__newindex(key, value)
  local set = SETTERS[key]
  if set then return set(self, value) end
  rawset(self, key, value)
end

-- A Booster is sent to other ranks and threads as its trees and parameters.
function Booster:__pack()
  local size, bytes = ffi.new 'rt_xgb_size[1]', ffi.new 'const char *[1]'
  library.call('xgboost.Booster', 'XGBoosterSerializeToBuffer', self._handle, size, bytes)
  return 'xgboost.booster', '_unpack', ffi.string(bytes[0], tonumber(size[0]))
end

-- Rebuilds a received Booster.
function Booster._unpack(bytes)
  local out = Booster()
  library.call('xgboost.Booster', 'XGBoosterUnserializeFromBuffer', out._handle, bytes, #bytes)
  return out
end

---Raises an error unless every item of the list is a {DMatrix, 'name'}.
---@param who string
---@param evals table
function Booster._check_evals(who, evals) check_evals(who, evals) end

return Booster
