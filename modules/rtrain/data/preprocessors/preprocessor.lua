-- rtrain/data/preprocessors/preprocessor.lua: Preprocessor: the base class: fit, transform, and how the state is saved.

local args = require 'base.args'
local Block = require 'rtrain.data.blocks.block'
local checks = require 'rtrain.data.dataset.checks'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local Preprocess = require 'rtrain.data.operators.preprocess'
local SelectColumns = require('rtrain.data.operators.columns').SelectColumns
local table_text = require 'base.table_text'
local warnings = require 'base.warnings'

local VERSION = 1

---Base of the preprocessors of rtrain.data.preprocessors. `fit` computes what a preprocessor needs to know of a dataset,
---in one pass; `transform` applies it to any dataset, lazily, and `transform_batch` to a batch.
---
---A class of your own extends it with `_fit(dataset)`, which sets `self.stats_` (or `_is_fittable = false`), and
---`_transform_numpy(batch)`, which gets and returns a table column → tensor or list; `_keeps_rows = true` says that each row
---becomes one row, so that the number of rows stays known. Ray equivalent: ray.data.preprocessor.Preprocessor.
---
---```lua
---local data = require 'rtrain.data'
---local Doubler = data.preprocessors.Preprocessor:extend('Doubler')
---Doubler._is_fittable = false
---function Doubler:_transform_numpy(batch)
---  batch.x = batch.x * 2
---  return batch
---end
---assert(Doubler():transform(data.from_items{{x = 3}}):take(1)[1].x == 6)
---```
---@class rtrain.data.preprocessors.Preprocessor
---@field stats_ table<string, any> what `fit` has computed, as 'mean(x)' → number
---@field columns? string[]
---@field output_columns? string[]
local Preprocessor = class('Preprocessor')

---Whether there is something to fit.
Preprocessor._is_fittable = true

---The fields that are saved in addition to the statistics.
Preprocessor._saved = {'columns', 'output_columns'}

---The fields with functions, which are not saved.
Preprocessor._functions = {}

---Whether each row becomes one row, which depends on it alone: true for the classes here.
Preprocessor._keeps_rows = false

Preprocessor.stats_ = ordered.new()

local function name_of(self) return class.of(self).__name end

-- Raises an error that begins with the class.
function Preprocessor:_refuse(...) errors.raise('argument', ('%s: %s'):format(name_of(self), (...):format(select(2, ...)))) end

-- Takes the parameters `columns` and `output_columns`.
function Preprocessor:_take_columns(a)
  local name = name_of(self)
  self.columns = checks.names(name .. ': columns', a.columns)
  if #self.columns == 0 then self:_refuse('columns: expected at least one name') end
  if a.output_columns == nil then
    self.output_columns = self.columns
    return
  end
  self.output_columns = checks.names(name .. ': output_columns', a.output_columns)
  if #self.output_columns ~= #self.columns then
    self:_refuse('output_columns: expected a name for each of the %d columns, got %d', #self.columns, #self.output_columns)
  end
end

---Returns the names of the columns that are read.
---@return string[]
function Preprocessor:get_input_columns() return self.columns or {} end

---Returns the names of the columns that are made.
---@return string[]
function Preprocessor:get_output_columns() return self.output_columns or {} end

-- Set of the names of the columns that are made.
function Preprocessor:_made_columns()
  local made = {}
  for _, name in ipairs(self:get_output_columns()) do made[name] = true end
  return made
end

-- Whether the types of the result depend on the values. `types`: column → type.
function Preprocessor:_needs_values() return rawget(class.of(self), '_transform_numpy') ~= nil end

-- Whether code of the user's runs in `_transform_block`.
function Preprocessor:_calls_user() return self._transform_numpy ~= nil end

-- Returns the block of the transformed rows.
function Preprocessor:_transform_block(block)
  if not self._transform_numpy then self:_refuse('a class of your own needs a method _transform_numpy(batch)') end
  local batch = self:_transform_numpy(block:to_batch())
  if type(batch) ~= 'table' then
    self:_refuse('_transform_numpy: expected a batch {column = tensor or list, …}, got a %s', type(batch))
  end
  return Block.from_batch(batch, block)
end

---Returns whether the preprocessor is fitted: 'FITTED', 'NOT_FITTED', 'NOT_FITTABLE' if there is nothing to fit,
---'PARTIALLY_FITTED' for a Chain of which some are.
---@return string
function Preprocessor:fit_status()
  if not self._is_fittable then return 'NOT_FITTABLE' end
  return self._fitted and 'FITTED' or 'NOT_FITTED'
end

---Returns whether `fit` has computed something.
---@return boolean
function Preprocessor:has_stats() return next(self.stats_) ~= nil end

-- Checks the names of the columns, if those of the dataset are known.
local function check_columns(self, dataset)
  local schema = dataset._plan:schema()
  local names = self:get_input_columns()
  if schema and #names > 0 then SelectColumns(names, name_of(self) .. ': fit'):schema_of(schema) end
end

---Computes what the preprocessor needs to know of a dataset. A second call replaces what an earlier one found.
---Ray equivalent: Preprocessor.fit.
---@param ds rtrain.data.Dataset
---@return rtrain.data.preprocessors.Preprocessor self
---Errors: 'argument' for a column that does not exist or holds values of another kind.
---
---```lua
---local data = require 'rtrain.data'
---local scaler = data.preprocessors.MinMaxScaler {columns = {'x'}}
---scaler:fit(data.from_items{{x = 2}, {x = 4}})
---assert(scaler.stats_['max(x)'] == 4 and scaler:fit_status() == 'FITTED')
---```
function Preprocessor:fit(ds)
  checks.dataset(name_of(self) .. ': fit', ds)
  local status = self:fit_status()
  if status == 'NOT_FITTABLE' then return self end
  if status ~= 'NOT_FITTED' then
    warnings.warn(('%s: fit: it has been fitted before: what it knew is replaced'):format(name_of(self)))
  end
  check_columns(self, ds)
  self.stats_ = self:_fit(ds) or self.stats_
  self._fitted = true
  return self
end

function Preprocessor:_fit() self:_refuse('a class of your own needs a method _fit(dataset), or _is_fittable = false') end

local function check_fitted(self, method)
  local status = self:fit_status()
  if status == 'FITTED' or status == 'NOT_FITTABLE' then return end
  errors.raise('user', ('%s: %s: call fit(dataset) before, or fit_transform(dataset)%s'):format(name_of(self), method,
    status == 'PARTIALLY_FITTED' and '; a part of the chain is not fitted' or ''))
end

Preprocessor._check_fitted = check_fitted

-- A dataset keeps what the preprocessor knew when `transform` was called.
local function frozen(self)
  local copy = {}
  for key, value in next, self do copy[key] = value end
  return setmetatable(copy, getmetatable(self))
end

local transform_signature = args.signature('transform', {'ds', {'batch_size'}, {'num_cpus'}, {'memory'}, {'concurrency'}})

---Returns a dataset of the transformed rows; they are computed when they are read. Arguments: ds; batch_size, num_cpus,
---memory and concurrency are accepted and change nothing: all operators share the threads of DataContext. Ray equivalent:
---Preprocessor.transform.
---@return rtrain.data.Dataset
---Errors: 'user' if it is not fitted; 'argument' as of `fit`.
---
---```lua
---local data = require 'rtrain.data'
---local scaler = data.preprocessors.MaxAbsScaler {columns = {'x'}, output_columns = {'scaled'}}
---scaler:fit(data.from_items{{x = -4}, {x = 2}})
---assert(scaler:transform(data.from_items{{x = 1}}):take(1)[1].scaled == 0.25)
---```
function Preprocessor:transform(...)
  local ds = checks.dataset(name_of(self) .. ': transform', transform_signature:bind(...).ds)
  check_fitted(self, 'transform')
  local operator, schema = Preprocess(frozen(self), name_of(self)), ds._plan:schema()
  if schema then operator:schema_of(schema) end
  return ds:_with(operator)
end

local both_signature = args.signature('fit_transform', {'ds', {'transform_batch_size'}, {'transform_num_cpus'},
                                                        {'transform_memory'}, {'transform_concurrency'}})

---Calls `fit` and `transform`. Arguments: ds; the options are accepted and change nothing. Ray equivalent:
---Preprocessor.fit_transform.
---@return rtrain.data.Dataset
---
---```lua
---local data = require 'rtrain.data'
---local encoder = data.preprocessors.OrdinalEncoder {columns = {'size'}}
---local rows = encoder:fit_transform(data.from_items{{size = 'S'}, {size = 'L'}}):take_all()
---assert(rows[1].size == 1 and rows[2].size == 0)
---```
function Preprocessor:fit_transform(...)
  local ds = both_signature:bind(...).ds
  self:fit(ds)
  return self:transform(ds)
end

---Returns the transformed rows of a batch: a table column → tensor (the first dimension is the rows) or list. Strings are
---lists, torch.none is null. The given table does not change. Ray equivalent: Preprocessor.transform_batch.
---@param batch table<string, torch.Tensor|any[]>
---@return table<string, torch.Tensor|any[]>
---Errors: as of `transform`.
---
---```lua
---local data = require 'rtrain.data'
---local scaler = data.preprocessors.MinMaxScaler {columns = {'x'}}
---scaler:fit(data.from_items{{x = 0}, {x = 10}})
---assert(scaler:transform_batch{x = {5}}.x:item() == 0.5)
---```
function Preprocessor:transform_batch(batch)
  check_fitted(self, 'transform_batch')
  if type(batch) ~= 'table' or class.of(batch) then
    self:_refuse('transform_batch: expected a table column → tensor or list, got a %s', type(batch))
  end
  return self:_transform_block(Block.from_batch(batch, nil, {default_dtype = 'number'})):to_batch()
end

-- Returns the fields with functions that the object has.
local function functions_of(self)
  local out = {}
  for _, field in ipairs(self._functions) do
    if self[field] ~= nil then out[#out + 1] = field end
  end
  return out
end

---Returns parameters and statistics as plain data, which torch.save writes. A preprocessor may be a part of train.state.
---Functions are not in it.
---@return table state
---
---```lua
---local data = require 'rtrain.data'
---local P = data.preprocessors
---local scaler = P.StandardScaler {columns = {'x'}}
---scaler:fit(data.from_items{{x = 1}, {x = 3}})
---local again = P.StandardScaler {columns = {'x'}}
---again:load_state_dict(scaler:state_dict())
---assert(again:transform_batch{x = {3}}.x:item() == 1)
---```
function Preprocessor:state_dict()
  local state = ordered.new{{'preprocessor', name_of(self)}, {'version', VERSION}}
  for _, field in ipairs(self._saved) do state[field] = self[field] end
  local functions = functions_of(self)
  if #functions > 0 then state.functions = functions end
  if self._is_fittable and self._fitted then state.stats = self.stats_ end
  return state
end

---Takes parameters and statistics of `state_dict`. Functions stay those of this object.
---@param state table
---Errors: 'checkpoint' for a state of another class or version.
function Preprocessor:load_state_dict(state)
  local name = name_of(self)
  if type(state) ~= 'table' or state.preprocessor ~= name then
    errors.raise('checkpoint', ('%s: load_state_dict: expected the state of a %s, got %s'):format(name, name,
      type(state) == 'table' and state.preprocessor and 'that of a ' .. tostring(state.preprocessor) or 'a ' .. type(state)))
  end
  if state.version ~= VERSION then
    errors.raise('checkpoint', ('%s: load_state_dict: the state has version %s, this rtrain reads %d'):format(name,
      tostring(state.version), VERSION))
  end
  for _, field in ipairs(self._saved) do self[field] = state[field] end
  self._fitted = state.stats ~= nil
  self.stats_ = state.stats or ordered.new()
  self:_restored()
end

-- Called after the fields were set: subclasses compute what they derive of them.
function Preprocessor:_restored() return self end

---Returns the state as text, for the metadata of a trainer or a checkpoint. Ray equivalent: Preprocessor.serialize.
---@return string text JSON
---
---```lua
---local data = require 'rtrain.data'
---local P = data.preprocessors
---local encoder = P.LabelEncoder 'kind'
---encoder:fit(data.from_items{{kind = 'setosa'}, {kind = 'virginica'}})
---local again = P.Preprocessor.deserialize(encoder:serialize())
---assert(again:transform_batch{kind = {'virginica'}}.kind:item() == 1)
---```
function Preprocessor:serialize() return require('rtrain.data.preprocessors.state_text').of(self:state_dict()) end

-- Returns a new object of a state, with the functions that it needs.
function Preprocessor._from_state(state, functions)
  local found = require 'rtrain.data.preprocessors'
  local name = type(state) == 'table' and state.preprocessor
  local ok, of = pcall(function() return found[name] end)
  if not ok or not class.is_class(of) or of == Preprocessor then
    errors.raise('checkpoint', ("deserialize: '%s' is not a class of rtrain.data.preprocessors: make the object and call "
      .. 'load_state_dict'):format(tostring(name)))
  end
  local object = of.__new(of)
  for _, field in ipairs(state.functions or {}) do
    if functions[field] == nil then
      errors.raise('argument', ("deserialize: a %s has a function of its own, which is not saved: give it again, {%s = …}")
        :format(name, field))
    end
    object[field] = functions[field]
  end
  object:load_state_dict(state, functions)
  return object
end

---Returns the preprocessor that `serialize` wrote. Ray equivalent: Preprocessor.deserialize.
---@param text string
---@param functions? {tokenization_fn: any} what cannot be saved
---@return rtrain.data.preprocessors.Preprocessor
---Errors: 'checkpoint' for a text that is not one of `serialize`; 'argument' if it had a function and none is given.
function Preprocessor.deserialize(text, functions)
  functions = args.options(functions, {'tokenization_fn'}, 'deserialize')
  return Preprocessor._from_state(require('rtrain.data.preprocessors.state_text').read(text), functions)
end

local function are_same(a, b) return table.concat(a, '\0') == table.concat(b, '\0') end

function Preprocessor:__tostring()
  local parts = {}
  for _, field in ipairs(self._saved) do
    local value = self[field]
    if value ~= nil and not (field == 'output_columns' and are_same(value, self.columns)) then
      parts[#parts + 1] = ('%s=%s'):format(field, type(value) == 'table' and table_text(value) or tostring(value))
    end
  end
  return ('%s(%s)'):format(name_of(self), table.concat(parts, ', '))
end

return Preprocessor
