-- Configs: defaults, validation, and errors for unknown and not yet supported fields.
local lu = require 'luaunit'
local train = require 'rtrain'

local function refusal(f, ...)
  local ok, err = pcall(f, ...)
  lu.assertFalse(ok)
  return err.code, err.message, err.where
end

TestDefaults = {}

function TestDefaults.test_rays_defaults()
  lu.assertEquals(train.ScalingConfig {}.num_workers, 1)
  lu.assertFalse(train.ScalingConfig {}.use_gpu)
  lu.assertEquals(train.FailureConfig {}.max_failures, 0)
  lu.assertEquals(train.CheckpointConfig {}.checkpoint_score_order, 'max')
  lu.assertNil(train.CheckpointConfig {}.num_to_keep)
  lu.assertEquals(train.TorchConfig {}.timeout_s, 1800)
  lu.assertEquals(train.DataConfig {}.datasets_to_split, 'all')
end

function TestDefaults.test_data_config()
  local config = train.DataConfig {datasets_to_split = {'train'}, execution_options = {
    threads = 2, valid = {memory_bytes = 2 ^ 21}}}
  lu.assertEquals({config:is_split 'train', config:is_split 'valid'}, {true, false})
  lu.assertTrue(train.DataConfig {}:is_split 'anything')
  lu.assertEquals(config:execution 'train', {threads = 2})
  lu.assertEquals(config:execution 'valid', {threads = 2, memory_bytes = 2 ^ 21})
  lu.assertEquals(train.DataConfig {}:execution 'train', {})
end

function TestDefaults.test_run_config_makes_its_parts()
  local config = train.RunConfig {failure_config = {max_failures = 3}}
  lu.assertEquals(config.failure_config.max_failures, 3)
  lu.assertEquals(config.checkpoint_config.checkpoint_score_order, 'max')
  lu.assertEquals(config.resume, 'never')
  lu.assertTrue(config.health_config.preflight and config.health_config.monitor)
  lu.assertEquals(config.health_config.preflight_timeout_s, 2)
  lu.assertNil(config.health_config.evaluators)
end

function TestDefaults.test_the_record_keeps_the_order_of_fields()
  local ordered = require 'base.ordered'
  local keys = ordered.keys(train.ScalingConfig {num_workers = 2}:to_table())
  lu.assertEquals({keys[1], keys[2]}, {'num_workers', 'use_gpu'})
end

function TestDefaults.test_the_short_record_leaves_out_defaults()
  local always = {num_workers = true, use_gpu = true}
  lu.assertEquals(train.ScalingConfig {num_workers = 2}:to_short_table(always), {num_workers = 2, use_gpu = false})
  lu.assertEquals(train.ScalingConfig {num_workers = 2, use_gpu = true, placement_strategy = 'PACK'}:to_short_table(always),
    {num_workers = 2, use_gpu = true, placement_strategy = 'PACK'})
end

function TestDefaults.test_resources()
  local config = train.ScalingConfig {num_workers = 3, resources_per_worker = {CPU = 2}}
  lu.assertEquals(config:num_cpus_per_worker(), 2)
  lu.assertEquals(config:total_resources(), {CPU = 6})
end

function TestDefaults.test_gpus()
  lu.assertEquals(train.ScalingConfig {use_gpu = true, num_workers = 2}:total_resources(), {CPU = 2, GPU = 2})
  local part = train.ScalingConfig {
    use_gpu = true, num_workers = 3, resources_per_worker = {CPU = 2, GPU = 0.5}, accelerator_type = 'H100'}
  lu.assertEquals(part:num_gpus_per_worker(), 0.5)
  lu.assertEquals(part:total_resources(), {CPU = 6, GPU = 1.5})
  lu.assertEquals(part:without_gpus():total_resources(), {CPU = 6})
  lu.assertEquals(train.ScalingConfig {resources_per_worker = {GPU = 0}}:num_gpus_per_worker(), 0)
end

TestRefusals = {}

-- behaviour: `datasets_to_split` of a wrong type
function TestRefusals.test_wrong_types_of_datasets_to_split()
  for _, value in ipairs {5, true, 'train', {1}, {train = true}, print} do
    local code, message = refusal(train.DataConfig, {datasets_to_split = value})
    lu.assertEquals(code, 'config')
    lu.assertStrContains(message, "expected 'all' or a list of names of datasets")
  end
  for _, options in ipairs {{thread = 2}, {threads = -1}, {train = {memory = 2}}, {train = {memory_bytes = 5}}, 3} do
    local code, message = refusal(train.DataConfig, {execution_options = options})
    lu.assertEquals(code, 'config')
    lu.assertStrContains(message, 'DataConfig.execution_options')
  end
end

function TestRefusals.test_unknown_field_with_a_hint_at_the_users_line()
  local code, message, where = refusal(function() return train.ScalingConfig {num_wokers = 2} end)
  lu.assertEquals(code, 'config')
  lu.assertStrContains(message, 'ScalingConfig')
  lu.assertStrContains(message, "did you mean 'num_workers'?")
  lu.assertStrMatches(where, '.*config_test%.lua:%d+')
end

-- behaviour: `straggler` of a wrong value, or one that needs virtual ranks
function TestRefusals.test_policies_for_stragglers()
  for value, text in pairs {evikt = "did you mean 'evict'?", [3] = "'warn' or 'ignore'"} do
    local code, message = refusal(train.FailureConfig, {straggler = value})
    lu.assertEquals(code, 'config')
    lu.assertStrContains(message, text)
  end
  lu.assertEquals(train.FailureConfig {}:to_spec().straggler, 'warn')
  local code, message = refusal(train.TorchTrainer, {
    train_loop_per_worker = function() end, scaling_config = train.ScalingConfig {num_workers = 2},
    run_config = train.RunConfig {failure_config = train.FailureConfig {straggler = 'rebalance'}}})
  lu.assertEquals(code, 'config')
  lu.assertStrContains(message, 'set ScalingConfig.virtual_workers')
end

-- behaviour: `num_to_keep`, score order out of range
function TestRefusals.test_wrong_values()
  for _, make in ipairs {
    function() return train.ScalingConfig {num_workers = -1} end,
    function() return train.ScalingConfig {num_workers = 1.5} end,
    function() return train.ScalingConfig {num_workers = '2'} end,
    function() return train.ScalingConfig {num_workers = 100001} end,
    function() return train.ScalingConfig {num_workers = {1, 100001}} end,
    function() return train.ScalingConfig {resources_per_worker = {cpu = 2}} end,
    function() return train.ScalingConfig {placement_strategy = 'pack'} end,
    function() return train.ScalingConfig {use_gpu = 1} end,
    function() return train.ScalingConfig {use_gpu = true, resources_per_worker = {GPU = 1.5}} end,
    function() return train.ScalingConfig {use_gpu = true, resources_per_worker = {GPU = -1}} end,
    function() return train.ScalingConfig {use_gpu = true, resources_per_worker = {GPU = 0}} end,
    function() return train.ScalingConfig {resources_per_worker = {GPU = 1}} end,
    function() return train.ScalingConfig {accelerator_type = 'H100'} end,
    function() return train.ScalingConfig {use_gpu = true, accelerator_type = ''} end,
    function() return train.CheckpointConfig {num_to_keep = 0} end,
    function() return train.CheckpointConfig {num_to_keep = -1} end,
    function() return train.ValidationConfig {} end,
    function() return train.ValidationConfig {fn = 'validate'} end,
    function() return train.ValidationConfig {fn = print, ray_remote_kwargs = {num_gpus = 1}} end,
    function() return train.ValidationTaskConfig {timeout_s = 0} end,
    function() return train.ValidationTaskConfig {fn_kwargs = {1, 2}} end,
    function() return train.CheckpointConfig {checkpoint_score_order = 'best'} end,
    function() return train.FailureConfig {max_failures = -2} end,
    function() return train.TorchConfig {timeout_s = 0} end,
    function() return train.TorchConfig {backend = 'glo'} end,
    function() return train.RunConfig {name = 'a/b'} end,
    function() return train.RunConfig {name = '.hidden'} end,
    function() return train.RunConfig {failure_config = train.CheckpointConfig {}} end,
    function() return train.RunConfig {name = 'x', resume = 'always'} end,
    function() return train.RunConfig {stop = 5} end,
    function() return train.RunConfig {health_config = train.CheckpointConfig {}} end,
    function() return train.RunConfig {health_config = {preflight = 'yes'}} end,
    function() return train.HealthConfig {preflight_timeout_s = 0} end,
    function() return train.HealthConfig {monitor = 1} end,
    function() return train.HealthConfig {evaluators = print} end,
    function() return train.HealthConfig {evaluators = {'EVICT'}} end,
    function() return train.HealthConfig {evaluators = {mine = print}} end,
    function() return train.HealthConfig {evaluator = {}} end,
    function() return train.RunConfig {worker_env = {['A=B'] = 'c'}} end,
    function() return train.RunConfig {worker_env = {A = true}} end,
    function() return train.RunConfig {worker_runtime_env = {A = 'b'}} end,
    function() return train.RunConfig {worker_runtime_env = {pip = {'torch'}}} end,
    function() return train.LoggingConfig {log_level = 'LOUD'} end,
    function() return train.RunConfig {stop = {accuracy = 'high'}} end,
    function() return train.RunConfig {stop = {accuracy = 0 / 0}} end,
    function() return train.RunConfig {stop = {0.9}} end,
    function() return train.RunConfig 'name' end,
  } do
    lu.assertEquals((refusal(make)), 'config')
  end
end

function TestRefusals.test_nccl_needs_a_device_for_each_worker()
  local nccl, any, gloo = train.TorchConfig {backend = 'nccl'}, train.TorchConfig {}, train.TorchConfig {backend = 'gloo'}
  lu.assertEquals({any:choose_backend(0, 4)}, {'cpu:shm,cuda:gloo'})
  lu.assertEquals((any:choose_backend(1, 4)), 'nccl')
  lu.assertEquals((any:choose_backend(2, 1)), 'nccl')
  lu.assertEquals((any:choose_backend(0.5, 1)), 'nccl')
  lu.assertEquals((any:choose_backend(0.6, 2)), 'nccl')  -- two ranks do not fit on one device
  lu.assertEquals((any:choose_backend(0.5, 2)), 'cpu:shm,cuda:gloo')
  lu.assertEquals((gloo:choose_backend(1, 2)), 'gloo')
  for _, run in ipairs {{0, 2}, {0.5, 2}} do
    local code, message = refusal(function() nccl:choose_backend(unpack(run)) end)
    lu.assertEquals(code, 'config')
    lu.assertStrContains(message, 'leave the backend out')
  end
end

function TestRefusals.test_known_and_not_in_this_version()
  for _, make in ipairs {
    function() return train.ScalingConfig {label_selector = {zone = 'a'}} end,
    function() return train.FailureConfig {relax_collectives_on_preemption = true} end,
  } do
    local code, message = refusal(make)
    lu.assertEquals(code, 'unsupported')
    lu.assertStrContains(message, 'version')
  end
end

function TestRefusals.test_what_ray_removed_says_what_to_do()
  local code, message = refusal(function() return train.RunConfig {verbose = 1} end)
  lu.assertEquals(code, 'config')
  lu.assertStrContains(message, '-q')
  lu.assertEquals((refusal(function() return train.CheckpointConfig {checkpoint_frequency = 1} end)), 'config')
end

function TestRefusals.test_unknown_name_of_the_module()
  local code, message = refusal(function() return train.ScalingConfg end)
  lu.assertEquals(code, 'argument')
  lu.assertStrContains(message, "did you mean 'ScalingConfig'?")
end

os.exit(lu.LuaUnit.run(), true)
