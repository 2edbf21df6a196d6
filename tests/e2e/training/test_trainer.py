"""A trainer: the values that its workers receive, and those that fit() returns."""

import json

import pytest


def words(result, first):
    """Returns the words after `first` of the output lines that begin with it, without the rank's prefix."""
    assert result.returncode == 0, result.stderr
    lines = [line.split("] ", 1)[-1].split("\t") for line in result.stdout.splitlines()]
    return sorted(line[1:] for line in lines if line[0] == first)


# behaviour: a trainer with only a function
def test_a_trainer_with_only_a_function_runs_one_worker(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        train.DataParallelTrainer(function() print('size', train.get_context():get_world_size()) end):fit()
        """)
    assert words(result, "size") == [["1"]]
    assert rtrain.json("show", "last")["num_workers"] == 1


# behaviour: the config reaches the function unchanged
# behaviour: a function without parameters
def test_the_config_and_the_metrics_arrive_as_they_were(rtrain):
    config = {"lr": 0.1, "layers": [1, 2, 3], "nested": {"name": "x", "flag": False}, "big": 2**53 - 1, "small": 5e-324}
    rtrain.run_ok("""
        local train = require 'rtrain'
        local config = {lr = 0.1, layers = {1, 2, 3}, nested = {name = 'x', flag = false}, big = 2^53 - 1, small = 5e-324}
        local result = train.DataParallelTrainer({
          train_loop_per_worker = function(given) train.report(given) end, train_loop_config = config,
          run_config = {name = 'one'}}):fit()
        assert(result.metrics.nested.flag == false and result.metrics.small == 5e-324 and #result.metrics.layers == 3)
        train.DataParallelTrainer({
          train_loop_per_worker = function(...)
            assert(debug.getinfo(1, 'u').nparams == 0)
            train.report {arguments = select('#', ...)}
          end,
          train_loop_config = config, run_config = {name = 'none'}}):fit()
        """)
    assert rtrain.reports("one") == [config]
    assert rtrain.json("show", "one")["config"] == config


# behaviour: `result.path`
def test_the_path_is_the_storage_path_and_the_name(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local result = train.DataParallelTrainer({train_loop_per_worker = function() end,
          run_config = train.RunConfig{name = 'mine', storage_path = 'somewhere'}}):fit()
        print('path', result.path)
        """)
    assert words(result, "path") == [[str(rtrain.folder / "somewhere" / "mine")]]


# behaviour: an error on rank 0 alone
def test_an_error_on_rank_0_only_is_raised_with_the_original_error(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local ok, err = pcall(function()
          train.DataParallelTrainer({
            train_loop_per_worker = function()
              if train.get_context():get_world_rank() == 0 then error('the original text') end
              train.collective.barrier()
            end,
            scaling_config = {num_workers = 3}}):fit()
        end)
        local others = 0
        for rank, each in pairs(err.ranks) do if rank ~= 0 and each.code ~= 'peer_lost' then others = others + 1 end end
        print('raised', ok, err.code, err.ranks[0].message:match 'the original text', others)
        """)
    assert words(result, "raised") == [["false", "user", "the original text", "0"]]


# behaviour: return value of rank 0
# behaviour: no checkpoint reported
def test_the_return_value_of_rank_0_and_no_checkpoint_is_no_error(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local result = train.DataParallelTrainer({
          train_loop_per_worker = function() return {rank = train.get_context():get_world_rank(), list = {1, 'two'}} end,
          scaling_config = {num_workers = 2}}):fit()
        print('result', result.return_value.rank, result.return_value.list[2], result.checkpoint, result.error,
          result.metrics, #result.metrics_dataframe, #result.best_checkpoints)
        """)
    assert words(result, "result") == [["0", "two", "nil", "nil", "nil", "0", "0"]]


@pytest.mark.parametrize(
    "wrong, hint",
    [
        ("train.RunConfig{sync_config = {}}", "sync_config is not there any more"),
        ("train.RunConfig{verbose = 1}", "`rtrain run -q` shows less"),
        ("train.RunConfig{progress_reporter = {}}", "progress_reporter is not there any more"),
        ("train.RunConfig{log_to_file = true}", "rtrain logs RUN"),
        ("train.RunConfig{storage_pth = 'x'}", "did you mean 'storage_path'?"),
        ("train.FailureConfig{fail_fast = true}", "fail_fast is not there any more"),
        ("train.ScalingConfig{trainer_resources = {}}", "trainer_resources is not there any more"),
        ("train.TorchTrainer{train_loop_per_worker = print, resume_from_checkpoint = 'x'}", "expected a Checkpoint"),
        ("train.TorchTrainer{train_loop_per_worker = print, metadata = {f = print}}", "metadata.f is a function"),
        ("train.TorchTrainer{train_loop_per_worker = print, num_workers = 2}", "num_workers belongs to ScalingConfig"),
        ("train.TorchTrainer{train_loop_per_worker = function(a, b) end}", "takes no parameter or one"),
    ],
)
# behaviour: unknown and removed config keys
def test_deprecated_and_unknown_keys_are_refused(rtrain, wrong, hint):
    result = rtrain("exec", rtrain.script(f"local train = require 'rtrain'\nlocal _ = {wrong}\n"))
    assert result.returncode == 3
    assert "train.lua:2" in result.stderr and hint in result.stderr, result.stderr


# behaviour: `worker_env` reaches every worker
# behaviour: the controller's variables reach every worker
def test_variables_reach_every_worker(rtrain):
    rtrain.env.update({"OF_THE_DRIVER": "inherited", "BOTH": "driver", "RTRAIN_COLLECTIVE_WARN_INTERVAL_S": "7"})
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            print('env', os.getenv 'MINE', os.getenv 'NUMBER', os.getenv 'RAYS', os.getenv 'OF_THE_DRIVER', os.getenv 'BOTH',
              os.getenv 'RTRAIN_COLLECTIVE_WARN_INTERVAL_S', os.getenv 'OMP_NUM_THREADS')
            local environ = io.open('/proc/self/environ'):read '*a'
            assert(environ:find('MINE=a b', 1, true), 'not there when the process began')
            assert(package.path:find('extra_modules', 1, true))
          end,
          scaling_config = {num_workers = 2},
          run_config = train.RunConfig{
            worker_env = {MINE = 'a b', NUMBER = 3, BOTH = 'worker', OMP_NUM_THREADS = '1',
              LUA_PATH = './extra_modules/?.lua;;'},
            worker_runtime_env = {env_vars = {RAYS = 'spelling', MINE = 'no'}}}}):fit()
        assert(os.getenv 'MINE' == nil and os.getenv 'BOTH' == 'driver')
        """)
    assert words(result, "env") == [["a b", "3", "spelling", "inherited", "worker", "7", "1"]] * 2


@pytest.mark.parametrize("name", ["RTRAIN_HANG_THRESHOLD_S", "RTRAIN_COLLECTIVE_TIMEOUT_S", "RTRAIN_STORE_PATIENCE_S"])
def test_a_setting_that_is_no_duration_is_refused(rtrain, name):
    rtrain.env[name] = "10 minutes"
    result = rtrain.run("""
        local train = require 'rtrain'
        train.DataParallelTrainer({train_loop_per_worker = function() print 'ran' end}):fit()
        """)
    assert result.returncode == 3 and "ran" not in result.stdout
    assert f"{name} = '10 minutes' in the environment: expected a number of seconds" in result.stderr
    assert "train.lua:2: " in result.stderr, result.stderr


# behaviour: the context's getters
def test_getters_are_consistent_on_every_worker(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            local c = train.get_context()
            assert(train.get_context() == c)
            local s = c:get_storage()
            print('context', c:get_world_rank(), c:get_local_rank(), c:get_world_size(), c:get_local_world_size(),
              c:get_node_rank(), c:get_experiment_name(), s.storage_path, s.experiment_path)
            for _, name in ipairs{'get_trial_name', 'get_trial_id', 'get_trial_resources', 'get_trial_dir'} do
              local ok, err = pcall(c[name], c)
              assert(not ok and err.code == 'unsupported')
            end
          end,
          scaling_config = {num_workers = 4}, run_config = {name = 'mine'}}):fit()
        """)
    same = ["4", "4", "0", "mine", str(rtrain.storage), str(rtrain.run_folder("mine"))]
    assert words(result, "context") == [[str(rank), str(rank), *same] for rank in range(4)]


# behaviour: a log file for each worker
def test_every_worker_has_its_own_log(rtrain):
    rtrain.run_ok("""
        local train = require 'rtrain'
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            local rank = train.get_context():get_world_rank()
            print('to stdout from ' .. rank)
            io.stderr:write('to stderr from ' .. rank .. '\\n')
          end,
          scaling_config = {num_workers = 3}, run_config = {name = 'mine'}}):fit()
        """)
    for rank in range(3):
        log = (rtrain.run_folder("mine") / "logs" / "attempt-1" / f"rank-{rank}.log").read_text()
        assert sorted(log.splitlines()) == [f"to stderr from {rank}", f"to stdout from {rank}"]


def test_the_working_directory_stays(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        train.DataParallelTrainer(function() print('cwd', io.popen('pwd'):read '*l') end):fit()
        """)
    assert words(result, "cwd") == [[str(rtrain.folder)]]


def test_train_functions_calls_outside_a_worker_are_refused(rtrain):
    for call in (
        "report{}",
        "get_context()",
        "get_checkpoint()",
        "get_dataset_shard('x')",
        "collective.barrier()",
        "collective.broadcast_from_rank_zero(1)",
        "torch.get_device()",
    ):
        result = rtrain("exec", rtrain.script(f"require('rtrain').{call}"))
        assert result.returncode == 1 and "works in the train function only" in result.stderr, call


def test_the_log_level_filters_messages_on_the_terminal_only(rtrain):
    script = """
        local train = require 'rtrain'
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            for _ = 1, train.get_context():get_world_rank() + 1 do train.report {n = 1} end
            print('worker output')
          end,
          scaling_config = {num_workers = 2},
          run_config = {name = '%s', logging_config = train.LoggingConfig{log_level = '%s'}}}):fit()
        """
    loud = rtrain.run_ok(script % ("loud", "INFO"))
    quiet = rtrain.run_ok(script % ("quiet", "error"))
    assert "different numbers of reports" in loud.stderr and "call train.report on every rank" in loud.stderr
    assert "different numbers of reports" not in quiet.stderr and "worker output" in quiet.stdout
    with rtrain.database() as db:
        assert db.execute("SELECT count(*) FROM events WHERE text LIKE '%different numbers%'").fetchone() == (2,)


def test_the_table_of_all_reports_as_csv(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local result = train.DataParallelTrainer(function()
          train.report {loss = 0.5, note = 'a, "b"', deep = {x = 1}}
          train.report {loss = 0/0, list = {4, 5}}
          train.report {loss = 1/0}
        end):fit()
        result.metrics_dataframe:to_csv('table.csv')
        print('rows', #result.metrics_dataframe, result.metrics_dataframe[1].deep.x)
        assert(train.Result.from_path(result.path).metrics_dataframe:to_csv() == io.open('table.csv'):read '*a')
        """)
    assert words(result, "rows") == [["3", "1"]]
    assert (rtrain.folder / "table.csv").read_text() == (
        'deep/x,list/1,list/2,loss,note\n1,,,0.5,"a, ""b"""\n,4,5,nan,\n,,,inf,\n'
    )


def test_metrics_in_json_are_json(rtrain):
    rtrain.run_ok("""
        local train = require 'rtrain'
        train.DataParallelTrainer({train_loop_per_worker = function() train.report {a = 0/0, b = -1/0} end,
          run_config = {name = 'mine'}}):fit()
        """)
    json.loads(rtrain("metrics", "mine", "--json").stdout, parse_constant=pytest.fail)


# behaviour: a trainer of one's own
def test_a_trainer_of_ones_own_sets_up_and_trains_in_its_worker(rtrain):
    result = rtrain.run_ok("""
        local torch, train, data = require 'torch', require 'rtrain', require 'rtrain.data'
        local Mine = train.BaseTrainer:extend 'Mine'
        function Mine:init(scale, options)
          train.BaseTrainer.init(self, options)
          self.scale = scale
        end
        function Mine:setup() self.model = torch.nn.Linear(1, 1) end
        function Mine:training_loop()
          local context = train.get_context()
          local optimizer = torch.optim.SGD(self.model:parameters(), {lr = 1e-3})
          for batch in self.datasets.train:iter_torch_batches {batch_size = 4, dtypes = torch.float32} do
            local loss = self.model(batch.id:unsqueeze(1)):square():mean() * self.scale
            optimizer:zero_grad()
            loss:backward()
            optimizer:step()
            train.report {loss = loss, owner = context:get_metadata().owner, world_size = context:get_world_size()}
          end
          return 'trained'
        end
        local result = Mine(3, {datasets = {train = data.range(8)}, metadata = {owner = 'ada'}}):fit()
        print('result', result.return_value, #result.metrics_dataframe, result.metrics.owner, result.metrics.world_size)
        """)
    assert words(result, "result") == [["trained", "2", "ada", "1"]]


def test_a_subclass_of_a_trainer_works_around_its_training(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local Mine = train.DataParallelTrainer:extend 'Mine'
        function Mine:setup() print('setup', train.get_context == nil) end
        function Mine:training_loop()
          print 'before'
          train.DataParallelTrainer.training_loop(self)
          print 'after'
        end
        print('metrics', Mine(function() train.report {one = 1} end):fit().metrics.one)
        """)
    assert [line.split("\t")[0] for line in result.stdout.splitlines()] == ["setup", "before", "after", "metrics"]


# behaviour: `metadata`, `resume_from_checkpoint`
def test_metadata_is_in_checkpoints_and_another_run_begins_with_one(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local function save(epoch)
          train.tempdir(function(dir)
            local file = io.open(dir .. '/epoch', 'w')
            file:write(epoch)
            file:close()
            local checkpoint = train.Checkpoint.from_directory(dir)
            if epoch == 2 then checkpoint:set_metadata {owner = 'own', epoch = 2} end
            train.report({epoch = epoch}, {checkpoint = checkpoint})
          end)
        end
        local function read(path) return io.open(path .. '/epoch'):read '*n' end
        local function loop(config)
          local checkpoint = train.get_checkpoint()
          local first = checkpoint and checkpoint:with_directory(read) + 1 or 1
          for epoch = first, config.epochs do
            save(epoch)
            if epoch == 3 and first == 3 then error 'again' end
          end
          return train.get_context():get_metadata().owner
        end
        local metadata = {owner = 'ada', size = {1, 2}}
        local first = train.TorchTrainer(loop, {train_loop_config = {epochs = 2}, metadata = metadata}):fit()
        local own = first.checkpoint:get_metadata()
        print('metadata', first.return_value, own.owner, own.epoch, own.size[2],
          first.best_checkpoints[1].checkpoint:get_metadata().owner)
        local second = train.TorchTrainer(loop, {train_loop_config = {epochs = 4}, resume_from_checkpoint = first.checkpoint,
          run_config = {failure_config = {max_failures = 1}}}):fit()
        local epochs = {}
        for i, row in ipairs(second.metrics_dataframe) do epochs[i] = row.epoch end
        print('epochs', table.concat(epochs, ' '), second.metrics.epoch, next(second.checkpoint:get_metadata()))
        """)
    assert words(result, "metadata") == [["ada", "own", "2", "2", "ada"]]
    assert words(result, "epochs") == [["3 4", "4", "nil"]]


# behaviour: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT in the workers
def test_workers_find_who_they_are_in_their_environment(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local function loop()
          local values = {}
          for _, name in ipairs {'RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE', 'NODE_RANK', 'MASTER_ADDR'} do
            values[#values + 1] = os.getenv(name)
          end
          print('found', table.concat(values, ' '), tonumber(os.getenv 'MASTER_PORT') > 0)
          return os.getenv 'MASTER_PORT'
        end
        local config = train.TorchConfig {init_method = 'env://', set_cuda_device = false}
        train.TorchTrainer(loop, {scaling_config = {num_workers = 2}, torch_config = config}):fit()
        train.TorchTrainer(loop, {scaling_config = {num_workers = 0}}):fit()
        print('after', os.getenv 'RANK', os.getenv 'MASTER_PORT')
        """)
    assert words(result, "found") == [
        ["0 1 0 1 0 127.0.0.1", "true"],
        ["0 2 0 2 0 127.0.0.1", "true"],
        ["1 2 1 2 0 127.0.0.1", "true"],
    ]
    assert words(result, "after") == [["nil", "nil"]]
