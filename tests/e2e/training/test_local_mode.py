"""Local mode: with num_workers = 0 the process that calls fit() runs the train function itself, with the same store."""

import os
import signal

import pytest

from conftest import wait_until

TRAIN = """
local torch, train, data = require 'torch', require 'rtrain', require 'rtrain.data'
local function train_func(config)
  local context = train.get_context()
  assert(context:get_world_size() == 1 and context:get_world_rank() == 0 and context:get_local_world_size() == 1)
  torch.manual_seed(config.seed)
  local model = train.torch.prepare_model(torch.nn.Linear(1, 1))
  local first = 1
  local checkpoint = train.get_checkpoint()
  if checkpoint then
    first = checkpoint:with_directory(function(dir)
      local state = torch.load(dir .. '/state.pt')
      model:load_state_dict(state.model)
      return state.epoch + 1
    end)
  end
  local optimizer = torch.optim.SGD(model:parameters(), {lr = config.lr})
  local shard = train.get_dataset_shard('train')
  for epoch = first, config.epochs do
    local loss
    for batch in shard:iter_torch_batches{batch_size = 4, dtypes = {id = 'float32'}} do
      local x = batch.id:view(-1, 1) / 8
      loss = (model(x) - 2 * x):pow(2):mean()
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
    end
    train.collective.barrier()
    assert(train.collective.broadcast_from_rank_zero(epoch) == epoch)
    train.tempdir(function(dir)
      torch.save({model = train.torch.unwrap(model):state_dict(), epoch = epoch}, dir .. '/state.pt')
      train.report({epoch = epoch, loss = loss:item()}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
    if epoch == 2 and first == 1 then error('once') end
  end
  return context:get_experiment_name()
end
local result = train.TorchTrainer({
  train_loop_per_worker = train_func,
  train_loop_config = {epochs = 4, lr = 0.1, seed = 1},
  datasets = {train = data.range(16)},
  run_config = train.RunConfig{failure_config = {max_failures = 1},
    checkpoint_config = {num_to_keep = 2, checkpoint_score_attribute = 'loss', checkpoint_score_order = 'min'}},
}):fit()
print('returned', result.return_value, #result.metrics_dataframe, #result.best_checkpoints)
"""


def test_local_mode_and_one_worker_leave_the_same_run(rtrain):
    script = rtrain.script(TRAIN)
    for name, args in (("local", ["--local"]), ("zero", ["-n", "0"]), ("one", ["-n", "1"])):
        result = rtrain("run", script, "--name", name, *args)
        assert result.returncode == 0, result.stderr
        assert f"returned\t{name}\t4\t2" in result.stdout
    runs = {name: rtrain.json("show", name) for name in ("local", "zero", "one")}
    reports = {name: rtrain.reports(name) for name in runs}
    assert reports["local"] == reports["zero"] == reports["one"] and len(reports["one"]) == 4
    for name, run in runs.items():
        assert run["status"] == "FINISHED" and [a["status"] for a in run["attempts"]] == ["ERRORED", "FINISHED"]
        assert run["num_workers"] == 1
        kept = [row["name"] for row in rtrain.json("checkpoint", "ls", name)]
        assert kept == [row["name"] for row in rtrain.json("checkpoint", "ls", "one")] and len(kept) == 2
        assert sorted(path.name for path in (rtrain.run_folder(name) / "checkpoints").iterdir()) == sorted(kept)
    assert rtrain.json("show", "local")["attempts"][0]["error"]["message"].count("once") == 1


def test_no_worker_process_is_started(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local calls = 0
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            calls = calls + 1
            print('children', io.popen([[cat /proc/$PPID/task/*/children | wc -w]]):read '*n')
          end,
          scaling_config = {num_workers = 0}}):fit()
        print('calls', calls)
        """)
    # The shell of popen, and the process that copies the output to the log.
    assert "children\t2" in result.stdout and "calls\t1" in result.stdout


def test_errors_and_exit_codes_are_those_of_workers(rtrain):
    body = """
        local train = require 'rtrain'
        train.DataParallelTrainer({train_loop_per_worker = function() %s end}):fit()
        """
    for code in ("error('broken')", "local t = nil; t.x = 1", "train.report(5)", "train.get_dataset_shard('x')"):
        local, one = (rtrain.run(body % code, "-n", n) for n in "01")
        assert local.returncode == one.returncode == 1, (code, local.stderr)
        assert local.stderr.splitlines()[-3:] == one.stderr.splitlines()[-3:]
        assert rtrain.json("show", "last")["status"] == "ERRORED"
    refused = rtrain.run(body % "return function() end", "-n", "0")
    assert refused.returncode == 1 and "a function is not plain data" in refused.stderr


def test_several_runs_in_one_script(rtrain):
    result = rtrain.run_ok("""
        local torch, train = require 'torch', require 'rtrain'
        local sum = torch.zeros(1)
        for i, workers in ipairs{0, 2, 0} do
          local result = train.TorchTrainer({
            train_loop_per_worker = function()
              local x = torch.ones(1)
              torch.distributed.all_reduce(x)
              sum = sum + x
              train.report {x = x:item()}
            end,
            scaling_config = {num_workers = workers}}):fit()
          print('run', i, result.metrics.x)
        end
        print('sum', sum:item())
        local ok, err = pcall(train.report, {})
        print('outside', ok, err.message:match 'works in the train function only')
        """)
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines == [
        ["run", "1", "1"],
        ["run", "2", "2"],
        ["run", "3", "1"],
        ["sum", "2"],
        ["outside", "false", "works in the train function only"],
    ]


def test_callbacks_and_stop_conditions_run_between_reports(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local Trace = train.UserCallback:extend('Trace')
        function Trace:after_report(_, metrics) print('seen', metrics[1].i) end
        local result = train.DataParallelTrainer({
          train_loop_per_worker = function()
            for i = 1, math.huge do
              train.tempdir(function(dir)
                train.report({i = i}, {checkpoint = train.Checkpoint.from_directory(dir)})
              end)
            end
          end,
          scaling_config = {num_workers = 0},
          run_config = train.RunConfig{callbacks = {Trace()}, stop = {i = 3}}}):fit()
        print('end', result.error)
        """)
    assert "seen\t1\nseen\t2\nseen\t3\n" in result.stdout and result.stdout.endswith("end\tnil\n")
    assert rtrain.json("show", "last")["status"] == "FINISHED"


@pytest.mark.parametrize("loop", ["while true do io.open('x') end", "for i = 1, math.huge do train.report{i = i} end"])
def test_a_signal_ends_a_train_function_that_does_not_ask(rtrain, loop):
    running = rtrain.start(
        "run",
        rtrain.script(f"""
        local train = require 'rtrain'
        train.DataParallelTrainer({{
          train_loop_per_worker = function() io.open('running', 'w'):close() {loop} end,
          scaling_config = {{num_workers = 0}},
          run_config = {{failure_config = {{preemption_grace_s = 0.3}}}}}}):fit()
        """),
    )
    wait_until(lambda: (rtrain.folder / "running").exists(), message="the train function")
    running.send(signal.SIGINT)
    assert running.wait().returncode == 130, running.stderr
    assert rtrain.json("show", "last")["status"] == "ABORTED"


def test_fit_inside_the_train_function_is_refused(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        local trainer
        trainer = train.DataParallelTrainer({train_loop_per_worker = function() trainer:fit() end,
          scaling_config = {num_workers = 0}})
        trainer:fit()
        """)
    assert result.returncode == 1 and "fit() inside a train" in result.stderr


def test_a_killed_local_run_is_taken_up_again(rtrain):
    text = """
        local epochs, train = require 'epochs', require 'rtrain'
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            local first = epochs.of(train.get_checkpoint()) + 1
            for epoch = first, 5 do
              epochs.save(epoch)
              if epoch == 3 and first == 1 then os.execute 'kill -9 $PPID' end
            end
          end,
          scaling_config = {num_workers = 0},
          run_config = train.RunConfig{name = 'mine', resume = 'auto'}}):fit()
        """
    assert rtrain.run(text).returncode == -signal.SIGKILL
    result = rtrain.run_ok(text)
    assert "FINISHED" in result.stderr
    assert [row["epoch"] for row in rtrain.reports("mine")] == [1, 2, 3, 4, 5]
    assert os.path.isdir(rtrain.run_folder("mine") / "checkpoints" / "checkpoint_000004")


PRINTS = """
    local train = require 'rtrain'
    local Noisy = train.UserCallback:extend('Noisy')
    function Noisy:after_report() print('of the callback') end
    train.DataParallelTrainer({
      train_loop_per_worker = function()
        for step = 1, 3 do
          print('step', step)
          io.stderr:write('warning ', step, '\\n')
          os.execute('echo of a program')
          train.report{step = step}
        end
        @THEN@
      end,
      scaling_config = {num_workers = 0},
      run_config = train.RunConfig{name = 'mine', callbacks = {Noisy()}}}):fit()
    print('after the run')
    """
PRINTED = "".join(f"step\t{step}\nwarning {step}\nof a program\n" for step in (1, 2, 3))


def log_of(rtrain, name="mine"):
    return (rtrain.run_folder(name) / "logs/attempt-1/rank-0.log").read_text()


def test_what_the_train_function_prints_is_in_the_logs(rtrain):
    result = rtrain.run_ok(PRINTS.replace("@THEN@", ""))
    log = log_of(rtrain)
    assert [line for line in log.splitlines() if "warning" not in line] == [
        line for line in PRINTED.splitlines() if "warning" not in line
    ]
    assert log.count("warning") == 3 and "callback" not in log and "after the run" not in log
    shown = rtrain("logs", "mine").stdout
    assert shown.count("[rank 0] ") == 9 and "[rank 0] step\t3\n" in shown
    shown = result.stdout.replace("of the callback\n", "")
    assert shown == ("step\t%d\nof a program\n" * 3) % (1, 2, 3) + "after the run\n", "in order, without a rank"
    assert result.stdout.count("of the callback\n") == 3
    assert result.stderr.count("warning") == 3


def test_streams_that_are_one_file_keep_their_order(rtrain):
    script = rtrain.script(PRINTS.replace("@THEN@", ""))
    with open(rtrain.folder / "both", "wb") as both:
        rtrain.popen("run", script, "-q", stdout=both, stderr=both).wait(60)
    text = (rtrain.folder / "both").read_text()
    assert text.replace("of the callback\n", "") == PRINTED + "after the run\n"
    assert log_of(rtrain) == PRINTED


@pytest.mark.parametrize(
    "death, code",
    [
        ("os.execute('kill -9 ' .. '$PPID')", -signal.SIGKILL),
        ("os.exit(3)", 3),
        ("os.execute('kill -ABRT ' .. '$PPID')", -signal.SIGABRT),
    ],
)
def test_what_was_printed_before_a_crash_is_not_lost(rtrain, death, code):
    body = "for line = 1, 20000 do print('line', line) end io.write('last words\\n') " + death
    result = rtrain.run(PRINTS.replace("@THEN@", body))
    assert result.returncode == code
    expected = "".join(f"line\t{line}\n" for line in range(1, 20001)) + "last words\n"
    wait_until(lambda: log_of(rtrain).endswith("last words\n"), message="the last line in the log")
    assert expected in log_of(rtrain)
    out = next(rtrain.folder.glob("stdout-*"))
    wait_until(lambda: out.read_text().endswith(expected), message="the last line on the screen")


def test_an_error_follows_what_was_printed_in_the_log(rtrain):
    assert rtrain.run(PRINTS.replace("@THEN@", "print('soon') error('broken')")).returncode == 1
    wait_until(lambda: "broken" in log_of(rtrain), message="the error in the log")
    assert log_of(rtrain).index("soon") < log_of(rtrain).index("broken")


def test_a_reader_that_takes_its_time_loses_nothing(rtrain):
    body = "for line = 1, 3000 do print(('x'):rep(1000)) end"
    process = rtrain.popen("run", rtrain.script(PRINTS.replace("@THEN@", body)), "-q")
    wait_until(lambda: (rtrain.run_folder("mine") / "logs/attempt-1/rank-0.log").exists(), message="the log")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and out.count("x" * 1000 + "\n") == 3000 and out.endswith("after the run\n")
    assert log_of(rtrain).count("x" * 1000 + "\n") == 3000


# A signal during a call of C, where no Lua error can be raised; and a script that catches the error and continues.
@pytest.mark.parametrize(
    "body, number, code",
    [
        ("io.popen('echo $$ > sleeper; exec sleep 1000'):read()", signal.SIGINT, 130),
        ("while true do pcall(function() while true do io.open('x') end end) end", signal.SIGTERM, 143),
    ],
)
def test_a_train_function_that_ignores_a_stop_ends_with_its_process(rtrain, body, number, code):
    running = rtrain.start(
        "run",
        rtrain.script(
            """
        local train = require 'rtrain'
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            train.report{epoch = 1}
            io.open('running', 'w'):close()
            BODY
          end,
          scaling_config = {num_workers = 0},
          run_config = {name = 'mine', failure_config = {preemption_grace_s = 0.3}}}):fit()
        """.replace("BODY", body)
        ),
    )
    wait_until(lambda: (rtrain.folder / "running").exists(), message="the train function")
    if "sleeper" in body:
        sleeper = wait_until(
            lambda: (rtrain.folder / "sleeper").exists() and (rtrain.folder / "sleeper").read_text(),
            message="the program",
        )
    running.send(number)
    result = running.wait()
    if "sleeper" in body:
        os.kill(int(sleeper), signal.SIGKILL)
    assert result.returncode == code, result.stderr
    assert f"the process ends (exit code {code})" in result.stderr
    run = rtrain.json("show", "mine")
    assert run["status"] == "ABORTED" and run["ended_at"] and run["attempts"][0]["ended_at"]
    assert [row["epoch"] for row in rtrain.reports("mine")] == [1]
    assert not (rtrain.storage / "rtrain.db-wal").exists(), "the store is closed"


def test_the_functions_of_a_dataset_run_in_threads(rtrain):
    rtrain.run_ok("""
        local data, train = require 'rtrain.data', require 'rtrain'
        local factor = 3
        train.TorchTrainer {
          train_loop_per_worker = function()
            local sum = 0
            for batch in train.get_dataset_shard():iter_batches {batch_size = 4} do sum = sum + batch.id:sum():item() end
            train.report {sum = sum}
          end,
          scaling_config = train.ScalingConfig {num_workers = 0},
          datasets = {train = data.range(10):map(function(row) return {id = row.id * factor} end)},
        }:fit()
        """)
    assert rtrain.reports() == [{"sum": 135}]
