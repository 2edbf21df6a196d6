"""What the tests of XGBoost's and LightGBM's trainers share: rows, and runs that fail."""

import json

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not here: scripts/test --oracle installs it")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not here: scripts/test --oracle installs it")
import pyarrow as pa  # pyarrow.parquet brings it

NAMES = ["a", "b", "c", "d"]


def waits(round_):
    """Lua code that waits in round 2 for the file `go`; `round_` is a round's number in Lua."""
    return f"while {round_} == 2 and not io.open('go') do os.execute('sleep 0.02') end"


def rows(folder, count, is_discrete):
    """Writes features and labels to train.parquet. With few distinct values the bins are exact for any split of the
    rows."""
    random = np.random.default_rng(0)
    x = random.normal(size=(count, len(NAMES)))
    x = np.round(x * 4) / 4 if is_discrete else x
    x[random.random(x.shape) < 0.05] = np.nan
    y = (np.nan_to_num(x[:, 0]) * 2 + np.nan_to_num(x[:, 1]) + random.normal(size=count) > 0).astype("float32")
    x = x.astype("float32")
    columns = {**{name: x[:, i] for i, name in enumerate(NAMES)}, "y": y}
    pq.write_table(pa.table(columns), folder / "train.parquet", row_group_size=500)
    return x, y


def kills(round_):
    """Lua code that kills rank 1 in round 7 of its first attempt. It reads `rank`, and the attempt's first round, `first`."""
    return f"if {round_} == 7 and first == 0 and rank == 1 then os.execute('kill -9 $PPID') end"


def shown_by(rtrain, lua):
    """Runs the Lua code and returns the JSON that it prints."""
    output = rtrain("exec", rtrain.script(lua))
    assert output.returncode == 0, output.stderr
    return json.loads(output.stdout)


def check_killed_rank(rtrain, script_of, round_):
    """Runs "calm", and "killed", of which a rank is killed. `script_of(hook)` makes a script with the hook in each round."""
    rtrain.run_ok(script_of(), "--name", "calm")
    rtrain.run_ok(script_of(kills(round_)), "--name", "killed", "--max-failures", "1")
    assert rtrain.statuses("killed") == ["ERRORED", "FINISHED"]
    rtrain.wait_for_processes()


def check_error_of_one_rank(rtrain, script_of, round_):
    """The error of one rank is the run's error."""
    result = rtrain.run(script_of(f"if {round_} == 2 and rank == 1 then error('of mine') end"))
    assert result.returncode == 1, result.stdout + result.stderr
    assert "rank 1 raised an error" in result.stderr and "of mine" in result.stderr
    rtrain.wait_for_processes()


def check_message(rtrain, lua, says):
    """The error of the fourth line of the Lua code names that line."""
    result = rtrain("exec", rtrain.script(lua))
    assert result.returncode != 0
    assert "train.lua:4: " in result.stderr and "Stack trace" not in result.stderr, result.stderr
    for text in says:
        assert text in result.stderr


def check_missing_library(rtrain, script, says):
    """The script ends with that error of the environment."""
    result = rtrain("exec", script)
    assert result.returncode == 4, result.stderr
    for text in says:
        assert text in result.stderr
