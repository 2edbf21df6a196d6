"""Validation of checkpoints in parallel with the training, and the list of all checkpoints that ranks can get."""

import os
import signal

import pytest

from conftest import wait_until

# Rank 0 runs @REPORTS@ in each epoch to report; @VALIDATE@ is the body of the validation function.
SCRIPT = """
local epochs, files, train = require 'epochs', require 'files', require 'rtrain'

local function save(epoch, validation, metrics)
  train.tempdir(function(dir)
    files.write(dir .. '/epoch', tostring(epoch))
    train.report(metrics or {score = epoch, loss = 1 / epoch},
      {checkpoint = train.Checkpoint.from_directory(dir), validation = validation})
  end)
end
local function statuses(options)
  local out = {}
  for i, each in ipairs(train.get_all_reported_checkpoints(options)) do
    out[i] = epochs.of(each.checkpoint) .. ':' .. each.status .. ':' .. tostring(each.metrics.score)
  end
  return table.concat(out, ' ')
end

train.TorchTrainer{
  train_loop_per_worker = function()
    local rank = train.get_context():get_world_rank()
@TRAIN@
  end,
  scaling_config = train.ScalingConfig{num_workers = @WORKERS@},
  run_config = train.RunConfig{name = 'run', checkpoint_config = {@CONFIG@}},
  validation_config = train.ValidationConfig{
    fn = function(checkpoint, options)
@VALIDATE@
    end,
    task_config = train.ValidationTaskConfig{fn_kwargs = {factor = 10, shift = 0}},
    @OPTIONS@
  },
}:fit()
"""


def script(train, validate, config="", workers=1, options=""):
    return (
        SCRIPT.replace("@TRAIN@", train)
        .replace("@VALIDATE@", validate)
        .replace("@CONFIG@", config)
        .replace("@WORKERS@", str(workers))
        .replace("@OPTIONS@", options)
    )


BY_SCORE = "num_to_keep = 1, checkpoint_score_attribute = 'score'"


def checkpoints(rtrain, *args):
    return {row["index"]: row for row in rtrain.json("checkpoint", "ls", "run", *args)}


# behaviour: validation rescues a checkpoint
def test_a_validation_rescues_a_checkpoint_of_low_score(rtrain):
    result = rtrain.run_ok(
        script(
            """
        for epoch = 1, 3 do save(epoch, epoch == 1) end
        """,
            """
        print('validating', epochs.of(checkpoint), options.factor)
        return {score = 100, extra = require('torch').tensor(2.5)}
        """,
            BY_SCORE,
        )
    )
    kept = checkpoints(rtrain)
    assert sorted(kept) == [0, 2], "the validated one and the latest"
    assert kept[0]["metrics"] == {"score": 100, "loss": 1, "extra": 2.5} and kept[0]["best"]
    assert kept[0]["status"] == "VALIDATED" and kept[2]["status"] == "COMMITTED"
    folder = rtrain.run_folder("run")
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == [
        "checkpoint_000000",
        "checkpoint_000002",
    ]
    log = folder / "logs" / "attempt-1" / "validation-checkpoint_000000.log"
    assert log.read_text() == "validating\t1\t10\n"
    assert "[validation checkpoint_000000] validating" in result.stdout
    assert "validation of checkpoint_000000" in result.stderr


# behaviour: an error of a validation
def test_what_goes_wrong_in_a_validation_does_no_harm(rtrain):
    result = rtrain.run_ok(
        script(
            """
        for epoch = 1, 4 do
          save(epoch, epoch == 3 and train.ValidationTaskConfig{timeout_s = 0.2, fn_kwargs = {shift = 1}} or true)
        end
        """,
            """
        local epoch = epochs.of(checkpoint)
        if epoch == 1 then error('no data for it') end
        if epoch == 2 then return 'good' end
        if epoch == 3 then while true do end end
        os.exit(3)
        """,
        )
    )
    kept = checkpoints(rtrain)
    assert [kept[i]["status"] for i in range(4)] == [
        "VALIDATION_FAILED",
        "VALIDATION_FAILED",
        "VALIDATION_TIMEOUT",
        "VALIDATION_FAILED",
    ]
    assert [kept[i]["metrics"]["score"] for i in range(4)] == [1, 2, 3, 4]
    for index, text in enumerate(["no data for it", "string", "0.2 s", "exited"]):
        assert text in kept[index]["problem"], kept[index]
        assert text in result.stderr
    assert rtrain.json("show", "run")["status"] == "FINISHED"


# behaviour: `get_all_reported_checkpoints` counts checkpoints
# behaviour: COMMITTED and VALIDATED
def test_every_rank_is_told_the_same(rtrain):
    rtrain.run_ok(
        script(
            """
        local told = {}
        for epoch = 1, 2 do
          if rank == 0 then save(epoch, true) else train.report{} end
          told[epoch] = statuses{consistency_mode = train.CheckpointConsistencyMode.COMMITTED}
        end
        io.open('go', 'w'):close()
        told[3] = statuses()
        train.report{told = told}
        """,
            """
        files.wait_for 'go'
        return {score = epochs.of(checkpoint) * options.factor}
        """,
            workers=3,
        )
    )
    (row,) = [row for row in rtrain.json("metrics", "run", "--ranks") if row["index"] == 2]
    assert row["ranks"][0]["told"] == [
        "1:PENDING_VALIDATION:1",
        "1:PENDING_VALIDATION:1 2:PENDING_VALIDATION:2",
        "1:VALIDATED:10 2:VALIDATED:20",
    ]
    assert row["ranks"][1] == row["ranks"][0] == row["ranks"][2]


def test_checkpoints_with_large_metrics_are_told_whole(rtrain):
    result = rtrain.run_ok("""
        local epochs, train = require 'epochs', require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            for i, size in ipairs{200000, 900000, 1000000, 10} do epochs.save(i, {text = ('x'):rep(size)}) end
            for _, each in ipairs(train.get_all_reported_checkpoints()) do print('size', #each.metrics.text) end
          end,
          run_config = train.RunConfig{name = 'run', failure_config = {max_failures = 1}},
        }:fit()
        """)
    assert [line.split("\t")[1] for line in result.stdout.splitlines() if "size\t" in line] == [
        "200000",
        "900000",
        "1000000",
        "10",
    ]
    assert rtrain.statuses() == ["FINISHED"]


def test_metrics_of_a_validation_that_do_not_fit_are_refused(rtrain):
    result = rtrain.run_ok(
        script(
            """
        train.tempdir(function(dir)
          files.write(dir .. '/epoch', '1')
          train.report({text = ('x'):rep(900000)},
            {checkpoint = train.Checkpoint.from_directory(dir), validation = true})
        end)
        """,
            "return {more = ('y'):rep(900000)}",
        )
    )
    (kept,) = checkpoints(rtrain).values()
    assert kept["status"] == "VALIDATION_FAILED" and "the limit is" in kept["problem"]
    assert "the limit is" in result.stderr
    assert set(kept["metrics"]) == {"text"}


# behaviour: metrics-only reports do not block it
def test_reports_of_metrics_only_are_not_waited_for(rtrain):
    rtrain.run_ok(
        script(
            """
        local committed = {consistency_mode = train.CheckpointConsistencyMode.COMMITTED}
        train.report{only = 'metrics'}
        local told = {#train.get_all_reported_checkpoints(committed)}
        if rank == 0 then save(1) else train.report{} end
        for _ = 1, 3 do train.report{only = 'metrics'} end
        told[2] = statuses(committed)
        told[3] = statuses{timeout_s = 30}
        train.report{told = told}
        """,
            "return {}",
            workers=2,
        )
    )
    (row,) = [row for row in rtrain.json("metrics", "run", "--ranks") if row["index"] == 5]
    assert [rank["told"] for rank in row["ranks"]] == [[0, "1:COMMITTED:1", "1:COMMITTED:1"]] * 2


def test_waiting_for_reported_checkpoints_has_an_end(rtrain):
    result = rtrain.run(
        script(
            """
        if rank == 0 then
          save(1, true)
          train.report{early = statuses{timeout_s = 0.1}}
          train.get_all_reported_checkpoints{mode = 1}
        end
        train.report{}
        train.report{}
        """,
            """
        files.wait_for 'go'
        return {}
        """,
            workers=2,
            options="validation_drain_timeout_s = 0.3",
        )
    )
    assert result.returncode == 1
    assert "unknown option 'mode'" in result.stderr and "consistency_mode" in result.stderr
    assert rtrain.reports("run")[1] == {"early": "1:PENDING_VALIDATION:1"}
    (row,) = checkpoints(rtrain).values()
    assert row["status"] == "VALIDATION_TIMEOUT" and "validation_drain_timeout_s" in row["problem"]
    assert "waiting for 1 validation" in result.stderr


def test_an_interrupt_does_not_wait_for_validations(rtrain):
    text = script(
        "save(1, true)",
        """
        io.open('validating', 'w'):close()
        while true do end
        """,
    )
    running = rtrain.start("run", rtrain.script(text))
    wait_until(
        lambda: "the training is over" in running.stderr and (rtrain.folder / "validating").exists(),
        message="the validation",
    )
    running.send(signal.SIGINT)
    assert running.wait().returncode == 0, "the training itself is done"
    assert "1 validation was cancelled" in running.stderr
    (row,) = checkpoints(rtrain).values()
    assert row["status"] == "PENDING_VALIDATION"


def test_a_killed_controller_takes_its_validation_along_and_the_next_one_does_it_again(rtrain):
    text = script(
        """
        if train.get_checkpoint() then return end
        save(1, train.ValidationTaskConfig{fn_kwargs = {shift = 5}})
        while true do train.report{} os.execute('sleep 0.05') end
        """,
        """
        local file = io.open('validating', 'a')
        file:write('x')
        file:close()
        files.wait_for 'go'
        return {score = 100 + options.shift}
        """,
    )
    running = rtrain.start("run", rtrain.script(text))
    begun = rtrain.folder / "validating"
    wait_until(lambda: begun.exists() and begun.read_text() == "x", message="the validation")
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    (rtrain.folder / "go").touch()
    resumed = rtrain("run", rtrain.folder / "train.lua", "--resume", "must")
    assert resumed.returncode == 0, resumed.stderr
    (row,) = checkpoints(rtrain).values()
    assert row["status"] == "VALIDATED" and row["metrics"]["score"] == 105
    assert begun.read_text() == "xx"


@pytest.mark.parametrize(
    "train, reason",
    [
        ("train.report({}, {validation = true})", "validation without a checkpoint"),
        ("save(1, 'yes')", "ValidationTaskConfig"),
        ("save(1, nil, {score = 'high'})", "checkpoint_score_attribute 'score' is a string"),
    ],
)
# behaviour: validation without a checkpoint
def test_what_cannot_be_validated_is_refused(rtrain, train, reason):
    result = rtrain.run(script(train, "return {}", BY_SCORE))
    assert result.returncode == 1
    assert reason in result.stderr and "train.lua" in result.stderr
    assert rtrain.json("checkpoint", "ls", "run") == []


def test_validation_needs_a_validation_config(rtrain):
    text = script("save(1, true)", "return {}")
    result = rtrain.run(text[: text.index("  validation_config =")] + "}:fit()")
    assert result.returncode == 1
    assert "validation_config" in result.stderr


def test_a_validation_function_starts_no_run(rtrain):
    rtrain.run_ok(
        script(
            "save(1, true)",
            """
        return train.TorchTrainer(function() end):fit().metrics
        """,
        )
    )
    (row,) = checkpoints(rtrain).values()
    assert row["status"] == "VALIDATION_FAILED" and "cannot start a run" in row["problem"]


def test_a_checkpoint_without_a_score_is_named(rtrain):
    result = rtrain.run_ok(script("save(1, nil, {loss = 1, f1 = 2})", "return {}", BY_SCORE))
    assert "have no 'score'" in result.stderr and "loss, f1" in result.stderr


def test_a_long_list_of_checkpoints_comes_whole_and_in_order(rtrain):
    """The list has 1 MB of metrics, more than one message can carry."""
    body = """
      local text = ('x'):rep(40000)
      for epoch = 1, 30 do save(epoch, nil, {score = epoch, text = text}) end
      local all = train.get_all_reported_checkpoints()
      local sum = 0
      for i, each in ipairs(all) do
        assert(each.metrics.score == i and each.metrics.text == text)
        assert(tonumber(each.checkpoint.path:match '%d+$') == i - 1)
        sum = sum + each.metrics.score
      end
      print('all', #all, sum)
    """
    result = rtrain.run_ok(script(body, "return {}"), "-q")
    assert "all\t30\t465" in result.stdout
