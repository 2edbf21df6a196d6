-- xgboost/dmatrix.lua: DMatrix, QuantileDMatrix and ExtMemQuantileDMatrix: the library's own form of the data.

local args = require 'base.args'
local array = require 'xgboost.array'
local class = require 'base.class'
local columns = require 'xgboost.columns'
local data_iter = require 'xgboost.data_iter'
local errors = require 'base.errors'
local ffi = require 'ffi'
local library = require 'xgboost.library'

local INFO = {'label', 'weight', 'base_margin', 'group', 'qid', 'label_lower_bound', 'label_upper_bound', 'feature_weights'}
local OPTIONS = {'missing', 'nthread', 'feature_names', 'feature_types', 'enable_categorical', 'silent', unpack(INFO)}
local QUANTILE_OPTIONS = {'max_bin', 'ref', 'max_quantile_batches', unpack(OPTIONS)}
local EXT_MEM_OPTIONS = {'cache_prefix', unpack(QUANTILE_OPTIONS)}

---The data of XGBoost, with labels and other values of the rows. Python equivalent: xgboost.DMatrix.
---
---`data` is a tensor (rows, features), a table column → values, in which the names of columns may stand for label and
---weight, or a dataset of rtrain.data or a rank's part of one, which is read into memory. NaN is a missing value. A
---tensor's memory is read in place; the library makes its own form of the numbers.
---
---Arguments: data, label, {weight, base_margin, group, qid, label_lower_bound, label_upper_bound, feature_weights,
---missing, nthread, feature_names, feature_types, enable_categorical, silent}. feature_names: for a table, the columns
---that are features, in this order (default: all others). feature_types: 'q' numbers, 'i' integers, 'c' categories 0,
---1, … for each feature. label may also be one of the options. missing: a number that represents a missing value
---(default NaN). nthread: default: the number of threads that the run gives this rank. enable_categorical and silent
---are accepted and have no effect.
---
---The script may set the fields `feature_names` and `feature_types`.
---
---```lua
---local torch, xgboost = require 'torch', require 'xgboost'
---local x = torch.tensor {{1, 0}, {2, 1}, {3, 0}, {4, 1}}
---local data = xgboost.DMatrix(x, {label = {0, 0, 1, 1}, feature_names = {'height', 'side'}})
---assert(data:num_row() == 4 and data:num_col() == 2 and data.feature_names[1] == 'height')
---assert(data:get_label():sum():item() == 2)
---local table_of_columns = xgboost.DMatrix({height = x:select(1, 0), y = {0, 0, 1, 1}}, {label = 'y'})
---assert(table_of_columns:num_col() == 1)
---```
---@class xgboost.DMatrix
---@overload fun(data: torch.Tensor|table|string, label?: torch.Tensor|number[]|table, options?: table): xgboost.DMatrix
---@field feature_names string[]|nil
---@field feature_types string[]|nil
local DMatrix = class('DMatrix')

-- Returns the number of threads that the run gives this process; -1 means all of the machine.
local function threads_of(options)
  if options.nthread ~= nil then return options.nthread end
  return require('torch').get_num_threads()
end

local function who_of(self) return 'xgboost.' .. self.__name end

local function config_of(options, more)
  local missing = options.missing
  local fields = {('"missing":%s'):format((missing == nil or missing ~= missing) and 'NaN' or ('%.17g'):format(missing)),
                  ('"nthread":%d'):format(threads_of(options))}
  for _, field in ipairs(more or {}) do fields[#fields + 1] = field end
  return '{' .. table.concat(fields, ',') .. '}'
end

-- Takes ownership of the handle. Collects garbage first, to free unused matrices, whose size Lua does not know.
local function own(self, handle)
  collectgarbage()
  self._handle = library.owned(handle, 'XGDMatrixFree')
end

local function set_strings(self, handle, field, list)
  list = list or {}
  library.call(who_of(self), 'XGDMatrixSetStrFeatureInfo', handle, field, library.string_list(list), #list)
end

local function get_strings(self, field)
  local size, list = ffi.new 'rt_xgb_size[1]', ffi.new 'const char **[1]'
  library.call(who_of(self), 'XGDMatrixGetStrFeatureInfo', self._handle, field, size, list)
  local out = library.strings(list[0], size[0])
  return #out > 0 and out or nil
end

local function check_names(self, field, list)
  if type(list) ~= 'table' then
    errors.raise('argument', ('%s: %s is a %s, expected a list of strings'):format(who_of(self), field, type(list)))
  end
  for i, name in ipairs(list) do
    if type(name) ~= 'string' then
      errors.raise('argument', ('%s: %s[%d] is a %s, expected a string'):format(who_of(self), field, i, type(name)))
    end
    if field == 'feature_names' and name:find '[%[%]<]' then
      errors.raise('argument', ("%s: the feature name '%s' holds [, ] or <"):format(who_of(self), name))
    end
  end
end

local function check_count(self, field, count)
  local features = self:num_col()
  if count ~= features then
    errors.raise('argument', ('%s: %s has %d entries, the data have %d features'):format(who_of(self), field, count, features))
  end
end

-- Sets one of the fields in INFO on a matrix, or on the proxy of a batch.
local function set_one(self, handle, field, value, num_rows)
  local tensor = array.tensor(('%s: %s'):format(who_of(self), field), value)
  if num_rows and field ~= 'group' and field ~= 'feature_weights' and tensor:size(0) ~= num_rows then
    errors.raise('argument', ('%s: %s has %d values, the data have %d rows'):format(who_of(self), field, tensor:size(0),
      num_rows))
  end
  library.call(who_of(self), 'XGDMatrixSetInfoFromInterface', handle, field, array.interface(tensor))
end

local function set_info(self, handle, meta, num_rows)
  for _, field in ipairs(INFO) do
    if meta[field] ~= nil then set_one(self, handle, field, meta[field], num_rows) end
  end
end

local function meta_of(options)
  local meta = {}
  for _, field in ipairs(INFO) do meta[field] = options[field] end
  meta.feature_names, meta.feature_types = options.feature_names, options.feature_types
  return meta
end

-- `DMatrix(x, y)` means `DMatrix(x, {label = y})`, as in Python.
local function options_of(self, names, label, options)
  if label == nil or args.is_keywords(label) then return args.options(options or label, names, who_of(self)) end
  local given = {label = label}
  for name, value in next, args.options(options, names, who_of(self)) do given[name] = value end
  return given
end

local function from_file(self, path)
  local handle = ffi.new 'rt_xgb_handle[1]'
  library.call(who_of(self), 'XGDMatrixCreateFromURI', require('base._system').to_json {uri = path, silent = 1}, handle)
  own(self, handle)
end

local function create(self, data, options)
  local meta = meta_of(options)
  if data_iter.is_dataset(data) then
    data, meta = data_iter.gathered(who_of(self), data, meta)
  end
  meta.data = data
  local part = data_iter.resolve(who_of(self), meta)
  local handle = ffi.new 'rt_xgb_handle[1]'
  if part.matrix then
    library.call(who_of(self), 'XGDMatrixCreateFromDense', array.interface(part.matrix), config_of(options), handle)
  else
    library.call(who_of(self), 'XGDMatrixCreateFromColumnar', columns.interface(part.columns.tensors), config_of(options),
      handle)
  end
  own(self, handle)
  for _, field in ipairs {'group', 'feature_weights'} do part.meta[field] = options[field] end
  set_info(self, self._handle, part.meta, part.num_rows)
  return part
end

local function set_features(self, part, options)
  local names = part and part.columns and part.columns.names or options.feature_names
  if names then self.feature_names = names end
  if options.feature_types then self.feature_types = options.feature_types end
end

---@param data torch.Tensor|table|string a string is a file that the library reads: 'train.libsvm?format=libsvm'
---@param label? torch.Tensor|number[]|table the labels, or the options
---@param options? table
function DMatrix:init(data, label, options)
  options = options_of(self, OPTIONS, label, options)
  if type(data) == 'string' then
    from_file(self, data)
    set_info(self, self._handle, meta_of(options), self:num_row())
    return set_features(self, nil, options)
  end
  set_features(self, create(self, data, options), options)
end

-- Returns the library's callbacks: their errors are kept until the library has returned.
local function callbacks_of(self, iter, proxy)
  local state = {}
  local function input(batch)
    local part = data_iter.resolve(who_of(self), args.options(batch, {'data', unpack(OPTIONS)}, 'input_data'))
    state.held = part  -- the library reads the batch until it requests the next one
    if part.matrix then
      library.call(who_of(self), 'XGProxyDMatrixSetDataDense', proxy, array.interface(part.matrix))
    else
      library.call(who_of(self), 'XGProxyDMatrixSetDataColumnar', proxy, columns.interface(part.columns.tensors))
    end
    for _, field in ipairs {'group', 'feature_weights'} do part.meta[field] = batch[field] end
    set_info(self, proxy, part.meta, part.num_rows)
    local names = part.columns and part.columns.names or batch.feature_names
    if names then set_strings(self, proxy, 'feature_name', names) end
    if batch.feature_types then set_strings(self, proxy, 'feature_type', batch.feature_types) end
  end
  state.reset = ffi.cast('rt_xgb_reset *', library.callback(state, nil, function() iter:reset() end))
  state.next = ffi.cast('rt_xgb_next *', library.callback(state, 0, function() return iter:next(input) and 1 or 0 end))
  return state
end

-- Makes a matrix of an iterator's batches.
local function from_iter(self, create_fn, data, options, more)
  local iter = data_iter.of(who_of(self), data, meta_of(options))
  local proxy, handle = ffi.new 'rt_xgb_handle[1]', ffi.new 'rt_xgb_handle[1]'
  library.call(who_of(self), 'XGProxyDMatrixCreate', proxy)
  local owned_proxy = library.owned(proxy, 'XGDMatrixFree')
  local state = callbacks_of(self, iter, owned_proxy)
  local ref = options.ref and options.ref._handle or nil
  local ok, failure = xpcall(library.call, errors.wrap, who_of(self), create_fn, nil, owned_proxy, ref, state.reset,
    state.next, config_of(options, more), handle)
  state.reset:free()
  state.next:free()
  if state.error then error(state.error, 0) end
  if not ok then error(failure, 0) end
  own(self, handle)
end

local function check_ref(self, options)
  if options.ref ~= nil and not class.is(options.ref, DMatrix) then
    errors.raise('argument', ('%s: ref is a %s, expected the QuantileDMatrix that is trained on'):format(who_of(self),
      type(options.ref)))
  end
end

local function quantile_fields(options)
  local more = {}
  if options.max_bin then more[1] = ('"max_bin":%d'):format(options.max_bin) end
  if options.max_quantile_batches then more[#more + 1] = ('"max_quantile_blocks":%d'):format(options.max_quantile_batches) end
  return more
end

---@return integer rows
function DMatrix:num_row()
  local out = ffi.new 'rt_xgb_size[1]'
  library.call('num_row', 'XGDMatrixNumRow', self._handle, out)
  return tonumber(out[0])
end

---@return integer features
function DMatrix:num_col()
  local out = ffi.new 'rt_xgb_size[1]'
  library.call('num_col', 'XGDMatrixNumCol', self._handle, out)
  return tonumber(out[0])
end

---@return integer number of values that are not missing
function DMatrix:num_nonmissing()
  local out = ffi.new 'rt_xgb_size[1]'
  library.call('num_nonmissing', 'XGDMatrixNumNonMissing', self._handle, out)
  return tonumber(out[0])
end

---Sets labels, weights and other values of the rows.
---@param info {label: any, weight: any, base_margin: any, group: any, qid: any, label_lower_bound: any,
---  label_upper_bound: any, feature_weights: any, feature_names: string[], feature_types: string[]} tensors or lists
function DMatrix:set_info(info)
  args.options(info, {'feature_names', 'feature_types', unpack(INFO)}, 'set_info')
  set_info(self, self._handle, info, self:num_row())
  set_features(self, nil, info)
end

---@param label torch.Tensor|number[]
function DMatrix:set_label(label) set_one(self, self._handle, 'label', label, self:num_row()) end

---@param weight torch.Tensor|number[]
function DMatrix:set_weight(weight) set_one(self, self._handle, 'weight', weight, self:num_row()) end

---@param margin torch.Tensor|number[] the initial margins of the predictions
function DMatrix:set_base_margin(margin) set_one(self, self._handle, 'base_margin', margin, self:num_row()) end

---@param group torch.Tensor|number[] number of rows of each query of a ranking
function DMatrix:set_group(group) set_one(self, self._handle, 'group', group) end

---@param field string 'label', 'weight', 'base_margin', 'label_lower_bound', 'label_upper_bound' or 'feature_weights'
---@return torch.Tensor float32, one dimension
function DMatrix:get_float_info(field)
  local size, values = ffi.new 'rt_xgb_size[1]', ffi.new 'const float *[1]'
  library.call('get_float_info', 'XGDMatrixGetFloatInfo', self._handle, field, size, values)
  return array.copy(size, 1, values[0])
end

---@param field string 'group_ptr'
---@return integer[]
function DMatrix:get_uint_info(field)
  local size, values = ffi.new 'rt_xgb_size[1]', ffi.new 'const unsigned *[1]'
  library.call('get_uint_info', 'XGDMatrixGetUIntInfo', self._handle, field, size, values)
  local out = {}
  for i = 0, tonumber(size[0]) - 1 do out[i + 1] = tonumber(values[0][i]) end
  return out
end

---@return torch.Tensor float32
function DMatrix:get_label() return self:get_float_info 'label' end

---@return torch.Tensor float32
function DMatrix:get_weight() return self:get_float_info 'weight' end

---@return torch.Tensor float32
function DMatrix:get_base_margin() return self:get_float_info 'base_margin' end

---Returns some of the rows. A QuantileDMatrix has no rows to return.
---@param rindex integer[] 0-based
---@param options? {allow_groups: boolean}
---@return xgboost.DMatrix
function DMatrix:slice(rindex, options)
  options = args.options(options, {'allow_groups'}, 'slice')
  local rows, handle = ffi.new('int[?]', math.max(#rindex, 1)), ffi.new 'rt_xgb_handle[1]'
  for i, row in ipairs(rindex) do rows[i - 1] = row end
  library.call('slice', 'XGDMatrixSliceDMatrixEx', self._handle, rows, #rindex, handle, options.allow_groups and 1 or 0)
  local out = DMatrix.__new(DMatrix)
  own(out, handle)
  out.feature_names, out.feature_types = self.feature_names, self.feature_types
  return out
end

---Writes the data to a file that `DMatrix(path)` can read.
---@param fname string
function DMatrix:save_binary(fname) library.call('save_binary', 'XGDMatrixSaveBinary', self._handle, fname, 1) end

local GETTERS = {
  feature_names = function(self) return get_strings(self, 'feature_name') end,
  feature_types = function(self) return get_strings(self, 'feature_type') end,
}

function DMatrix:__index(key)
  local get = GETTERS[key]
  if get then return get(self) end
  return class.of(self)[key]
end

local SETTERS = {feature_names = 'feature_name', feature_types = 'feature_type'}

function DMatrix:__newindex(key, value)
  local field = SETTERS[key]
  if not field then return rawset(self, key, value) end
  if value ~= nil then
    check_names(self, key, value)
    check_count(self, key, #value)
  end
  set_strings(self, self._handle, field, value)
end

function DMatrix:__tostring() return ('%s(%d rows, %d features)'):format(self.__name, self:num_row(), self:num_col()) end

---A DMatrix for the method 'hist'. It holds a bin of one or two bytes for each value, instead of the value. It makes
---several passes over `data`: a tensor, a table, or batches, of which only one is in memory at a time: a dataset of
---rtrain.data, a rank's part of one (train.get_dataset_shard), or a DataIter. Python equivalent:
---xgboost.QuantileDMatrix.
---
---Arguments: data, label, and the options of DMatrix with {max_bin, ref, max_quantile_batches}. max_bin: 256, equal to that
---of the parameters. ref: for data to evaluate, the QuantileDMatrix of the training.
---
---```lua
---local data, xgboost = require 'rtrain.data', require 'xgboost'
---local rows = data.range(100):map(function(row) return {x = row.id, y = row.id % 2} end)
---local dtrain = xgboost.QuantileDMatrix(rows, {label = 'y', max_bin = 64})
---assert(dtrain:num_row() == 100 and dtrain.feature_names[1] == 'x')
---```
---@class xgboost.QuantileDMatrix: xgboost.DMatrix
---@overload fun(data: any, label?: torch.Tensor|number[]|table, options?: table): xgboost.QuantileDMatrix
local QuantileDMatrix = DMatrix:extend('QuantileDMatrix')

---@param data torch.Tensor|table|xgboost.DataIter|rtrain.data.DataIterator|rtrain.data.Dataset
---@param label? torch.Tensor|number[]|table the labels, or the options
---@param options? table
function QuantileDMatrix:init(data, label, options)
  options = options_of(self, QUANTILE_OPTIONS, label, options)
  check_ref(self, options)
  self._ref = options.ref
  from_iter(self, 'XGQuantileDMatrixCreateFromCallback', data, options, quantile_fields(options))
end

---A QuantileDMatrix whose bins are in files, for data that do not fit in memory. Python equivalent:
---xgboost.ExtMemQuantileDMatrix.
---
---Arguments: those of QuantileDMatrix, and cache_prefix, the prefix of the names of its files. They are removed when
---the matrix is freed.
---
---```lua
---local data, train, xgboost = require 'rtrain.data', require 'rtrain', require 'xgboost'
---train.tempdir(function(folder)
---  local rows = data.range(100):map(function(row) return {x = row.id, y = row.id % 2} end)
---  local dtrain = xgboost.ExtMemQuantileDMatrix(rows, {label = 'y', cache_prefix = folder .. '/cache'})
---  assert(dtrain:num_row() == 100)
---  dtrain = nil
---  collectgarbage()
---end)
---```
---@class xgboost.ExtMemQuantileDMatrix: xgboost.DMatrix
---@overload fun(data: any, options?: table): xgboost.ExtMemQuantileDMatrix
local ExtMemQuantileDMatrix = DMatrix:extend('ExtMemQuantileDMatrix')

---@param data xgboost.DataIter|rtrain.data.DataIterator|rtrain.data.Dataset
---@param options? table
function ExtMemQuantileDMatrix:init(data, options)
  options = args.options(options, EXT_MEM_OPTIONS, who_of(self))
  check_ref(self, options)
  if type(options.cache_prefix) ~= 'string' then
    errors.raise('argument', who_of(self) .. ": cache_prefix = 'folder/prefix' says where its files are")
  end
  self._ref = options.ref
  local more = quantile_fields(options)
  more[#more + 1] = '"cache_prefix":' .. require('base._system').to_json(options.cache_prefix)
  more[#more + 1] = '"on_host":false'
  from_iter(self, 'XGExtMemQuantileDMatrixCreateFromCallback', data, options, more)
end

return {DMatrix = DMatrix, QuantileDMatrix = QuantileDMatrix, ExtMemQuantileDMatrix = ExtMemQuantileDMatrix}
