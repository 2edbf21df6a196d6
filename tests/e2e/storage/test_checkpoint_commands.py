"""rtrain checkpoint: ls, verify, export and prune."""

import json
import os
import shutil
import struct

import pytest

from conftest import ENDLESS, Rtrain, refused

TRAINED = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function()
    for i, accuracy in ipairs {0.5, 0.9, 0.7, 0.6} do
      train.tempdir(function(dir)
        local weight = torch.full({2, 3}, i)
        torch.save({model = {weight = weight, tied = weight, bias = torch.ones(2)}, epoch = i,
                    optimizer = {state = {torch.zeros(1)}, lr = 0.1}}, dir .. '/model.pt')
        local file = io.open(dir .. '/notes.txt', 'w')
        file:write('epoch ' .. i)
        file:close()
        train.report({accuracy = accuracy}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
    end
  end,
  run_config = train.RunConfig {name = 'run', checkpoint_config = train.CheckpointConfig {
    checkpoint_score_attribute = 'accuracy', checkpoint_score_order = 'max'}},
}:fit()
"""
NAMES = [f"checkpoint_{index:06}" for index in range(4)]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with a run of four checkpoints, of which the second is the best."""
    rtrain = Rtrain(tmp_path_factory.mktemp("results"))
    rtrain.run_ok(TRAINED, "-q")
    shutil.rmtree(rtrain.runtime)
    return rtrain.storage


def kept(rtrain):
    return [row["name"] for row in rtrain.json("checkpoint", "ls", "run")]


def read_safetensors(path):
    """Returns shapes and values of float32 tensors by name, and the metadata."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    out = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32"
        begin, end = entry["data_offsets"]
        out[name] = (
            entry["shape"],
            list(struct.unpack(f"<{(end - begin) // 4}f", content[8 + size + begin : 8 + size + end])),
        )
    return out, metadata


def test_checkpoints_that_are_whole_are_verified(trained):
    rows = trained.json("checkpoint", "verify", "run")
    assert [(row["name"], row["files"], row["ok"], row["problems"]) for row in rows] == [
        (name, 2, True, []) for name in NAMES
    ]
    assert trained("checkpoint", "verify", "run").stdout.count("  ok\n") == 4
    assert [row["name"] for row in trained.json("checkpoint", "verify", "run", "best")] == NAMES[1:2]


def test_what_differs_is_named_file_by_file(trained):
    folder = trained.run_folder("run") / "checkpoints"
    notes = folder / NAMES[0] / "notes.txt"
    notes.write_text("epoch 9")  # has the same size as before
    (folder / NAMES[0] / "model.pt").write_bytes(b"short")
    (folder / NAMES[2] / ".rtrain-checkpoint.json").write_text("{}")
    (folder / NAMES[3] / "notes.txt").unlink()
    result = trained("checkpoint", "verify", "run", "--json")
    assert result.returncode == 4 and "3 of 4 checkpoints of the run 'run' differ" in result.stderr, result.stderr
    rows = json.loads(result.stdout)
    assert [row["ok"] for row in rows] == [False, True, False, False]
    problems = {(row["name"], each["file"]): each["problem"] for row in rows for each in row["problems"]}
    assert "its hash is" in problems[NAMES[0], "notes.txt"]
    assert problems[NAMES[0], "model.pt"].startswith("5 bytes, the manifest says")
    assert "not a manifest of format 1" in problems[NAMES[2], ".rtrain-checkpoint.json"]
    assert problems[NAMES[3], "notes.txt"] == "it is missing"
    damaged = trained("checkpoint", "export", "run", NAMES[0], "-o", "out")
    assert damaged.returncode == 4 and "is damaged" in damaged.stderr and not (trained.folder / "out").exists()


def test_a_checkpoint_is_exported_as_a_folder(trained):
    row = trained.json("checkpoint", "export", "run", "-o", "out")
    assert row == {"run": "run", "name": NAMES[1], "output": "out", "files": 2}
    assert (trained.folder / "out/notes.txt").read_text() == "epoch 2"
    refused(trained("checkpoint", "export", "run", "-o", "out"), "it is there already")
    refused(trained("checkpoint", "export", "run"), "--output is required")
    assert trained("checkpoint", "export", "run", "latest", "-o", "last").returncode == 0
    assert (trained.folder / "last/notes.txt").read_text() == "epoch 4"


def test_the_model_is_exported_as_safetensors(trained):
    row = trained.json("checkpoint", "export", "run", "--safetensors", "-o", "model.safetensors")
    assert row == {
        "run": "run",
        "name": NAMES[1],
        "output": "model.safetensors",
        "file": "model.pt",
        "part": "model",
        "tensors": 3,
    }
    tensors, metadata = read_safetensors(trained.folder / "model.safetensors")
    assert tensors == {"weight": ([2, 3], [2.0] * 6), "tied": ([2, 3], [2.0] * 6), "bias": ([2], [1.0, 1.0])}
    assert metadata["rtrain_run"] == "run" and json.loads(metadata["rtrain_metrics"]) == {"accuracy": 0.9}
    part = trained.json("checkpoint", "export", "run", NAMES[0], "--safetensors", "--part", "optimizer", "-o", "part")
    assert part["tensors"] == 1 and part["left_out"] == ["lr"]
    assert list(read_safetensors(trained.folder / "part")[0]) == ["state.0"]


def test_the_state_of_every_parameter_is_exported_under_its_number(rtrain):
    rtrain.run_ok(
        """
        local torch, train = require 'torch', require 'rtrain'
        local function train_loop()
          local layers = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
          layers[1].weight:requires_grad_(false)
          local both, later = torch.optim.SGD(layers[2]:parameters(), {lr = 1, momentum = 0.9}),
            torch.optim.SGD(layers[1]:parameters(), {lr = 1, momentum = 0.9})
          layers(torch.ones(1, 1)):sum():backward()
          both:step()
          later:step()
          train.tempdir(function(dir)
            torch.save({optimizer = both:state_dict(), later = later:state_dict()}, dir .. '/state.pt')
            train.report({loss = 1}, {checkpoint = train.Checkpoint.from_directory(dir)})
          end)
        end
        train.TorchTrainer {train_loop_per_worker = train_loop, run_config = train.RunConfig {name = 'run'}}:fit()
    """,
        "-q",
    )

    def names(*args):
        rtrain.json("checkpoint", "export", "run", "--safetensors", "-o", "out", *args)
        found = sorted(read_safetensors(rtrain.folder / "out")[0])
        (rtrain.folder / "out").unlink()
        return found

    states = ["later.state.1", "optimizer.state.0", "optimizer.state.1"]
    assert names() == [f"{state}.momentum_buffer" for state in states]
    assert names("--part", "optimizer.state") == ["0.momentum_buffer", "1.momentum_buffer"]
    assert names("--part", "later.state.1") == ["momentum_buffer"]


def test_what_cannot_be_exported_as_safetensors_is_refused(trained):
    def export(*args):
        return trained("checkpoint", "export", "run", "--safetensors", "-o", "out", *args)

    refused(export("--part", "modl"), "model.pt has no part 'modl', it has epoch, model, optimizer")
    refused(export("--file", "notes.txt"), "notes.txt is none of .pt")
    refused(export("--file", "x.pt"), "no file 'x.pt', the checkpoint has model.pt, notes.txt")
    refused(export("--part", "epoch"), "epoch has no tensors")
    assert not (trained.folder / "out").exists()


def test_the_best_and_the_latest_are_left(trained):
    refused(
        trained("checkpoint", "prune", "run"),
        "remove 2 checkpoints of the run run",
        "and keep 2 checkpoints",
        "say --yes",
    )
    dry = trained.json("checkpoint", "prune", "run", "--dry-run")
    assert [row["keep"] for row in dry] == [False, True, False, True] and not any(row["removed"] for row in dry)
    assert kept(trained) == NAMES
    done = trained("checkpoint", "prune", "run", "--keep", 2, "--yes")
    assert done.returncode == 0 and done.stdout.startswith(NAMES[0]) and "3 checkpoints kept" in done.stderr
    assert kept(trained) == NAMES[1:]
    assert [row["removed"] for row in trained.json("checkpoint", "prune", "run", "-y")] == [False, True, False]
    assert kept(trained) == [NAMES[1], NAMES[3]]
    assert sorted(os.listdir(trained.run_folder("run") / "checkpoints")) == [NAMES[1], NAMES[3]]
    assert trained.json("show", "run")["best_checkpoints"][0]["name"] == NAMES[1]
    assert trained.json("checkpoint", "prune", "run", "--yes")[0]["keep"] and trained.json("gc") == []


# fault: SIGKILL in the middle of checkpoint prune
def test_a_prune_that_is_killed_leaves_rows_and_files_that_agree(trained):
    trained.env["RTRAIN_FAULT"] = "db.committed:1:kill"
    assert trained("checkpoint", "prune", "run", "--yes").returncode == -9
    del trained.env["RTRAIN_FAULT"]
    assert kept(trained) == [NAMES[1], NAMES[3]]
    found = trained.json("gc")
    assert [os.path.basename(item["path"]) for item in found] == [NAMES[0], NAMES[2]]
    assert sorted(os.listdir(trained.run_folder("run") / "checkpoints")) == [NAMES[1], NAMES[3]]


def test_a_live_run_is_not_pruned(rtrain):
    running = rtrain.started("run", rtrain.script(ENDLESS))
    refused(rtrain("checkpoint", "prune", "endless", "--yes"), "a live run cannot be pruned", "rtrain stop endless")
    assert rtrain("stop", "endless").returncode == 0
    running.wait()


def test_wrong_words_are_refused(trained):
    refused(
        trained("checkpoint"),
        "checkpoint: give a command: ls, verify, export, prune",
        "Run `rtrain checkpoint --help`.",
    )
    refused(trained("checkpoint", "verfy", "run"), "unknown command 'verfy': did you mean 'verify'?")
    refused(trained("checkpoint", "run"), "unknown command 'run'", "ls, verify, export, prune")
    refused(trained("checkpoint", "ls"), "RUN is required", "Run `rtrain checkpoint ls --help`.")
    refused(
        trained("checkpoint", "verify", "run", "checkpoint_000009"),
        "has no checkpoint 'checkpoint_000009'",
        "kept are checkpoint_000000, ",
    )
    refused(trained("checkpoint", "prune", "run", "best"), "best")
    refused(trained("checkpoint", "ls", "run", "--keep", "2"), "unknown option '--keep'")
    refused(trained("checkpoint", "verify", "run", "--safetensors"), "unknown option '--safetensors'")
    refused(trained("checkpoint", "export", "run", "-o", "x", "--part", "model"), "--part requires --safetensors")


def test_the_help_of_the_commands_below(rtrain):
    listed = rtrain("checkpoint", "--help").stdout
    assert [line.split()[0] for line in listed[listed.index("Commands:") :].splitlines()[1:] if line] == [
        "ls",
        "verify",
        "export",
        "prune",
    ]
    verify = rtrain("checkpoint", "verify", "--help")
    assert verify.returncode == 0 and "rtrain checkpoint verify [OPTIONS] RUN [NAME]" in verify.stdout
    assert rtrain("help", "checkpoint").stdout == listed
    assert rtrain("help", "checkpoint", "verify").stdout == verify.stdout
    refused(rtrain("help", "checkpoint", "verfy"), "unknown command 'verfy': did you mean 'verify'?")
