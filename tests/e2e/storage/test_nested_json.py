"""JSON that is nested too deeply for the stack is an error of the file, wherever it is read."""

import json

import pytest

from conftest import nightly

pytestmark = nightly

READ = """
local data = require 'rtrain.data'
local ok, result = pcall(function() return data.read_json(arg[1]):take_all() end)
print(ok, ok and #result or result.message)
"""
METADATA = """
local train = require 'rtrain'
local ok, result = pcall(function() return train.Checkpoint.from_directory(arg[1]):get_metadata() end)
print(ok, ok and #result or result.code .. ' ' .. result.message)
"""
SAVING = """
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    for epoch = 1, 2 do
      train.tempdir(function(dir)
        io.open(dir .. '/file', 'w'):close()
        train.report({epoch = epoch}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
    end
  end,
  run_config = train.RunConfig{name = 'run'},
}:fit()
"""


def nested(kind, depth):
    opening, closing = {"lists": ("[", "]"), "objects": ('{"a":', "}"), "both": ('[{"a":', "}]")}[kind]
    return opening * depth + "1" + closing * depth


@pytest.mark.parametrize("kind", ["lists", "objects", "both"])
@pytest.mark.parametrize("form", ["lines", "array"])
def test_rows_that_are_nested_too_deeply_are_refused(rtrain, kind, form):
    script = rtrain.script(READ)
    path = rtrain.folder / "rows.json"

    def read(depth):
        rows = ['{"a": 0}', json.dumps({"b": 0})[:-2] + nested(kind, depth) + "}"]
        path.write_text("\n".join(rows) + "\n" if form == "lines" else "[" + ",\n".join(rows) + "]")
        result = rtrain("exec", script, path)
        assert result.returncode == 0, result.stderr
        return result.stdout

    assert read(20) == "true\t2\n"
    refused = read(20_000)
    assert refused.startswith("false\t") and "rows.json" in refused and "100 levels" in refused


@pytest.mark.parametrize(
    "bytes", ["[" * 10**6, '{"metadata":' * 10**5, nested("both", 10**5)], ids=["lists", "objects", "both"]
)
def test_a_manifest_of_brackets_is_a_damaged_one(rtrain, bytes):
    rtrain.run_ok(SAVING)
    folder = rtrain.run_folder("run") / "checkpoints" / "checkpoint_000001"
    (folder / ".rtrain-checkpoint.json").write_text(bytes)
    read = rtrain("exec", rtrain.script(METADATA, name="metadata.lua"), folder)
    assert read.returncode == 0, read.stderr
    assert (
        read.stdout.startswith("false\tcheckpoint checkpoint manifest")
        and "is damaged: nested deeper than 100" in read.stdout
    )
    repaired = rtrain("gc", "--rebuild")
    assert repaired.returncode == 0, repaired.stderr
    assert "left alone" in repaired.stdout and "checkpoint_000001: checkpoint manifest" in repaired.stdout


def test_what_a_lock_says_of_its_owner_is_not_trusted(rtrain):
    rtrain.run_ok(SAVING)
    (rtrain.run_folder("run") / "lock").write_text("[" * 10**6)
    assert rtrain("gc", "--rebuild").returncode == 0 and rtrain("run", "train.lua", "--resume", "auto").returncode == 0
