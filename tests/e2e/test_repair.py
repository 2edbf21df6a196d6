"""F57: a store with damaged pages is named, and `rtrain repair` brings back what the checkpoints say."""

import os

from test_resume import COUNTING, gone_on


def damage(rtrain, pages):
    """Overwrites these parts of the file, as a disk does that lost them."""
    path = rtrain.storage / "rtrain.db"
    size = path.stat().st_size
    with open(path, "r+b") as file:
        for part in pages:
            file.seek(int(size * part) // 4096 * 4096)
            file.write(os.urandom(4096))


def test_F_057_a_damaged_store_is_repaired_from_its_checkpoints(rtrain):
    rtrain.run_ok(COUNTING)
    assert rtrain("repair").returncode == 0, "a sound store stays one"
    assert [run["name"] for run in rtrain.json("ls")] == ["run"] and len(rtrain.reports("run")) == 4
    damage(rtrain, [0])
    refused = rtrain("ls")
    assert refused.returncode == 4 and "rtrain repair --storage" in refused.stderr
    assert rtrain("run", "train.lua", "--resume", "auto").returncode == 4
    repaired = rtrain("repair")
    assert repaired.returncode == 0, repaired.stderr
    assert "run run: 2 checkpoints brought back" in repaired.stdout
    assert len(list(rtrain.storage.glob("rtrain.db.damaged-*"))) >= 1
    show = rtrain.json("show", "run")
    assert show["status"] == "LOST" and [c["index"] for c in show["checkpoints"]] == [2, 3]
    gone_on(rtrain, "--set", "epochs=5")
    assert [row["epoch"] for row in rtrain.reports("run")] == [3, 4, 5]


def test_rows_beside_the_damage_are_saved(rtrain):
    rtrain.run_ok(COUNTING, "--set", "epochs=30")
    damage(rtrain, [0.6, 0.8])
    repaired = rtrain("repair")
    assert repaired.returncode == 0, repaired.stderr
    assert rtrain("ls").returncode == 0
    assert [c["index"] for c in rtrain.json("show", "run")["checkpoints"]][-2:] == [28, 29]
    gone_on(rtrain, "--set", "epochs=31")
    assert rtrain.reports("run")[-1]["epoch"] == 31
