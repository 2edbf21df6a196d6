"""The user's callbacks and stop conditions: called in the script's process while a run continues."""

import pytest

# Prints the arguments of each call.
TRACE = """
local train = require 'rtrain'
local Trace = train.UserCallback:extend('Trace')
function Trace:before_run(run_context) print('before_run', run_context.run_config.name, #run_context.run_id) end
function Trace:after_report(run_context, metrics, checkpoint)
  local values = {}
  for i, each in ipairs(metrics) do values[i] = each.value end
  print('after_report', table.concat(values, ' '), checkpoint and checkpoint.path:match '[^/]*$' or 'none')
end
function Trace:after_exception(run_context, exceptions)
  for rank, err in pairs(exceptions) do print('after_exception', rank, err.code, err.message:match '[^\\n]*') end
end
function Trace:after_run(result) print('after_run', tostring(result.error and result.error.code), result.return_value) end
"""


def traced(result):
    """Returns the lines that the callbacks printed, each as a list of words."""
    return [line.split("\t") for line in result.stdout.splitlines() if not line.startswith("[rank")]


def events(rtrain):
    with rtrain.database() as db:
        return [row[0] for row in db.execute("SELECT text FROM events ORDER BY event_id")]


# behaviour: hooks in order
def test_hooks_are_called_in_order(rtrain):
    result = rtrain.run_ok(
        TRACE
        + """
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            local rank = train.get_context():get_world_rank()
            if train.get_checkpoint() == nil then
              train.tempdir(function(dir)
                train.report({value = rank}, {checkpoint = train.Checkpoint.from_directory(dir)})
              end)
              if rank == 1 then error('first attempt') end
            end
            train.report {value = 10 + rank}
            return 'returned'
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          run_config = train.RunConfig{name = 'mine', callbacks = {Trace()},
                                       failure_config = train.FailureConfig{max_failures = 1}},
        }):fit()
        """
    )
    lines = traced(result)
    assert lines[0][:2] == ["before_run", "mine"] and int(lines[0][2]) > 8
    assert lines[1] == ["after_report", "0 1", "checkpoint_000000"]
    assert lines[2][:3] == ["after_exception", "1", "user"] and "first attempt" in lines[2][3]
    assert lines[3] == ["after_report", "10 11", "none"]
    assert lines[4] == ["after_run", "nil", "returned"]
    assert len(lines) == 5


# behaviour: what a callback sees
def test_callbacks_see_all_ranks_metrics_and_only_the_failing_ranks_errors(rtrain):
    result = rtrain.run(
        TRACE
        + """
        local torch = require 'torch'
        train.TorchTrainer({
          train_loop_per_worker = function()
            local rank = train.get_context():get_world_rank()
            train.report {value = rank}
            if rank == 2 then error('no data on rank 2') end
            torch.distributed.barrier()
          end,
          scaling_config = train.ScalingConfig{num_workers = 3},
          run_config = train.RunConfig{callbacks = {Trace()}},
        }):fit{raise = false}
        """
    )
    assert result.returncode == 0, result.stderr
    lines = traced(result)
    assert ["after_report", "0 1 2", "none"] in lines
    failed = [line for line in lines if line[0] == "after_exception"]
    assert len(failed) == 1 and failed[0][1:3] == ["2", "user"] and "no data on rank 2" in failed[0][3]
    assert lines[-1][:2] == ["after_run", "user"]


@pytest.mark.parametrize("hook", ["before_run", "after_report", "after_exception", "after_run"])
def test_a_failing_callback_is_reported_once_and_does_no_harm(rtrain, hook):
    result = rtrain.run_ok(f"""
        local train = require 'rtrain'
        local Bad = train.UserCallback:extend('Bad')
        function Bad:{hook}() error('tracker is down') end
        local Good = train.UserCallback:extend('Good')
        function Good:{hook}() print('good') end
        local result = train.DataParallelTrainer({{
          train_loop_per_worker = function()
            for i = 1, 3 do train.report {{i = i}} end
            if train.get_context():get_world_rank() == 0 and not io.open('tried') then
              io.open('tried', 'w'):close()
              error('once')
            end
            return 7
          end,
          run_config = train.RunConfig{{callbacks = {{Bad(), Good()}}, failure_config = {{max_failures = 1}}}},
        }}):fit()
        print('result', result.return_value)
        """)
    assert "result\t7" in result.stdout and "good" in result.stdout
    assert result.stderr.count("callback degraded") == 1, result.stderr
    assert f"callbacks[1] Bad:{hook}()" in result.stderr and "tracker is down" in result.stderr
    assert "train.lua:3" in result.stderr
    told = [text for text in events(rtrain) if text.startswith("callback degraded")]
    assert len(told) == 1 and "tracker is down" in told[0]
    assert "callback degraded" in rtrain("show", "last").stdout
    assert rtrain.json("show", "last")["status"] == "FINISHED"


def test_the_next_attempt_waits_for_after_exception(rtrain):
    rtrain.run_ok("""
        local train = require 'rtrain'
        local Repair = train.UserCallback:extend('Repair')
        function Repair:after_exception() os.execute('sleep 0.3; touch repaired') end
        train.DataParallelTrainer({
          train_loop_per_worker = function() assert(io.open('repaired'), 'not yet') end,
          run_config = train.RunConfig{callbacks = {Repair()}, failure_config = {max_failures = 1}},
        }):fit()
        """)


def test_a_callback_that_takes_too_long_is_named_and_not_waited_for(rtrain):
    rtrain.env["RTRAIN_CALLBACK_TIMEOUT_S"] = "0.05"
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local Slow = train.UserCallback:extend('Slow')
        function Slow:after_exception()
          for _ = 1, 1000 do
            if io.open('second') then return end
            os.execute('sleep 0.03')
          end
          print('waited in vain')
        end
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            if not io.open('first') then io.open('first', 'w'):close(); error('once') end
            io.open('second', 'w'):close()
          end,
          run_config = train.RunConfig{callbacks = {Slow()}, failure_config = {max_failures = 1}},
        }):fit()
        """)
    assert "waited in vain" not in result.stdout
    assert "RTRAIN_CALLBACK_TIMEOUT_S" in result.stderr


# behaviour: a callback of a wrong type
def test_a_callback_of_the_wrong_type_is_refused_at_construction(rtrain):
    def message(value):
        result = rtrain(
            "exec",
            rtrain.script(f"""
            local train = require 'rtrain'
            local Mine = train.UserCallback:extend('Mine')
            train.RunConfig{{callbacks = {value}}}
            """),
        )
        assert "train.lua:3" in result.stderr and result.returncode == 3, result.stderr
        return result.stderr

    assert "expected a list of UserCallback" in message("Mine()")
    assert "[1] is the class Mine: write Mine() to make one" in message("{Mine}")
    assert "[2] is number" in message("{Mine(), 7}")
    assert "[1] is table" in message("{{after_report = print}}")


def test_callbacks_of_the_environment(rtrain):
    rtrain.script(TRACE + "return Trace()", "trace.lua")
    rtrain.script("return {require('rtrain').UserCallback:extend('Quiet')()}", "quiet.lua")
    rtrain.env["RTRAIN_CALLBACKS"] = "trace.lua, quiet.lua"
    script = """
        local train = require 'rtrain'
        train.DataParallelTrainer(function() train.report {value = 5} end):fit()
        """
    lines = traced(rtrain.run_ok(script))
    assert [line[0] for line in lines] == ["before_run", "after_report", "after_run"]
    for files, message in (("missing.lua", "missing.lua"), ("bad.lua", "bad.lua returned number")):
        rtrain.script("return 7", "bad.lua")
        rtrain.env["RTRAIN_CALLBACKS"] = files
        result = rtrain.run(script)
        assert result.returncode == 3 and message in result.stderr and "RTRAIN_CALLBACKS" in result.stderr


def test_the_run_context_has_what_holds(rtrain):
    result = rtrain.run_ok(
        """
        local train, data = require 'rtrain', require 'rtrain.data'
        local Show = train.UserCallback:extend('Show')
        function Show:before_run(c)
          print(c.run_config.name, c:get_run_config() == c.run_config, c.train_loop_config.lr, c.scaling_config.num_workers,
            c.backend_config.timeout_s, c.datasets.train:count(), c.dataset_config.datasets_to_split,
            c.run_config.failure_config.max_failures)
        end
        train.TorchTrainer({
          train_loop_per_worker = function(config) end,
          train_loop_config = {lr = 0.5},
          torch_config = train.TorchConfig{timeout_s = 77},
          datasets = {train = data.range(9)},
          run_config = train.RunConfig{callbacks = {Show()}},
        }):fit()
        """,
        "--name",
        "flagged",
        "--set",
        "lr=0.25",
        "-n",
        "2",
        "--max-failures",
        "3",
    )
    assert result.stdout.split() == ["flagged", "true", "0.25", "2", "77", "9", "all", "3"]


STOP = """
    local train = require 'rtrain'
    local result = train.DataParallelTrainer({
      train_loop_per_worker = function()
        for epoch = 1, math.huge do
          train.tempdir(function(dir)
            local metrics = {epoch = epoch, rank = train.get_context():get_world_rank(), deep = {loss = 1 / epoch}}
            train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
          end)
        end
      end,
      scaling_config = train.ScalingConfig{num_workers = 2},
      run_config = train.RunConfig{name = 'mine', stop = %s},
    }):fit()
    assert(result.error == nil and result.metrics.epoch >= 3)
"""


@pytest.mark.parametrize(
    "condition",
    [
        "{epoch = 3}",
        "{['deep/loss'] = 2, epoch = 3}",
        "function(metrics) return metrics.epoch >= 3 and metrics.rank == 0 end",
    ],
)
def test_a_stop_condition_ends_the_run_as_finished(rtrain, condition):
    rtrain.run_ok(STOP % condition)
    assert rtrain.json("show", "mine")["status"] == "FINISHED"
    assert rtrain.reports("mine")[2]["epoch"] == 3


def test_a_stop_condition_that_fails_is_reported_and_the_run_goes_on(rtrain):
    for condition, message in (
        ("{epoc = 3}", "no metric 'epoc': did you mean 'epoch'?"),
        ("function(metrics) return metrics.missing.x end", "train.lua:"),
    ):
        result = rtrain.run_ok(
            """
            local train = require 'rtrain'
            train.DataParallelTrainer({
              train_loop_per_worker = function() for epoch = 1, 5 do train.report {epoch = epoch} end end,
              run_config = train.RunConfig{stop = %s},
            }):fit()
            """
            % condition
        )
        assert result.stderr.count("callback degraded: RunConfig.stop") == 1 and message in result.stderr, result.stderr
        assert len(rtrain.reports()) == 5
