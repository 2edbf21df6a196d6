-- rtrain.data.preprocessors: states, errors and kinds of columns. tests/e2e/data/test_preprocessors.py compares the numbers
-- with numpy's.
local data = require 'rtrain.data'
local lu = require 'luaunit'
local refusal = require 'refusal'
local torch = require 'torch'
local train = require 'rtrain'

local P = data.preprocessors

local function column(ds, name)
  local out = {}
  for i, row in ipairs(ds:take_all()) do out[i] = row[name] == nil and 'null' or row[name] end
  return out
end

local function refused(text, fn, ...)
  lu.assertStrContains(refusal.of_argument(fn, ...), text)
end

local function numbers() return data.from_items{{x = 1, y = 'b'}, {x = 3, y = 'a'}, {x = 2, y = 'b'}} end

TestPreprocessors = {}

function TestPreprocessors.test_what_is_fitted_is_said()
  local scaler, ds = P.StandardScaler {columns = {'x'}}, numbers()
  lu.assertEquals({scaler:fit_status(), scaler:has_stats()}, {'NOT_FITTED', false})
  for _, method in ipairs{'transform', 'transform_batch'} do
    local text, err = refusal.message_of(function() scaler[method](scaler, method == 'transform' and ds or {x = {1}}) end)
    lu.assertStrContains(text, ('StandardScaler: %s: call fit(dataset) before'):format(method))
    lu.assertEquals(err.code, 'user')
  end
  lu.assertIs(scaler:fit(ds), scaler)
  lu.assertEquals({scaler:fit_status(), scaler:has_stats()}, {'FITTED', true})
  lu.assertEquals(P.Normalizer({'x'}):fit_status(), 'NOT_FITTABLE')
  lu.assertEquals(tostring(scaler), "StandardScaler(columns={'x'})")
end

function TestPreprocessors.test_a_dataset_keeps_what_was_fitted_before_it()
  local scaler = P.MaxAbsScaler {columns = {'x'}}
  local first = scaler:fit_transform(data.from_items{{x = 2}, {x = 4}})
  scaler:fit(data.from_items{{x = 100}})
  lu.assertEquals(column(first, 'x'), {0.5, 1})
  lu.assertEquals(scaler:transform_batch{x = {50}}.x:item(), 0.5)
end

function TestPreprocessors.test_each_row_becomes_one_row_with_known_columns()
  local ds = P.OneHotEncoder({'y'}, {output_columns = {'hot'}}):fit_transform(numbers():random_shuffle())
  lu.assertTrue(ds._plan:preserves_rows())
  lu.assertEquals(ds:schema().types, {'int64', 'string', 'tensor<int64>[2]'})
  lu.assertEquals(P.Concatenator({'x', 'z'}, {dtype = 'float16'}):transform(data.from_items{{x = 1, y = 's', z = 0.5}})
    :schema().types, {'string', 'tensor<float16>[2]'})
  local chain = P.Chain(P.Tokenizer {'y'}, P.OrdinalEncoder {'y'})
  lu.assertEquals(chain:fit_transform(numbers()):schema().types, {'int64', 'object'})
end

function TestPreprocessors.test_wrong_arguments_are_named()
  refused("StandardScaler: unknown argument 'output_colums': did you mean 'output_columns'?", P.StandardScaler,
    {columns = {'x'}, output_colums = {'y'}})
  refused('output_columns: expected a name for each of the 2 columns, got 1', P.MinMaxScaler,
    {columns = {'x', 'y'}, output_columns = {'z'}})
  refused("column 'x' is named twice", P.Normalizer, {'x', 'x'})
  refused("Normalizer: norm cannot be 'l3'", P.Normalizer, {columns = {'x'}, norm = 'l3'})
  refused('two numbers from 0 to 1', P.RobustScaler, {columns = {'x'}, quantile_range = {0.7, 0.2}})
  refused("the strategy 'constant' needs one", P.SimpleImputer, {columns = {'x'}, strategy = 'constant'})
  refused("only the strategy 'constant' takes one", P.SimpleImputer, {columns = {'x'}, fill_value = 1})
  refused("'z' is not one of its columns", P.OneHotEncoder, {columns = {'x'}, max_categories = {z = 1}})
  refused('must increase, and 1 comes after 2', P.CustomKBinsDiscretizer, {'x'}, {0, 2, 1})
  refused("has the edge 2 twice: duplicates = 'drop'", P.CustomKBinsDiscretizer, {'x'}, {0, 2, 2})
  refused("there are none of column 'y'", P.CustomKBinsDiscretizer, {columns = {'x', 'y'}, bins = {x = {0, 1}}})
  refused('a whole number of bins from 1 on, got 0', P.UniformKBinsDiscretizer, {'x'}, 0)
  refused('num_features is a whole number from 1 on', P.FeatureHasher, {'x'}, 0, 'h')
  refused('argument 2 is a class: expected a preprocessor', P.Chain, P.Normalizer {'x'}, P.Normalizer)
  refused('tokenization_fn: expected a function', P.Tokenizer, {columns = {'x'}, tokenization_fn = 'split'})
  refused('method cannot be', P.PowerTransformer, {columns = {'x'}, power = 1, method = 'log'})
  lu.assertStrContains(refusal.message_of(function() return P.StandardScalr end), "did you mean 'StandardScaler'")
  lu.assertStrContains(refusal.message_of(function() return P.KBinsDiscretizer end), 'use UniformKBinsDiscretizer')
end

function TestPreprocessors.test_columns_that_do_not_fit_are_named()
  local ds = numbers()
  refused("StandardScaler: fit: no column 'xx': did you mean 'x'?", function() P.StandardScaler({'xx'}):fit(ds) end)
  refused("column 'y' has no numbers but string values", function() P.MinMaxScaler({'y'}):fit(ds) end)
  local scaler = P.StandardScaler({'x'}):fit(ds)
  refused("StandardScaler: column 'x' is string", function() scaler:transform(data.from_items{{x = 'a'}}) end)
  refused("StandardScaler: no column 'x'", function() scaler:transform_batch{y = {1}} end)
  refused("Tokenizer: column 'x' is int64: expected texts", function() P.Tokenizer({'x'}):transform(ds) end)
  refused("Concatenator: column 'y' is string: expected numbers", function() P.Concatenator({'x', 'y'}):transform(ds) end)
  refused('a Dataset', function() scaler:fit {x = 1} end)
  -- What only the rows say comes when they are read.
  local unknown = ds:map(function(row) return {x = row.y} end)
  refused("column 'x' is string", function() scaler:transform(unknown):take_all() end)
end

function TestPreprocessors.test_null_among_categories_is_refused_and_an_imputer_gives_a_value()
  local ds = data.from_items{{y = 'b'}, {x = 1}, {y = 'a'}}
  for _, of in ipairs{P.OrdinalEncoder, P.OneHotEncoder, P.MultiHotEncoder, P.LabelEncoder} do
    local columns = of == P.LabelEncoder and 'y' or {'y'}
    refused("column 'y' has null among its values: a SimpleImputer", function() of(columns):fit(ds) end)
    local fitted = of(columns):fit(data.from_items{{y = 'a'}})
    refused("column 'y' has no value in row 1", function() fitted:transform(ds):take_all() end)
  end
  local chain = P.Chain(P.SimpleImputer {columns = {'y'}, strategy = 'constant', fill_value = '?'}, P.OrdinalEncoder {'y'})
  lu.assertEquals(column(chain:fit_transform(ds), 'y'), {2, 0, 1})
end

function TestPreprocessors.test_an_empty_dataset()
  local none = data.range(3):filter(function() return false end)
  lu.assertEquals(P.OrdinalEncoder({'id'}):fit(none):transform(data.range(2)):take_all(), {{}, {}})
  lu.assertEquals(P.OneHotEncoder({'id'}):fit(none):transform(data.range(2)):schema().types, {'tensor<int64>[0]'})
  local scaled = P.StandardScaler({'id'}):fit(none):transform_batch{id = {1}}.id
  lu.assertTrue(scaled:isnan():item())
  refused("column 'id' has no values to choose one from", function() P.SimpleImputer({'id'}):fit(none) end)
  refused("column 'id' has no numbers", function() P.UniformKBinsDiscretizer({'id'}, 2):fit(none) end)
  lu.assertEquals(P.StandardScaler({'id'}):fit(data.range(2)):transform(none):take_all(), {})
end

function TestPreprocessors.test_an_imputer_keeps_types_and_makes_missing_columns()
  local ds = data.from_items{{n = 1, b = true, s = 'ü', big = 9007199254740993LL}, {}, {n = 1, b = false, s = 'ü'}}
  local filled = P.SimpleImputer({'n', 'b', 's', 'big'}, {strategy = 'most_frequent'}):fit_transform(ds)
  lu.assertEquals(filled:take_all()[2], {n = 1, b = true, s = 'ü', big = 9007199254740993LL})
  lu.assertEquals(filled:schema().types, {'bool', 'int64', 'int64', 'string'})
  lu.assertEquals(P.SimpleImputer({'n'}):fit_transform(ds):schema().types[3], 'float64')
  local means = P.SimpleImputer({'b', 'n'}):fit_transform(ds)
  lu.assertEquals({means:take_all()[2].b, means:schema().types[1]}, {0.5, 'float64'})
  local made = P.SimpleImputer({'new'}, {strategy = 'constant', fill_value = 'none'}):transform(ds)
  lu.assertEquals(column(made, 'new'), {'none', 'none', 'none'})
  refused("column 's' is string, and the value for null is the number 0", function()
    P.SimpleImputer({'s'}, {strategy = 'constant', fill_value = 0}):transform(ds)
  end)
end

function TestPreprocessors.test_labels_come_back()
  local encoder = P.LabelEncoder('y', {output_column = 'class'})
  local encoded = encoder:fit_transform(numbers())
  lu.assertEquals(column(encoded, 'class'), {1, 0, 1})
  lu.assertEquals(column(encoder:inverse_transform(encoded:drop_columns 'y'), 'y'), {'b', 'a', 'b'})
  lu.assertEquals(column(encoder:inverse_transform(data.from_items{{class = 0}, {class = 7}}), 'y'), {'a', 'null'})
  lu.assertEquals(encoder:labels_of{1, 0, 5}, {'b', 'a', torch.none})
  local unseen = encoder:transform_batch{y = {'c', 'a'}}.class
  lu.assertEquals({unseen[1] == torch.none, unseen[2]}, {true, 0})
end

function TestPreprocessors.test_lists_are_encoded_by_items_or_whole()
  local ds = data.from_items{{g = {'b', 'a'}}, {g = {'c'}}, {g = {'b', 'a'}}}
  lu.assertEquals(column(P.OrdinalEncoder({'g'}):fit_transform(ds), 'g'), {{1, 0}, {2}, {1, 0}})
  lu.assertEquals(column(P.OrdinalEncoder({'g'}, {encode_lists = false}):fit_transform(ds), 'g'), {0, 1, 0})
  local codes = P.OrdinalEncoder({'g'}):fit(ds):transform_batch{g = {{'z', 'c'}}}.g[1]
  lu.assertEquals({codes[1] == torch.none, codes[2]}, {true, 2})
end

function TestPreprocessors.test_values_without_an_order_are_refused()
  local mixed = data.from_items{{v = 1}, {v = 'a'}}
  refused("column 'v' holds values of several types", function() P.OrdinalEncoder({'v'}):fit(mixed) end)
end

-- A preprocessor of each kind with its dataset.
local function fitted_ones()
  local ds = data.from_items{{x = 1, z = -3.5, y = 'ö', t = 'a b'}, {x = 3, z = 1e300, y = '\255', t = 'b'},
                             {x = 9007199254740993LL, z = 0, y = 'b', t = ''}}
  local list = {
    P.StandardScaler {'x', 'z'}, P.MinMaxScaler {'z'}, P.MaxAbsScaler {'z'}, P.RobustScaler {'z'}, P.OrdinalEncoder {'x', 'y'},
    P.OneHotEncoder {columns = {'y'}, max_categories = {y = 2}}, P.LabelEncoder 'y', P.MultiHotEncoder {'y'},
    P.Normalizer {'z'}, P.SimpleImputer {columns = {'y'}, strategy = 'most_frequent'}, P.UniformKBinsDiscretizer({'z'}, 3),
    P.CustomKBinsDiscretizer {columns = {'z'}, bins = {z = {-math.huge, 0, math.huge}}}, P.Concatenator {'z'},
    P.Tokenizer {'t'}, P.FeatureHasher({'z'}, 4, 'h'), P.HashingVectorizer({'t'}, 4), P.CountVectorizer {'t'},
    P.PowerTransformer({'z'}, 0.5), P.SimpleImputer {columns = {'z'}, strategy = 'constant', fill_value = 0 / 0},
    P.Chain(P.StandardScaler {'z'}, P.Chain(P.LabelEncoder 'y')),
  }
  for _, each in ipairs(list) do each:fit(ds) end
  return list, {x = {3, 1}, z = {0.5, 2}, y = {'ö', '\255'}, t = {'b b', 'c'}}
end

local function text_of(batch)
  local parts = {}
  for _, name in ipairs(require('base.ordered').keys_of(batch)) do
    local value = batch[name]
    parts[#parts + 1] = name .. '=' .. tostring(torch.is_tensor(value) and require('base.table_text')(value:tolist())
      or require('base.table_text')(value))
  end
  return table.concat(parts, ';')
end

function TestPreprocessors.test_states_come_back_from_text_and_from_files()
  local list, batch = fitted_ones()
  local path = os.tmpname()
  for _, each in ipairs(list) do
    local expected = text_of(each:transform_batch(batch))
    local again = P.Preprocessor.deserialize(each:serialize())
    lu.assertEquals(text_of(again:transform_batch(batch)), expected, tostring(each))
    lu.assertEquals({again:serialize(), tostring(again)}, {each:serialize(), tostring(each)})
    torch.save({preprocessor = each:state_dict()}, path)
    again:load_state_dict(torch.load(path).preprocessor)
    lu.assertEquals({text_of(again:transform_batch(batch)), again:serialize()}, {expected, each:serialize()})
  end
  os.remove(path)
end

function TestPreprocessors.test_a_state_of_something_else_is_refused()
  local scaler = P.StandardScaler({'x'}):fit(numbers())
  local function code(fn) return select(2, refusal.message_of(fn)).code end
  lu.assertEquals(code(function() P.MinMaxScaler({'x'}):load_state_dict(scaler:state_dict()) end), 'checkpoint')
  lu.assertEquals(code(function() P.Preprocessor.deserialize 'no JSON' end), 'checkpoint')
  lu.assertEquals(code(function() P.Preprocessor.deserialize '{"preprocessor": "Preprocessor"}' end), 'checkpoint')
  lu.assertEquals(code(function() P.Preprocessor.deserialize '{"preprocessor": "StandardScaler", "version": 9}' end),
    'checkpoint')
  local own = P.Tokenizer {columns = {'y'}, tokenization_fn = function(text) return {text, text} end}
  refused('give it again, {tokenization_fn = …}', function() P.Preprocessor.deserialize(own:serialize()) end)
  local again = P.Preprocessor.deserialize(own:serialize(), {tokenization_fn = own.tokenization_fn})
  lu.assertEquals(again:transform_batch{y = {'a'}}.y, {{'a', 'a'}})
end

function TestPreprocessors.test_a_preprocessor_is_a_part_of_a_state()
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute('mkdir ' .. folder))
  train.state{scaler = P.MinMaxScaler({'x'}):fit(numbers()), epoch = 3}:save(folder)
  local again = train.state{scaler = P.MinMaxScaler {'x'}, epoch = 0}
  again:load(folder)
  lu.assertEquals({again.scaler:transform_batch{x = {2}}.x:item(), again.epoch}, {0.5, 3})
  os.execute('rm -r ' .. folder)
end

function TestPreprocessors.test_a_text_tokenizer_gives_ids()
  local tokenizer = require('text').Tokenizer.from_str[[{"model": {"type": "WordLevel", "vocab": {"a": 0, "ü": 1},
    "unk_token": "a"}, "pre_tokenizer": {"type": "Whitespace"}}]]
  local ids = P.Tokenizer {columns = {'t'}, tokenization_fn = tokenizer, output_columns = {'ids'}}
  local ds = ids:transform(data.from_items{{t = 'ü a'}, {t = nil, x = 1}})
  data.DataContext.get_current().num_threads = 2
  lu.assertEquals(ds:take_all()[1].ids, {1, 0})
  lu.assertNil(ds:take_all()[2].ids)
end

function TestPreprocessors.test_a_class_of_ones_own()
  local Centred = P.Preprocessor:extend('Centred')
  function Centred:init(columns) self.columns, self.output_columns = columns, columns end
  function Centred:_fit(ds) self.stats_ = {mean = ds:mean(self.columns[1])} end
  function Centred:_transform_numpy(batch)
    batch[self.columns[1]] = batch[self.columns[1]] - self.stats_.mean
    return batch
  end
  local centred = Centred {'x'}
  lu.assertEquals(column(centred:fit_transform(data.from_items{{x = 1.5}, {x = 2.5}}), 'x'), {-0.5, 0.5})
  local again = Centred {'x'}
  again:load_state_dict(centred:state_dict())
  lu.assertEquals(column(P.Chain(again):transform(data.from_items{{x = 2.5}}), 'x'), {0.5})
end

function TestPreprocessors.test_value_counter()
  local ds = data.from_items{{k = 1, v = 'b'}, {k = 1}, {k = 2, v = 'a'}, {k = 1, v = 'b'}}
  local A = data.aggregate
  lu.assertEquals(ds:aggregate(A.ValueCounter('v'))['value_counter(v)'], {values = {'b', 'a'}, counts = {2, 1}})
  local rows = ds:groupby('k'):aggregate(A.ValueCounter('v', {ignore_nulls = false, alias_name = 'c'})):take_all()
  lu.assertEquals(rows[1].c, {values = {'b', torch.none}, counts = {2, 1}})
  local listed = data.from_items{{v = {1, 2}}, {v = {2}}}
  lu.assertEquals(listed:aggregate(A.ValueCounter('v', {encode_lists = true, alias_name = 'c'})).c,
    {values = {1, 2}, counts = {1, 2}})
end

os.exit(lu.LuaUnit.run(), true)
