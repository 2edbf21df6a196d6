"""A controller's memory does not grow with its run: data that arrives too fast is passed on, held back or dropped.

Neither does the memory of a command that reads a run.
"""

import contextlib
import json
import sqlite3
import subprocess
import sys

import pytest

from conftest import RTRAIN, Rtrain, nightly, sample

pytestmark = nightly

# grown(f): by how many MB f raises the peak memory of this process, the controller, above that of a first short run.
SCRIPT = """
local train = require 'rtrain'
local function peak_mb() return tonumber(io.open('/proc/self/status'):read('*a'):match('VmHWM:%s*(%d+) kB')) / 1024 end
local function grown(fit)
  fit(1)
  local before = peak_mb()
  local result = fit(@COUNT@)
  print('grown by ' .. math.ceil(peak_mb() - before))
  return result
end
"""


def grown_mb(result):
    return int(result.stdout.split("grown by ")[1].split()[0])


def test_100_000_reports_are_not_kept(rtrain):
    result = rtrain.run_ok(
        SCRIPT.replace("@COUNT@", "100000")
        + """
        local result = grown(function(count)
          return train.DataParallelTrainer({
            train_loop_per_worker = function()
              for step = 1, count do train.report {step = step, loss = 1 / step, accuracy = 0.5, lr = 1e-3} end
            end,
          }):fit()
        end)
        assert(result.metrics.step == 100000)
        print('rows', #result.metrics_dataframe, result.metrics_dataframe[77].loss == 1 / 77)
        """,
        "-q",
    )
    assert "rows\t100000\ttrue" in result.stdout
    # As Lua tables the rows would take 70 MB more.
    assert grown_mb(result) < 60


def test_a_slow_predicate_sees_every_report_and_holds_the_ranks_back(rtrain):
    result = rtrain.run_ok(
        SCRIPT.replace("@COUNT@", "4000")
        + """
        local text = ('x'):rep(20000)
        local seen, slow = 0, 0
        grown(function(count)
          seen = 0
          return train.DataParallelTrainer({
            train_loop_per_worker = function() for step = 1, count do train.report {step = step, text = text} end end,
            run_config = train.RunConfig {stop = function(metrics)
              seen = seen + 1
              assert(metrics.step == seen)
              for _ = 1, 20000 do slow = (slow + 1) % 7 end
              return false
            end},
          }):fit()
        end)
        print('seen', seen)
        """,
        "-q",
    )
    assert "seen\t4000" in result.stdout
    # All events together are 160 MB: each has the metrics and the metrics of the ranks.
    assert grown_mb(result) < 130


def test_what_a_validation_prints_is_held_back_as_a_workers_output(rtrain):
    result = rtrain.run_ok(
        SCRIPT.replace("@COUNT@", "1500")
        + """
        local line = ('x'):rep(65535) .. '\\n'
        grown(function(count)
          return train.DataParallelTrainer({
            train_loop_per_worker = function()
              train.tempdir(function(dir)
                train.report({score = 1}, {checkpoint = train.Checkpoint.from_directory(dir), validation = true})
              end)
            end,
            validation_config = train.ValidationConfig {fn = function()
              for _ = 1, count do io.write(line) end
              io.write('done\\n')
              return {}
            end},
          }):fit()
        end)
        """,
        "-q",
    )
    logs = list(rtrain.storage.glob("*/logs/attempt-1/validation-*.log"))
    assert sorted(path.stat().st_size for path in logs) == [65536 + 5, 1500 * 65536 + 5]
    assert grown_mb(result) < 70


def test_notes_that_come_faster_than_the_store_takes_them_hold_their_rank_back(rtrain):
    result = rtrain.run_ok(
        SCRIPT.replace("@COUNT@", "2000")
        + """
        local text = ('x'):rep(60000)
        grown(function(count)
          return train.DataParallelTrainer({train_loop_per_worker = function()
            for _ = 1, count do train.annotate(text) end
          end}):fit()
        end)
        """,
        "-q",
    )
    with rtrain.database() as db:
        assert db.execute("SELECT count(*), sum(length(text)) FROM annotations").fetchone() == (2001, 2001 * 60000)
    # All annotations together are 120 MB.
    assert grown_mb(result) < 60


POINTS = 600_000
REPORTS = 60_000


@pytest.fixture(scope="module")
def long_and_short(tmp_path_factory):
    """A store with two runs: `long` and `short`."""
    rtrain = Rtrain(tmp_path_factory.mktemp("results"))
    for name, points, reports in [("short", 10, 10), ("long", POINTS, REPORTS)]:
        rtrain.run_ok(
            f"""
            local train = require 'rtrain'
            train.DataParallelTrainer {{train_loop_per_worker = function()
              for step = 1, {points} do train.log({{x = step % 1000 / 7}}, {{step = step}}) end
              train.report {{loss = 0.5}}
            end}}:fit()
        """,
            "--name",
            name,
            "-q",
        )
        with contextlib.closing(sqlite3.connect(rtrain.storage / "rtrain.db", isolation_level=None)) as db:
            [run_id] = db.execute("SELECT run_id FROM runs WHERE name = ?", [name]).fetchone()
            db.execute("BEGIN")
            for index in range(1, reports):
                metrics = {"loss": 1 / index, "epoch": index, "lr": 1e-3, "note": "x" * 40, "list": [index] * 8}
                db.execute(
                    "INSERT INTO reports(run_id, attempt, idx, rank, time, metrics) VALUES(?, 1, ?, 0, ?, ?)",
                    [run_id, index, 1763769600000 + index, json.dumps(metrics)],
                )
            db.execute("COMMIT")
    return rtrain


# The command's own peak in MB: it is the only child of a small process.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def command_peak_mb(rtrain, *args):
    done = subprocess.run(
        [sys.executable, "-I", "-c", PEAK, RTRAIN, *args],
        cwd=rtrain.folder,
        env=rtrain.env,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


# The values of all rows together would take several times these limits.
@pytest.mark.parametrize(
    "most_mb, args",
    [
        (16, ["export", "RUN"]),
        (16, ["export", "RUN", "--format", "json"]),
        (48, ["export", "RUN", "--format", "parquet", "-o", "rows.parquet"]),
        (16, ["export", "RUN", "--logged"]),
        (16, ["export", "RUN", "--logged", "--format", "json"]),
        (48, ["export", "RUN", "--logged", "--format", "parquet", "-o", "points.parquet"]),
        (16, ["export", "RUN", "--format", "tensorboard", "-o", "events"]),
        (12, ["plot", "RUN", "x"]),
        (12, ["plot", "RUN", "x", "--smooth", "0.9"]),
        (12, ["plot", "RUN", "x", "--json"]),
        (12, ["plot", "RUN", "x", "--json", "--smooth", "0.9", "--by", "time"]),
    ],
    ids=lambda value: "-".join(value[:1] + value[2:]).replace("---", "-") if isinstance(value, list) else "",
)
def test_a_command_does_not_grow_with_what_it_reads(long_and_short, most_mb, args):
    def peak_mb(run):
        return command_peak_mb(long_and_short, *[run if arg == "RUN" else arg for arg in args])

    assert peak_mb("long") - peak_mb("short") < most_mb


ROWS = {"short": 10_000, "long": 250_000}
FEATURES = 256

MODEL_AND_ROWS = """
local data, torch = require 'rtrain.data', require 'torch'
torch.save_safetensors(torch.nn.Linear(@FEATURES@, 4):state_dict(), 'model/model.safetensors')
for name, count in next, {short = @SHORT@, long = @LONG@} do
  data.from_tensors {x = torch.randn(count, @FEATURES@)}:write_parquet(name, {row_group_size = 4096})
end
"""


@pytest.fixture(scope="module")
def model_and_rows(tmp_path_factory):
    """A model, and the folders `short` and `long` with 10 and 256 MB of rows for it."""
    rtrain = Rtrain(tmp_path_factory.mktemp("predict"))
    (rtrain.folder / "model").mkdir()
    text = MODEL_AND_ROWS.replace("@FEATURES@", str(FEATURES))
    for name, count in ROWS.items():
        text = text.replace(f"@{name.upper()}@", str(count))
    result = rtrain("exec", rtrain.script(text, "rows.lua"))
    assert result.returncode == 0, result.stderr
    rtrain.script(
        f"return {{build_model = function() return require('torch').nn.Linear({FEATURES}, 4) end}}", "model.lua"
    )
    return rtrain


@pytest.mark.parametrize("output", sample("out.jsonl", "out.csv", "out.parquet"))
def test_predictions_are_written_as_the_rows_come(model_and_rows, output):
    def peak_mb(name):
        return command_peak_mb(
            model_and_rows,
            "predict",
            "./model",
            name,
            "--script",
            "model.lua",
            "--model",
            "build_model",
            "--batch-size",
            "1000",
            "--device",
            "cpu",
            "-o",
            output,
        )

    # The difference allows for rows that are read ahead of the predictions.
    short = peak_mb("short")
    assert peak_mb("long") - short < 190
    if output != "out.parquet":
        with open(model_and_rows.folder / output, encoding="utf-8") as file:
            assert sum(1 for _ in file) == ROWS["long"] + (output == "out.csv")
