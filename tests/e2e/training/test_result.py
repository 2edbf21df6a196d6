"""The result that fit() returns to the script, and the arguments and output of `rtrain run`."""

import json
import shlex
import socket
import time

import pytest

RUN = """
local train = require 'rtrain'
local trainer = train.TorchTrainer{
  train_loop_per_worker = function(config)
    for epoch = 1, config.epochs do
      train.tempdir(function(dir)
        io.open(dir .. '/file', 'w'):close()
        train.report({accuracy = epoch == 2 and 0.9 or 0.5, config = config},
          {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
    end
    return {answer = 42, rank = train.get_context():get_world_rank()}
  end,
  train_loop_config = {epochs = 3, lr = 0.5, name = 'adam', flag = false, model = {width = 8}},
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{checkpoint_config = train.CheckpointConfig{
    num_to_keep = 2, checkpoint_score_attribute = 'accuracy', checkpoint_score_order = 'max'}},
}
local function describe(result)
  local accuracies = {}
  for i, row in ipairs(result.metrics_dataframe) do accuracies[i] = row.accuracy end
  print('last', result.metrics.accuracy, result.error, #result.best_checkpoints)
  print('checkpoint', result.checkpoint.path)
  print('best', result:get_best_checkpoint('accuracy', 'max').path)
  print('rows', table.concat(accuracies, ' '))
  print('path', result.path)
  print('text', tostring(result))
  local m = result.metrics
  print('automatic', m.training_iteration, m.time_total_s, m.timestamp, m.pid, m.hostname, m.node_ip)
end
"""


def values(result):
    """Returns the words of each line that the script printed, by the line's first word."""
    assert result.returncode == 0, result.stderr
    return {
        words[0]: words[1:] for words in (line.split("\t") for line in result.stdout.splitlines()) if len(words) > 1
    }


# behaviour: `Result.from_path` equals the live result
# behaviour: `get_best_checkpoint`
def test_the_result_and_its_copy_from_the_store(rtrain):
    printed = values(
        rtrain.run_ok(
            RUN
            + """
        local result = trainer:fit()
        describe(result)
        print('returned', result.return_value.answer, result.return_value.rank)
        """,
            "--name",
            "mine",
        )
    )
    folder = rtrain.run_folder("mine")
    assert printed["last"] == ["0.5", "nil", "2"]
    assert printed["rows"] == ["0.5 0.9 0.5"]
    assert printed["path"] == [str(folder)]
    assert printed["text"][0].startswith("Result(metrics={accuracy=0.5 config={") and printed["text"][0].endswith(
        f"}}, checkpoint=Checkpoint({printed['checkpoint'][0]}), path={folder})"
    )
    assert printed["returned"] == ["42", "0"]
    iteration, seconds, timestamp, pid, hostname, address = printed["automatic"]
    (attempt,) = rtrain.json("show", "mine")["attempts"]
    assert (iteration, pid, hostname, address) == (
        "3",
        str(attempt["workers"][0]["pid"]),
        socket.gethostname(),
        "127.0.0.1",
    )
    assert 0 < float(seconds) < 600 and abs(time.time() - float(timestamp)) < 600
    by_index = {row["index"]: row for row in rtrain.json("checkpoint", "ls", "mine")}
    assert printed["checkpoint"] == [by_index[2]["path"]]
    assert printed["best"] == [by_index[1]["path"]]

    script = RUN + f"describe(train.Result.from_path('{folder}'))"
    restored = values(rtrain("exec", rtrain.script(script)))
    for key in ("last", "checkpoint", "best", "rows", "path", "text", "automatic"):
        assert restored[key] == printed[key]


def test_the_scripts_own_metrics_have_precedence_over_automatic_fields(rtrain):
    printed = values(
        rtrain.run_ok(
            """
        local train = require 'rtrain'
        local function loop()
          if train.get_context():get_world_rank() == 0 and not train.get_checkpoint() then
            train.tempdir(function(dir)
              io.open(dir .. '/file', 'w'):close()
              train.report({pid = 'mine', loss = 0.5}, {checkpoint = train.Checkpoint.from_directory(dir)})
            end)
            error 'once'
          end
          train.report {pid = 'mine', loss = 0.25}
        end
        local result = train.DataParallelTrainer{train_loop_per_worker = loop,
          run_config = train.RunConfig{failure_config = train.FailureConfig{max_failures = 1}}}:fit()
        local names = {}
        for name in pairs(result.metrics) do names[#names + 1] = name end
        table.sort(names)
        print('names', table.concat(names, ' '))
        print('values', result.metrics.pid, result.metrics.training_iteration, result.metrics.loss)
        print('text', tostring(result))
        """,
            "--name",
            "own",
        )
    )
    assert printed["names"] == ["hostname loss node_ip pid time_total_s timestamp training_iteration"]
    assert printed["values"] == ["mine", "2", "0.25"]
    assert printed["text"][0].startswith("Result(metrics={loss=0.25 pid=mine}, ")
    first, second = rtrain.json("show", "own")["attempts"]
    shown = rtrain.json("show", "own")["last_report"]
    assert shown["pid"] == second["workers"][0]["pid"] != first["workers"][0]["pid"]


def test_set_is_typed_by_the_value_it_replaces(rtrain):
    rtrain.run_ok(
        RUN + "trainer:fit()",
        "--set",
        "epochs=1",
        "--set",
        "lr=2",
        "--set",
        "name=007",
        "--set",
        "flag=true",
        "--set",
        "model.width=16",
    )
    (metrics,) = rtrain.reports()
    assert metrics["config"] == {"epochs": 1, "lr": 2, "name": "007", "flag": True, "model": {"width": 16}}
    assert rtrain.json("show", "last")["config"] == metrics["config"]


@pytest.mark.parametrize("setting, hint", [("epoch=1", "epochs"), ("model.widht=1", "width"), ("lr=fast", "lr")])
def test_a_wrong_setting_is_refused_with_a_hint(rtrain, setting, hint):
    result = rtrain.run(RUN + "trainer:fit()", "--set", setting)
    assert result.returncode in (2, 3)
    assert hint in result.stderr
    assert not rtrain.storage.exists() or rtrain.json("ls") == []


def test_flags_override_the_script_and_arguments_reach_it(rtrain):
    rtrain.run_ok(
        RUN + "print('arguments', arg[1], arg[2]) trainer:fit()",
        "-n",
        "1",
        "--set",
        "epochs=1",
        "--name",
        "named",
        "--note",
        "why",
        "--tag",
        "a",
        "--",
        "one",
        "--two",
    )
    (run,) = rtrain.json("ls")
    assert (run["name"], run["num_workers"], run["tags"]) == ("named", 1, ["a"])


def test_a_run_without_a_name_is_named_after_the_script(rtrain):
    rtrain.run_ok(RUN + "trainer:fit()", "--set", "epochs=1")
    rtrain.run_ok(RUN + "trainer:fit()", "--set", "epochs=1")
    names = [run["name"] for run in rtrain.json("ls")]
    assert len(set(names)) == 2 and all(name.startswith("train-") for name in names)


def test_in_a_pipe_there_is_one_plain_line_for_each_report_and_the_way_back(rtrain):
    result = rtrain.run_ok(RUN + "trainer:fit()", "--name", "mine")
    text = result.stdout + result.stderr
    assert "\x1b" not in text and "\r" not in text
    assert len([line for line in text.splitlines() if "accuracy" in line]) >= 3
    assert "rtrain show mine" in text
    quiet = rtrain.run_ok(RUN + "trainer:fit()", "--name", "quiet", "-q")
    assert len(quiet.stderr.splitlines()) < len(result.stderr.splitlines())


def test_the_command_at_the_end_shows_the_run_wherever_it_is(rtrain):
    result = rtrain.run_ok(RUN + "trainer:fit()", "--name", "mine", "--storage", "else where")
    command = shlex.split(result.stderr.splitlines()[-1])
    assert command == ["rtrain", "show", "mine", "--storage", str(rtrain.folder / "else where")]
    assert "status      FINISHED" in rtrain(*command[1:]).stdout


def test_a_script_without_fit_is_told(rtrain):
    result = rtrain.run_ok("print('nothing')")
    assert "train.lua ended without a call of fit(): nothing was trained" in result.stderr
    assert rtrain.json("ls") == []


def test_the_environment_document(rtrain):
    result = rtrain("env", "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    libtorch = document["libtorch"]
    assert libtorch["version"].startswith(libtorch["engine"] + ".") and libtorch["engine"] in libtorch["engines"]


# Rows of different kinds, one after the other: names of one row must not appear in the next.
def test_rows_of_the_data_frame_are_what_was_reported(rtrain):
    script = rtrain.script("""
        local train = require 'rtrain'
        local rows = {
          {loss = 0.5, epoch = 1}, {loss = 0.25, epoch = 2}, {epoch = 3}, {}, {loss = 1 / 3, epoch = 4, note = 'text'},
          {loss = 0 / 0, epoch = 5}, {loss = 1e300 * 1e300, epoch = 6}, {['a "b"'] = 1, epoch = 7},
          {inner = {loss = 1}, list = {1, 2}},
          {epoch = 8, flag = true}, {n = 9007199254740993LL, epoch = 9}, {loss = 2 ^ 60, epoch = 10},
          {loss = 1e19, low = -1e19, zero = -0.0}, {loss = 0.125, epoch = 11},
        }
        local result = train.TorchTrainer{
          train_loop_per_worker = function() for _, row in ipairs(rows) do train.report(row) end end,
          scaling_config = train.ScalingConfig{num_workers = 1},
        }:fit()
        local frame = result.metrics_dataframe
        assert(#frame == #rows)
        local function same(a, b)
          if type(a) ~= 'table' then return type(a) == type(b) and (a == b or a ~= a and b ~= b) end
          if type(b) ~= 'table' then return false end
          for key, value in pairs(a) do if not same(value, b[key]) then return false end end
          for key in pairs(b) do if a[key] == nil then return false end end
          return true
        end
        for i, row in ipairs(rows) do print(i, same(row, frame[i])) end
        """)
    result = rtrain("run", script)
    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if line[:1].isdigit()]
    assert lines == [f"{i}\ttrue" for i in range(1, 15)], result.stdout
