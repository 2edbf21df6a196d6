-- lightgbm/dataset.lua: Dataset: the library's own form of the data.

local args = require 'base.args'
local array = require 'xgboost.array'
local class = require 'base.class'
local columns = require 'xgboost.columns'
local data_iter = require 'xgboost.data_iter'
local errors = require 'base.errors'
local ffi = require 'ffi'
local library = require 'lightgbm.library'
local matrix = require 'lightgbm.matrix'
local network = require 'lightgbm.network'
local parameters = require 'lightgbm.parameters'
local shared_bins = require 'lightgbm.shared_bins'

local WHO = 'lightgbm.Dataset'
local FIELDS = {'label', 'weight', 'init_score', 'group'}
local COLUMNS = {'label', 'weight', 'init_score'}
local OPTIONS = {'label', 'reference', 'weight', 'group', 'init_score', 'feature_name', 'categorical_feature', 'params'}
-- Field → the library's type number, and the dtype.
local TYPES = {label = {0, 'float32'}, weight = {0, 'float32'}, init_score = {1, 'float64'}, group = {2, 'int32'}}

---The data of LightGBM, with labels and other values of the rows. Python equivalent: lightgbm.Dataset.
---
---`data` is a tensor (rows, features), a table column → values, in which the names of columns may stand for label and
---weight, or a dataset of rtrain.data or a rank's part of one, which is read into memory. NaN is a missing value. The
---library makes its bins when the training begins.
---
---Arguments: data, label, {reference, weight, group, init_score, feature_name, categorical_feature, params}. label may
---also be one of the options. reference: for a validation set, the Dataset of the training. feature_name: names of the
---features; for a table, the columns that are features, in this order. categorical_feature: names or 0-based numbers of
---the features whose values are categories 0, 1, …. params: parameters of the bins, such as max_bin.
---
---```lua
---local lightgbm, torch = require 'lightgbm', require 'torch'
---local x = torch.randn(100, 3)
---local data = lightgbm.Dataset(x, x:select(1, 0):gt(0), {feature_name = {'a', 'b', 'c'}})
---assert(data:num_data() == 100 and data:num_feature() == 3)
---```
---@class lightgbm.Dataset
---@overload fun(data: torch.Tensor|table, label?: torch.Tensor|number[]|table, options?: table): lightgbm.Dataset
local Dataset = class('Dataset')

---@param data torch.Tensor|table|rtrain.data.DataIterator|rtrain.data.Dataset
---@param label? torch.Tensor|number[]|table the labels, or the options
---@param options? table
function Dataset:init(data, label, options)
  if label == nil or args.is_keywords(label) then
    options = args.options(options or label, OPTIONS, WHO)
    label = options.label
  else
    options = args.options(options, OPTIONS, WHO)
  end
  if options.reference ~= nil and not class.is(options.reference, Dataset) then
    errors.raise('argument', ('%s: reference is a %s, expected a Dataset'):format(WHO, type(options.reference)))
  end
  self.params, self._data, self._options = options.params or {}, data, options
  self._meta = {label = label, weight = options.weight, init_score = options.init_score, group = options.group}
  self._reference = options.reference
end

---Returns a Dataset for validation, with the bins of this one.
---@param data torch.Tensor|table
---@param label? torch.Tensor|number[]|table
---@param options? table
---@return lightgbm.Dataset
function Dataset:create_valid(data, label, options)
  local given = {reference = self}
  if args.is_keywords(label) then label, options = nil, label end
  for name, value in next, args.options(options, OPTIONS, 'create_valid') do given[name] = value end
  given.label = label or given.label
  return Dataset(data, given)
end

-- Returns the rows, without the columns for labels and other fields.
local function resolved(self)
  local data, meta, left_out = self._data, {}, {}
  for name, value in next, self._meta do meta[name] = value end
  local wanted = self._options.feature_name
  if data_iter.is_dataset(data) then
    meta.feature_names = wanted
    data, meta = data_iter.gathered(WHO, data, meta, COLUMNS)
  elseif not array.is_tensor(data) and type(data) == 'table' then
    for _, field in ipairs(COLUMNS) do
      local name = meta[field]
      if type(name) == 'string' then
        left_out[#left_out + 1] = name
        meta[field] = columns.take(WHO, data, field, name)
      end
    end
  end
  return matrix.of(WHO, data, left_out, wanted), meta
end

local function categorical(self, names)
  local features = self._options.categorical_feature
  if features == nil then return nil end
  local out = {}
  for i, feature in ipairs(features) do
    local place = type(feature) == 'number' and feature
    for k, name in ipairs(names or {}) do
      if name == feature then place = k - 1 end
    end
    if not place then
      errors.raise('argument', ("%s: categorical_feature: there is no feature '%s'%s"):format(WHO, tostring(feature),
        errors.suggestion(tostring(feature), names or {})))
    end
    out[i] = place
  end
  return out
end

-- Returns the parameters on which a Dataset's bins depend.
local function all_params(self, given, names)
  local params = {}
  for name, value in next, given or {} do
    if type(value) ~= 'function' then params[name] = value end
  end
  for name, value in next, self.params do params[name] = value end
  params.categorical_feature = categorical(self, names) or params.categorical_feature
  if parameters.value(params, 'num_threads') == nil then params.num_threads = require('torch').get_num_threads() end
  if network.num_machines() > 1 then
    if parameters.value(params, 'linear_tree') == true then
      errors.raise('argument', WHO .. ': linear_tree is for one rank: the library has no such trees of several')
    end
    params.num_machines, params.pre_partition = network.num_machines(), true
    if parameters.value(params, 'tree_learner') == nil then params.tree_learner = 'data' end
  end
  return params
end

---Sets labels, weights, initial scores, or the sizes of the queries of a ranking.
---@param field string 'label', 'weight', 'init_score' or 'group'
---@param value torch.Tensor|number[]
function Dataset:set_field(field, value)
  args.one_of('set_field: field', field, FIELDS)
  self:construct()
  local kind = TYPES[field]
  local tensor = array.tensor(('%s: %s'):format(WHO, field), value):to(kind[2]):contiguous()
  if field ~= 'group' and tensor:size(0) ~= self:num_data() and field ~= 'init_score' then
    errors.raise('argument', ('%s: %s has %d values, the data have %d rows'):format(WHO, field, tensor:size(0),
      self:num_data()))
  end
  if field ~= 'group' and tensor:isfinite():logical_not():any():item() then
    errors.raise('argument', ('%s: %s holds NaN or an infinite value'):format(WHO, field))
  end
  if field == 'weight' then self._weight_sum = tensor:sum({dtype = 'float64'}):item() end
  library.call(WHO, 'LGBM_DatasetSetField', self._handle, field, ffi.cast('const void *', tensor:data_ptr()), tensor:numel(),
    kind[1])
end

local function set_names(self, names)
  if not names then return end
  if #names ~= self._num_feature then
    errors.raise('argument', ('%s: feature_name has %d entries, the data have %d features'):format(WHO, #names,
      self._num_feature))
  end
  library.call(WHO, 'LGBM_DatasetSetFeatureNames', self._handle, library.string_list(names), #names)
end

-- For a continued model, its predictions are the initial scores.
local function add_scores(self, rows, predictor)
  if not predictor then return end
  local scores = predictor:_predict_matrix(rows, {raw_score = true})
  if scores:dim() == 2 then scores = scores:t():contiguous() end
  self:set_field('init_score', scores:view(-1))
end

local function of_matrix(rows, text, reference)
  local handle = ffi.new 'rt_lgb_handle[1]'
  library.call(WHO, 'LGBM_DatasetCreateFromMat', ffi.cast('const void *', rows.tensor:data_ptr()), rows.type, rows.rows,
    rows.columns, rows.is_row_major, text, reference and reference._handle or nil, handle)
  return library.owned(handle, 'LGBM_DatasetFree')
end

---Makes the library's form of the data, once. Methods that need it call this.
---@param params? table<string, any> of the training
---@param predictor? lightgbm.Booster its predictions are the initial scores of the training
---@return lightgbm.Dataset self
function Dataset:construct(params, predictor)
  if self._handle then return self end
  local reference = self._reference and self._reference:construct(params)
  local rows, meta = resolved(self)
  local names = rows.names or self._options.feature_name
  local text = parameters.text(WHO, all_params(self, params, names))
  collectgarbage()  -- frees unused data sets, whose size Lua does not know
  local is_shared = not reference and network.num_machines() > 1
  self._handle = is_shared and shared_bins.dataset(WHO, rows, text) or of_matrix(rows, text, reference)
  self._num_feature = rows.columns
  self._parameters = text
  if not reference then set_names(self, names) end
  for _, field in ipairs(FIELDS) do
    if meta[field] ~= nil then self:set_field(field, meta[field]) end
  end
  add_scores(self, rows, predictor)
  self._label = meta.label
  self._data, self._meta = nil, nil
  return self
end

---@return torch.Tensor|number[]|nil
function Dataset:get_label()
  self:construct()
  return self._label and array.tensor('label', self._label)
end

---@return integer
function Dataset:num_data()
  self:construct()
  local out = ffi.new 'int32_t[1]'
  library.call('num_data', 'LGBM_DatasetGetNumData', self._handle, out)
  return out[0]
end

-- Returns the weight of its rows in a mean over several sets.
function Dataset:_total_weight() return self._weight_sum or self:num_data() end

---@return integer
function Dataset:num_feature()
  self:construct()
  local out = ffi.new 'int32_t[1]'
  library.call('num_feature', 'LGBM_DatasetGetNumFeature', self._handle, out)
  return out[0]
end

---Writes the bins to a file that the library's command line can read.
---@param filename string
function Dataset:save_binary(filename)
  library.call('save_binary', 'LGBM_DatasetSaveBinary', self:construct()._handle, filename)
end

return Dataset
