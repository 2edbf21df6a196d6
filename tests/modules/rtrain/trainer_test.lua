-- Construction of trainers, --set, and the parts of the train function outside of a worker.
local lu = require 'luaunit'
local ordered = require 'base.ordered'
local number = require 'base.number'
local overrides = require 'base.overrides'
local train = require 'rtrain'

local function refusal(f, ...)
  local ok, err = pcall(f, ...)
  lu.assertFalse(ok)
  return err.code, err.message
end

TestTrainer = {}

function TestTrainer.test_both_ways_of_calling()
  local function f(config) return config end
  local a = train.TorchTrainer {train_loop_per_worker = f, scaling_config = {num_workers = 2}}
  local b = train.TorchTrainer(f, {scaling_config = train.ScalingConfig {num_workers = 2}})
  for _, trainer in ipairs {a, b, train.DataParallelTrainer(f, {scaling_config = {num_workers = 2}})} do
    lu.assertEquals(trainer.train_loop_per_worker, f)
    lu.assertEquals(trainer.scaling_config.num_workers, 2)
  end
  lu.assertEquals(train.TorchTrainer(f).scaling_config.num_workers, 1)
end

function TestTrainer.test_two_parameters_are_too_many()
  local code, message = refusal(train.TorchTrainer, function(a, b) return a, b end)
  lu.assertEquals(code, 'config')
  lu.assertStrMatches(message, '.*trainer_test%.lua:%d+ takes 2')
  lu.assertEquals((refusal(train.TorchTrainer, {train_loop_per_worker = 'f'})), 'config')
  lu.assertEquals((refusal(train.TorchTrainer, {})), 'config')
end

function TestTrainer.test_config_is_plain_data()
  local code, message = refusal(train.TorchTrainer, print, {train_loop_config = {model = {hook = print}}})
  lu.assertEquals(code, 'config')
  lu.assertStrContains(message, 'train_loop_config.model.hook is a function')
  local ring = {}
  ring.self = ring
  lu.assertStrContains(select(2, refusal(train.TorchTrainer, print, {train_loop_config = ring})), 'contains itself')
end

function TestTrainer.test_unknown_and_refused_fields()
  local code, message = refusal(train.TorchTrainer, print, {scaling_confg = {}})
  lu.assertEquals(code, 'config')
  lu.assertStrContains(message, "did you mean 'scaling_config'?")
  local _, misplaced = refusal(train.TorchTrainer, print, {failure_config = {max_failures = 1}})
  lu.assertStrContains(misplaced, 'failure_config belongs to RunConfig: run_config = train.RunConfig {failure_config = …}')
  local kind, wrong = refusal(train.TorchTrainer, print, {datasets = {train = {}}})
  lu.assertEquals(kind, 'config')
  lu.assertStrContains(wrong, 'datasets.train is a table: expected a dataset of rtrain.data, or a function that makes one')
  lu.assertEquals((refusal(train.TorchTrainer, print, {validation_config = {}})), 'config')
end

function TestTrainer.test_metadata_and_a_checkpoint_to_begin_with_are_checked()
  local function refuse(field, value) return select(2, refusal(train.TorchTrainer, print, {[field] = value})) end
  lu.assertStrContains(refuse('metadata', {f = print}), 'metadata.f is a function')
  lu.assertStrContains(refuse('metadata', 'x'), "metadata is 'x', expected a table")
  lu.assertStrContains(refuse('metadata', {1}), 'expected a table name → plain data')
  lu.assertStrContains(refuse('resume_from_checkpoint', 'x'), "resume_from_checkpoint is 'x', expected a Checkpoint")
  lu.assertStrContains(refuse('resume_from_checkpoint', train.Checkpoint '/not/there'), 'there is no folder /not/there')
end

function TestTrainer.test_a_trainer_of_ones_own_has_a_training_loop()
  local Mine = train.BaseTrainer:extend 'Mine'
  lu.assertStrContains(select(2, refusal(Mine)), 'Mine has no training_loop')
  lu.assertStrContains(select(2, refusal(train.BaseTrainer, {})), 'BaseTrainer has no training_loop')
  function Mine:training_loop() return self end
  lu.assertEquals(Mine({scaling_config = {num_workers = 2}}).scaling_config.num_workers, 2)
  lu.assertStrContains(select(2, refusal(Mine, {num_workers = 2})), 'num_workers belongs to ScalingConfig')
  lu.assertStrContains(select(2, refusal(Mine, {train_loop_config = {}})), "train_loop_config")
  local Careless = Mine:extend 'Careless'
  function Careless:init() self.mine = true end
  local careless = Careless()
  lu.assertStrContains(select(2, refusal(careless.fit, careless)), 'has not called train.BaseTrainer.init(self, options)')
end

function TestTrainer.test_all_trainers_are_base_trainers()
  local class = require 'base.class'
  for _, name in ipairs {'DataParallelTrainer', 'TorchTrainer', 'XGBoostTrainer', 'LightGBMTrainer'} do
    lu.assertTrue(class.is(train[name](print), train.BaseTrainer))
  end
  lu.assertTrue(class.is(train.ProgramTrainer {command = {'true'}}, train.BaseTrainer))
end

TestOverrides = {}

function TestOverrides.test_typed_by_what_is_replaced()
  local config = {epochs = 3, lr = 0.5, name = 'adam', flag = false, model = {width = 8}, betas = {0.9, 0.99}}
  local changed = overrides.apply(config, {'epochs=1', 'lr=2e-3', 'name=007', 'flag=true', 'model.width=16', 'betas=0.8,0.9',
                                           'betas.2=1'})
  lu.assertEquals(changed, {epochs = 1, lr = 2e-3, name = '007', flag = true, model = {width = 16}, betas = {0.8, 1}})
  lu.assertEquals(config.model.width, 8)
end

function TestOverrides.test_lists()
  local config = {names = {'one'}, sizes = {1}}
  local function set(setting) return overrides.apply(config, {setting}) end
  lu.assertEquals(set([=[names=["a,b", 'c', it's]]=]).names, {'a,b', 'c', "it's"})
  lu.assertEquals(set('names="",x').names, {'', 'x'})
  lu.assertEquals(set('sizes={1, 2,}').sizes, {1, 2})
  lu.assertEquals({refusal(set, "names='a,b")}, {'usage', "--set names: the quote before a,b has no end"})
end

function TestOverrides.test_order_is_kept()
  local config = ordered.new {{'z', 1}, {'a', 2}}
  lu.assertEquals(ordered.keys(overrides.apply(config, {'a=3'})), {'z', 'a'})
end

-- Integers that a Lua number would round become int64 or uint64 objects.
function TestOverrides.test_integers_of_64_bits()
  local function set(text) return overrides.apply({id = 1, ids = {1}}, {'id=' .. text, 'ids=1,' .. text}) end
  for text, value in pairs {['9007199254740993'] = 9007199254740993LL, ['-9007199254740993'] = -9007199254740993LL,
                            ['9223372036854775807'] = 9223372036854775807LL, ['9223372036854775808'] = 9223372036854775808ULL,
                            ['-9223372036854775808'] = -9223372036854775807LL - 1LL, ['+0018446744073709551615'] = -1ULL + 0ULL,
                            ['12'] = 12, ['-0'] = 0, ['9007199254740992'] = 2 ^ 53, ['18446744073709551616'] = 2 ^ 64,
                            ['1e300'] = 1e300, ['-9223372036854775809'] = -2 ^ 63} do
    local changed = set(text)
    lu.assertTrue(changed.id == value and changed.ids[2] == value, text)
    lu.assertTrue(number.of(changed.id) == tonumber(text), text)
  end
  lu.assertEquals(overrides.apply({id = 5LL}, {'id=7'}), {id = 7})
  lu.assertEquals({number.text(-5LL), number.text(2 ^ 63), number.of '5', number.of(2i), number.is_exact(9007199254740993LL)},
    {'-5', '9.2233720368548e+18', nil, nil, false})
end

function TestOverrides.test_refusals()
  local config = {epochs = 3, model = {width = 8}, flag = true}
  lu.assertStrContains(select(2, refusal(overrides.apply, config, {'epoch=1'})), "did you mean 'epochs'?")
  lu.assertStrContains(select(2, refusal(overrides.apply, config, {'model.widht=1'})), "did you mean 'width'?")
  lu.assertEquals((refusal(overrides.apply, config, {'epochs=many'})), 'config')
  lu.assertEquals((refusal(overrides.apply, config, {'flag=1'})), 'config')
  lu.assertEquals((refusal(overrides.apply, config, {'model=1'})), 'config')
  lu.assertEquals((refusal(overrides.apply, config, {'epochs'})), 'usage')
  local code, message = refusal(overrides.apply, nil, {'epochs=1'})
  lu.assertEquals(code, 'config')
  lu.assertStrMatches(message, "%-%-set epochs: train_loop_config has no 'epochs'")
end

TestOutsideAWorker = {}

function TestOutsideAWorker.test_calls_of_the_train_function_say_where_they_belong()
  for _, call in ipairs {
    function() train.report {} end,
    function() train.get_checkpoint() end,
    function() train.get_context() end,
    function() train.collective.barrier() end,
  } do
    local code, message = refusal(call)
    lu.assertEquals(code, 'user')
    lu.assertStrContains(message, 'train function')
  end
end

function TestOutsideAWorker.test_tempdir_is_gone_afterwards_also_after_an_error()
  local path
  local a, b = train.tempdir(function(dir)
    path = dir
    io.open(dir .. '/file', 'w'):close()
    return 1, nil
  end)
  lu.assertEquals({a, b}, {1, nil})
  lu.assertNil(io.open(path .. '/file'))
  local ok, err = pcall(train.tempdir, function(dir)
    path = dir
    error 'boom'
  end)
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(err), 'boom')
  lu.assertNil(io.open(path))
end

function TestOutsideAWorker.test_checkpoint_folders()
  train.tempdir(function(dir)
    local file = io.open(dir .. '/file', 'w')
    file:write 'text'
    file:close()
    local checkpoint = train.Checkpoint.from_directory(dir)
    checkpoint:set_metadata {classes = {'a', 'b'}}
    checkpoint:update_metadata {size = 2}
    lu.assertEquals(checkpoint:get_metadata(), {classes = {'a', 'b'}, size = 2})
    local text = checkpoint:with_directory(function(path) return io.open(path .. '/file'):read '*a' end)
    lu.assertEquals(text, 'text')
    train.tempdir(function(other)
      local copy = checkpoint:to_directory(other .. '/copy')
      lu.assertEquals(io.open(copy .. '/file'):read '*a', 'text')
    end)
  end)
end

TestResult = {}

function TestResult.test_rows_to_csv_and_the_best_checkpoint()
  local result = train.Result.from_event({
    status = 'FINISHED', path = '/runs/a', metrics = {loss = 1},
    best_checkpoints = {{path = '/runs/a/1', metrics = {accuracy = 0.9}}, {path = '/runs/a/0', metrics = {accuracy = 0.5}},
                        {path = '/runs/a/2', metrics = {accuracy = 0 / 0}}},
  })
  lu.assertEquals(result:get_best_checkpoint('accuracy', 'max').path, '/runs/a/1')
  lu.assertEquals(result:get_best_checkpoint('accuracy', 'min').path, '/runs/a/0')
  local ok, err = pcall(result.get_best_checkpoint, result, 'loss', 'min')
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'argument')
  lu.assertStrContains(err.message, "no kept checkpoint has a metric 'loss': they have accuracy")
  result.best_checkpoints = {}
  lu.assertNil(result:get_best_checkpoint('loss', 'min'))
end

function TestResult.test_a_data_frame_as_csv()
  local frame = require 'rtrain.results.data_frame'.of {{loss = 0.5, name = 'a "b", c'}, {loss = 2, extra = {x = 1}}}
  lu.assertEquals(#frame, 2)
  lu.assertEquals(frame:to_csv(), 'extra/x,loss,name\n,0.5,"a ""b"", c"\n1,2,\n')
  local ok, err = pcall(frame.to_csv, frame, '/dev/full')
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'environment')
  lu.assertStrContains(err.message, "cannot write '/dev/full': No space left on device")
end

os.exit(lu.LuaUnit.run(), true)
