"""An object store whose manifests and keys lead out of the checkpoint: a run that begins from it writes nothing there."""

import json
import sqlite3

import pytest

pytest.importorskip("moto", reason="moto is not here: scripts/test --oracle installs it")
from checker import xxh3
from conftest import nightly
from s3_server import s3, server  # noqa: F401  (fixtures)
from test_object_storage import empty_disk, files, known

pytestmark = nightly

SCRIPT = """
local epochs, train = require 'epochs', require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function(config)
    for epoch = epochs.of(train.get_checkpoint()) + 1, config.epochs do epochs.save(epoch) end
    if config.fails then error 'half way' end
  end,
  train_loop_config = {epochs = 1, fails = false},
  run_config = train.RunConfig{name = 'run', storage_path = 's3://bucket/results', resume = 'auto'},
}:fit()
"""


def add_file(path):
    return lambda checkpoint: checkpoint["files"].append({**checkpoint["files"][0], "path": path})


def add_folder(path):
    return lambda checkpoint: checkpoint["folders"].append(path)


def add_link(path, target):
    return lambda checkpoint: checkpoint["files"].append({"path": path, "link": target})


def add_below_a_link(target):
    def change(checkpoint):
        add_link("door", target)(checkpoint)
        add_file("door/planted")(checkpoint)

    return change


# What is done to a manifest, and the words of its refusal. @OUT@ is a folder outside of the storage.
HOSTILE = [
    (add_file("../planted"), "the name '../planted' leads out of the checkpoint"),
    (add_file("a/../../planted"), "the name 'a/../../planted' leads out of the checkpoint"),
    (add_file("@OUT@/planted"), "the name '@OUT@/planted' leads out of the checkpoint"),
    (add_folder("../planted"), "the name '../planted' leads out of the checkpoint"),
    (add_folder("@OUT@/planted"), "the name '@OUT@/planted' leads out of the checkpoint"),
    (add_link("door", "../../../planted"), "door leads out of the checkpoint, to ../../../planted"),
    (add_link("door", "@OUT@"), "door leads out of the checkpoint, to @OUT@"),
    (add_below_a_link("@OUT@"), "door leads out of the checkpoint, to @OUT@"),
    (add_below_a_link("."), "door/planted is below a file or link"),
    (lambda checkpoint: checkpoint.update(name="../planted"), "the name '../planted' leads out of the checkpoint"),
]


def object_of(s3, checkpoint):
    (key,) = files(s3, f"results/run/checkpoints/{checkpoint}/")
    return key, json.loads(s3.get(key))


def forge(s3, checkpoint, change, outside):
    """Changes a manifest in the bucket as somebody who may write there: its hash is right."""
    key, stored = object_of(s3, checkpoint)
    manifest = json.loads(stored["manifest"])
    changed = manifest["checkpoint"]
    change(changed)
    text = json.dumps(changed, separators=(",", ":")).replace("@OUT@", str(outside))
    manifest["checkpoint"], manifest["xxh3"] = json.loads(text), xxh3(text.encode())
    rank = next(iter(stored["ranks"].values()))
    stored["ranks"].update({file["path"]: rank for file in manifest["checkpoint"]["files"]})
    stored["manifest"] = json.dumps(manifest)
    s3.put(key, json.dumps(stored))


# fault: an object store in which somebody has changed manifests so that they write outside of the checkpoint
def test_manifests_that_lead_out_of_the_checkpoint_are_refused(rtrain, s3, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    count = len(HOSTILE) + 1
    script = rtrain.script(SCRIPT)
    assert rtrain("run", script, "--set", f"epochs={count}", "--set", "fails=true").returncode == 1
    for i, (change, _) in enumerate(HOSTILE):
        forge(s3, f"checkpoint_{i + 1:06}", change, outside)
    empty_disk(rtrain)
    result = rtrain("run", script, "--set", f"epochs={count}")
    assert result.returncode == 0, result.stderr
    said = result.stderr.splitlines()
    for i, (_, reason) in enumerate(HOSTILE):
        (line,) = [each for each in said if f"checkpoint_{i + 1:06} cannot be used: " in each]
        assert "is damaged: " + reason.replace("@OUT@", str(outside)) in line
        assert f"checkpoint_{i + 1:06}/1-1.json" in line
    assert list(outside.iterdir()) == [] and list(rtrain.folder.rglob("*planted*")) == []
    rows = [(row["attempt"], row["metrics"]["epoch"]) for row in known(rtrain, "metrics", "run")]
    assert rows == [(1, 1), *((2, epoch) for epoch in range(2, count + 1))]


def change_rows(s3, folder, statement):
    (key,) = files(s3, "results/.rtrain/run/")
    path = folder / "rows.db"
    path.write_bytes(s3.get(key))
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    s3.put(key, path.read_bytes())
    path.unlink()


# fault: an object store in which somebody has put keys, rows and places of files that lead out of the run
def test_keys_rows_and_places_that_lead_out_of_the_run_are_refused(rtrain, s3):
    script = rtrain.script(SCRIPT)
    assert rtrain("run", script, "--set", "epochs=2", "--set", "fails=true").returncode == 1
    key, stored = object_of(s3, "checkpoint_000001")
    s3.put(key, json.dumps({**stored, "stage": "../../../elsewhere"}))
    (rows,) = files(s3, "results/.rtrain/run/")
    hostile = {f"results/run/checkpoints/{name}/9-9.json": s3.get(key) for name in ("..", "../../victim")}
    hostile.update({f"results/.rtrain/{name}/9-9-ab.db": s3.get(rows) for name in ("..", "../victim")})
    for name, content in hostile.items():
        s3.put(name, content)
    victim = rtrain.folder / ".local/state/rtrain/s3/bucket/results/victim"

    def empty_disk_with_victim():
        empty_disk(rtrain)
        victim.mkdir(parents=True)
        (victim / "kept").write_text("kept")

    empty_disk_with_victim()
    result = rtrain("run", script, "--set", "epochs=2")
    assert result.returncode == 0, result.stderr
    assert "checkpoint_000001 cannot be used: " in result.stderr
    assert "the name '../../../elsewhere' leads out of the checkpoint" in result.stderr
    assert [run["name"] for run in known(rtrain, "ls")] == ["run"]
    assert [(row["attempt"], row["metrics"]["epoch"]) for row in known(rtrain, "metrics", "run")] == [(1, 1), (2, 2)]
    assert [path.read_text() for path in victim.iterdir()] == ["kept"]

    change_rows(s3, rtrain.folder, "UPDATE checkpoints SET name = '../../victim' WHERE idx = 1")
    empty_disk_with_victim()
    result = rtrain("run", script, "--set", "epochs=3")
    assert result.returncode == 4, result.stderr
    assert "the name '../../victim', which leads out of its folder: another program has written it" in result.stderr
    assert [path.read_text() for path in victim.iterdir()] == ["kept"]
    assert set(hostile) <= set(s3.keys())
