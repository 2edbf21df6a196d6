"""Edits of runs by users: tags, notes, names, the archive and removal."""

import contextlib
import json
import os
import pty
import shutil
import sqlite3
import subprocess

import pytest

from conftest import ENDLESS, RTRAIN, Rtrain, refused

TRAINED = """
local train = require 'rtrain'
train.DataParallelTrainer {
  train_loop_per_worker = function()
    train.tempdir(function(dir)
      local file = io.open(dir .. '/weights', 'w')
      file:write('weights')
      file:close()
      train.report({loss = 1}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end,
}:fit()
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with three runs that have ended: a, b and c, the newest."""
    folder = tmp_path_factory.mktemp("results")
    rtrain = Rtrain(folder)
    for name in "abc":
        rtrain.run_ok(TRAINED, "--name", name, "--tag", "demo", "-q")
    shutil.rmtree(rtrain.runtime)
    return rtrain.storage


def names(rtrain, *args):
    return [run["name"] for run in rtrain.json("ls", *args)]


def edited(rtrain, run, *args):
    (row,) = rtrain.json("edit", run, *args)
    return row


def test_several_changes_of_several_runs(trained):
    many = trained.json("edit", "a", "b", "--tag", "kept", "--untag", "demo", "--note", "seen", "--archive")
    assert many == [
        {
            "name": name,
            "run_id": trained.json("show", name)["run_id"],
            "tags": ["kept"],
            "note": "seen",
            "archived": True,
        }
        for name in "ab"
    ]
    shown = trained("edit", "a", "--unarchive", "--append-note", "twice", "--tag", "new", "--name", "d")
    assert (shown.returncode, shown.stdout) == (0, "")
    assert (
        shown.stderr
        == "run d: tags kept, new; noted; listed again; was a, its folder is " + f"{trained.storage / 'd'}\n"
    )
    refused(trained("edit", "b", "c", "--untag", "kept"), "the run 'c' has no tag 'kept'")
    assert trained.json("show", "b")["tags"] == ["kept"], "the run in front of the one that is refused is as it was"
    lines = trained("edit", "b", "c", "--note", "", "--json=lines").stdout.splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["b", "c"]


def test_an_edit_that_is_refused_changes_nothing(trained):
    before = trained.json("show", "a")
    refused(trained("edit", "a"), "nothing to change: give --tag, --untag, --note, ", "`rtrain show RUN`")
    refused(trained("edit", "--tag", "x"), "RUN is required")
    refused(trained("edit", "a", "b", "--name", "c", "--tag", "x"), "one run can have the name, 2 are given")
    refused(trained("edit", "a", "--name", "b", "--tag", "x", "--note", "y"), "taken by another run")
    refused(trained("edit", "a", "--name", "new", "--untag", "none"), "has no tag 'none'")
    refused(trained("edit", "a", "--archive", "--unarchive"), "--archive", "--unarchive")
    refused(trained("edit", "a", "none", "--tag", "x"), "none")
    assert trained.json("show", "a") == before


def test_tags_come_and_go(trained):
    assert edited(trained, "a", "--tag", "red", "--tag", "demo", "--tag", "blue")["tags"] == ["demo", "red", "blue"]
    assert edited(trained, "a", "--untag", "demo", "--tag", "green")["tags"] == ["red", "blue", "green"]
    assert trained.json("show", "a")["tags"] == ["red", "blue", "green"]
    assert names(trained, "--tag", "green") == ["a"] and names(trained, "--tag", "demo") == ["c", "b"]
    refused(trained("edit", "a", "--untag", "gren"), "has no tag 'gren'", "did you mean 'green'?")
    refused(trained("plot", "--tag", "gren", "loss"), "no run has the tag gren: did you mean 'green'?")
    refused(trained("export", "--tag", "gren"), "no run has the tag gren: did you mean 'green'?")
    listed = trained("ls", "--tag", "gren")
    assert listed.returncode == 0 and "no run has the tag gren: did you mean 'green'?" in listed.stderr
    assert "no run has the tags red and demo" in trained("ls", "--tag", "red", "--tag", "demo").stderr
    refused(trained("edit", "a", "--tag", "x,y"), "'x,y' cannot be a tag: it has a ','")
    refused(trained("edit", "a", "--tag", ""), "it is empty")
    assert trained.json("show", "a")["tags"] == ["red", "blue", "green"], "a refused change changes nothing"


@pytest.mark.parametrize(
    "tag, problem",
    [
        ("", "it is empty"),
        ("a,b", "it has a ','"),
        ("a\nb", "it has a line break"),
        ("a\x7f", "another control character"),
        ("\u009b2J", "another control character"),
        (" a", "a space is its first or last character"),
        ("\udcff", "not UTF-8"),
        ("a" * 101, "it has 101 bytes, 100 are allowed"),
    ],
)
def test_what_cannot_be_a_tag_is_refused_alike_everywhere(rtrain, tag, problem):
    script = rtrain.script(TRAINED)
    for command in (
        ["run", script, "--tag"],
        ["sweep", script, "--grid", "lr=1,2", "--tag"],
        ["import", "none.csv", "--tag"],
        ["edit", "none", "--tag"],
    ):
        refused(rtrain(*command, tag), "cannot be a tag: ", problem)
    assert not rtrain.storage.exists()


def test_a_sweep_whose_runs_could_not_have_its_tag_is_refused(rtrain):
    result = rtrain("sweep", rtrain.script(TRAINED), "--grid", "lr=1,2", "--name", "a,b")
    assert result.returncode == 3
    assert "'a,b' cannot be a sweep's name: its runs get the tag 'sweep:a,b', and it has a ','" in result.stderr


def test_a_note_is_written_added_to_and_removed(trained):
    assert trained("edit", "a", "--note", "the first").returncode == 0
    assert edited(trained, "a", "--append-note", "and more") == {
        "name": "a",
        "run_id": trained.json("show", "a")["run_id"],
        "tags": ["demo"],
        "note": "the first\nand more",
    }
    assert trained.json("show", "a")["note"] == "the first\nand more"
    assert "and more" in trained("show", "a").stdout
    assert names(trained, "--where", "note LIKE '%first%'") == ["a"]
    assert edited(trained, "a", "--note", "")["note"] == trained.json("show", "a")["note"] == ""
    refused(trained("edit", "a", "--append-note"), "--append-note")
    refused(trained("edit", "a", "--note", "x", "--append-note", "y"), "--note excludes --append-note")


def test_notes_that_are_added_at_the_same_time_are_all_there(trained):
    adding = [trained.start("edit", "a", "--append-note", f"line {i}") for i in range(8)]
    assert [process.wait().returncode for process in adding] == [0] * 8
    assert sorted(trained.json("show", "a")["note"].splitlines()) == [f"line {i}" for i in range(8)]


def test_a_live_run_takes_tags_and_notes_and_keeps_its_name(rtrain):
    running = rtrain.started("run", rtrain.script(ENDLESS))
    assert edited(rtrain, "endless", "--tag", "watched")["tags"] == ["watched"]
    assert rtrain("edit", "endless", "--note", "going well").returncode == 0
    refused(
        rtrain("edit", "endless", "--note", "lost", "--name", "other"), "is being run by pid", "rtrain stop endless"
    )
    refused(rtrain("rm", "endless", "--yes"), "is being run by pid", "rtrain stop endless")
    assert rtrain("gc").stdout == "", "what a live run has staged is not garbage"
    assert rtrain("stop", "endless").returncode == 0
    running.wait()
    show = rtrain.json("show", "endless")
    assert (show["tags"], show["note"]) == (["watched"], "going well")


def test_an_archived_run_is_listed_with_all_only(trained):
    assert [(row["name"], row["archived"]) for row in trained.json("edit", "b", "c", "--archive")] == [
        ("b", True),
        ("c", True),
    ]
    assert names(trained) == ["a"]
    assert [(run["name"], run["archived"]) for run in trained.json("ls", "--all")] == [
        ("c", True),
        ("b", True),
        ("a", False),
    ]
    assert "FINISHED archived" in trained("ls", "--all").stdout
    assert trained.json("show", "last")["name"] == "a" and trained.json("show", "best:loss:min")["name"] == "a"
    assert trained.json("show", "c")["name"] == "c", "by its name it is found"
    trained("edit", "a", "--archive")
    refused(trained("show", "last"), "all are archived")
    assert trained("edit", "--unarchive", "c").returncode == 0 and names(trained) == ["c"]


def test_a_renamed_run_has_its_folder_and_goes_on_under_its_name(trained):
    before = trained.json("show", "a")
    renamed = edited(trained, "a", "--name", "better name")
    assert renamed == {
        "name": "better name",
        "run_id": before["run_id"],
        "tags": ["demo"],
        "note": "",
        "old_name": "a",
        "path": str(trained.storage / "better name"),
    }
    show = trained.json("show", "better name")
    assert show["run_id"] == before["run_id"] and len(show["checkpoints"]) == 1
    assert (trained.storage / "better name/checkpoints/checkpoint_000000/weights").read_text() == "weights"
    assert not os.path.lexists(trained.storage / "a")
    trained.run_ok(TRAINED, "--name", "better name", "--resume", "must")
    assert len(trained.json("metrics", "better name")) == 2
    trained.run_ok(TRAINED, "--name", "a")  # the old name is free again
    assert trained.json("gc", "--dry-run") == []


def test_a_name_that_cannot_be_is_refused(trained):
    (trained.storage / "mine").mkdir()
    for name, word in (
        ("b", "taken by another run"),
        ("mine", "taken by the folder"),
        ("x/y", "it has a '/'"),
        ("last", "commands call the newest run that"),
    ):
        refused(trained("edit", "a", "--name", name), word)
        assert trained.json("show", "a")["path"] == str(trained.storage / "a")
        assert (trained.storage / "a/checkpoints/checkpoint_000000").is_dir()
    assert sorted(path.name for path in trained.storage.iterdir() if not path.name.startswith("rtrain.db")) == [
        "a",
        "b",
        "c",
        "mine",
    ]


# fault: SIGKILL in the middle of a rename
@pytest.mark.parametrize(
    "point, name, left",
    [("run.rename:1", "a", ["new"]), ("db.committed:1", "new", []), ("run.exchange:1", "new", ["a"])],
)
def test_a_rename_that_is_killed_leaves_one_whole_run(trained, point, name, left):
    trained.env["RTRAIN_FAULT"] = f"{point}:kill"
    assert trained("edit", "a", "--name", "new").returncode == -9
    del trained.env["RTRAIN_FAULT"]
    assert names(trained) == ["c", "b", name]
    (checkpoint,) = trained.json("checkpoint", "ls", name)
    assert open(f"{checkpoint['path']}/weights").read() == "weights"
    found = trained.json("gc")
    assert [os.path.basename(item["path"]) for item in found] == left and all(item["removed"] for item in found)
    trained.run_ok(TRAINED, "--name", name, "--resume", "must")
    assert trained("edit", name, "--name", "newest").returncode == 0
    assert len(trained.json("checkpoint", "ls", "newest")) == 2 and trained.json("gc") == []


def test_rm_asks_and_removes_all_of_a_run(trained):
    refused(trained("rm", "a", "b"), "remove 2 runs (a, b)", "say --yes")
    assert names(trained) == ["c", "b", "a"]
    dry = trained.json("rm", "a", "--dry-run")
    assert dry[0]["name"] == "a" and dry[0]["size_bytes"] > 7 and not dry[0]["removed"]
    assert [row["removed"] for row in trained.json("rm", "a", "b", "a", "--yes")] == [True, True]
    assert names(trained) == ["c"]
    assert not (trained.storage / "a").exists() and (trained.storage / "c/checkpoints").is_dir()
    for table in ("reports", "attempts", "workers", "checkpoints"):
        assert {row[0] for row in trained.query(f"SELECT run_id FROM {table}")} == {trained.json("show", "c")["run_id"]}
    refused(trained("rm", "c", "nothing", "--yes"), "no run 'nothing'")
    assert names(trained) == ["c"], "all of them, or none"


@pytest.mark.parametrize("answer, left", [("y\n", ["c", "b"]), ("n\n", ["c", "b", "a"]), ("\n", ["c", "b", "a"])])
def test_rm_asks_at_a_terminal(trained, answer, left):
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [RTRAIN, "rm", "a"], cwd=trained.folder, env=trained.env, stdin=slave, stderr=subprocess.PIPE, text=True
    )
    os.close(slave)
    os.write(master, answer.encode())
    stderr = process.communicate(timeout=60)[1]
    os.close(master)
    assert process.returncode == 0 and "remove the run a with checkpoints and logs" in stderr and "[y/N]" in stderr
    assert names(trained) == left


# fault: SIGKILL in the middle of rm
@pytest.mark.parametrize("point, left", [("run.remove:1", ["c", "b", "a"]), ("run.removed:1", ["c", "b"])])
def test_an_rm_that_is_killed_can_be_repeated_or_swept(trained, point, left):
    trained.env["RTRAIN_FAULT"] = f"{point}:kill"
    assert trained("rm", "a", "--yes").returncode == -9
    del trained.env["RTRAIN_FAULT"]
    assert names(trained) == left
    if "a" in left:
        assert trained.json("gc") == [], "a row refers to it"
        assert trained("rm", "a", "--yes").returncode == 0
    else:
        (item,) = trained.json("gc")
        assert item["reason"] == "of a run that was removed" and item["removed"]
    assert names(trained) == ["c", "b"]
    assert sorted(path.name for path in trained.storage.iterdir() if not path.name.startswith("rtrain.db")) == [
        "b",
        "c",
    ]


def left_alone(result, reason):
    assert result.returncode == 4 and reason in result.stderr, result.stdout + result.stderr


@pytest.fixture
def outside(trained):
    """A store next to that of the runs, which no command may touch, and a function that changes a row's text."""
    victim = trained.storage.parent / "victim"
    shutil.copytree(trained.run_folder("b"), victim)
    files = {file: file.read_bytes() for file in sorted(victim.rglob("*")) if file.is_file()}

    def edit(sql, *values):
        with contextlib.closing(sqlite3.connect(trained.storage / "rtrain.db")) as store, store:
            store.execute(sql, values)

    yield edit
    assert {file: file.read_bytes() for file in sorted(victim.rglob("*")) if file.is_file()} == files
    assert len(list(trained.storage.parent.glob("rtrain.db*"))) == 0 and (trained.storage / "rtrain.db").is_file()


@pytest.mark.parametrize("column", ["name", "run_id"])
@pytest.mark.parametrize("text", ["../victim", "x/../../victim", "..", "rtrain.db"])
def test_a_run_whose_row_names_another_place_is_left_alone(trained, outside, column, text):
    """The store belongs to a group: values that a member writes must not lead a command out of the store."""
    if column == "run_id" and text == "rtrain.db":
        text = "/etc"
    outside(f"UPDATE runs SET {column} = ? WHERE name = 'a'", text)
    named = text if column == "name" else "a"
    for command in (
        ["rm", named, "--yes"],
        ["edit", named, "--name", "new"],
        ["checkpoint", "prune", named, "--yes"],
        ["show", named],
        ["logs", named],
    ):
        left_alone(trained(*command), "another program has written it")
    assert sorted(names(trained)) == sorted([named, "b", "c"]), "one such row hides nothing"
    trained("rm", "c", "--yes")


def test_a_checkpoint_whose_row_names_another_place_is_left_alone(trained, outside):
    name = "../../../victim/checkpoints/checkpoint_000000"
    outside("UPDATE checkpoints SET name = ? WHERE run_id = (SELECT run_id FROM runs WHERE name = 'a')", name)
    for command, *args in (["prune", "--keep", "1", "--yes"], ["ls"], ["verify"], ["export", name, "-o", "out"]):
        left_alone(trained("checkpoint", command, "a", *args), "leads out of its folder")
    left_alone(trained("run", trained.script(TRAINED), "--name", "a", "--resume", "must"), "leads out of its folder")


def test_folders_that_are_links_are_not_the_runs(trained, outside):
    """A member of the group can replace folders of its own run by links to any place."""
    run = trained.run_folder("a")
    shutil.rmtree(run / "checkpoints")
    (run / "checkpoints").symlink_to(trained.storage.parent / "victim" / "checkpoints")
    shutil.rmtree(run / "staging", ignore_errors=True)
    (run / "staging").symlink_to(trained.storage.parent / "victim")
    for command in (["checkpoint", "prune", "a", "--keep", "1", "--yes"], ["gc", "--yes"], ["rm", "a", "--yes"]):
        trained(*command)
    assert sorted(names(trained)) == ["b", "c"]


def test_gc_removes_what_no_row_refers_to_and_nothing_else(trained):
    storage = trained.storage
    (storage / "my data").mkdir()
    (storage / "my data/table.csv").write_text("1,2")
    spent = storage / "spent"  # left by a controller that was killed when it started
    (spent / "logs/attempt-1").mkdir(parents=True)
    shutil.copy(storage / "a/lock", spent / "lock")
    shutil.copytree(spent, storage / "spent with my file")
    (storage / "spent with my file/logs/notes.txt").write_text("mine")
    shutil.copytree(storage / "a", storage / "a-backup")
    (storage / "mine/checkpoints").mkdir(parents=True)
    (storage / "mine/checkpoints/my_model.pt").write_text("weights")
    (storage / "best").symlink_to("a")
    (storage / "just begun").mkdir()
    shutil.copytree(storage / "b/checkpoints/checkpoint_000000", storage / "b/checkpoints/my copy")
    with contextlib.closing(sqlite3.connect(storage / "rtrain.db", isolation_level=None)) as database:
        database.execute("DELETE FROM checkpoints WHERE run_id = ?", (trained.json("show", "c")["run_id"],))
    (storage / "b/checkpoints/mine").mkdir()
    (storage / "b/staging/1-x-0").mkdir(parents=True)
    (storage / "c/staging").mkdir()
    (storage / "b/staging/1-x-0/file").write_text("12345")
    before = sorted(str(path) for path in storage.rglob("*"))
    expected = {
        "b/staging/1-x-0": "staged, and in no checkpoint",
        "c/checkpoints/checkpoint_000000": "a checkpoint that its run does not have",
        "spent": "of a run that the store does not have",
    }
    dry = trained.json("gc", "--dry-run")
    assert {os.path.relpath(item["path"], trained.storage): item["reason"] for item in dry} == expected
    assert not any(item["removed"] for item in dry) and dry[0]["size_bytes"] == 5
    assert sorted(str(path) for path in trained.storage.rglob("*")) == before
    result = trained("gc")
    assert result.returncode == 0 and "removed 3 items" in result.stderr, result.stderr
    gone = [str(trained.storage / path) for path in expected]
    left = [path for path in before if path not in gone and not path.startswith(tuple(f"{path}/" for path in gone))]
    assert sorted(str(path) for path in trained.storage.rglob("*") if "rtrain.db" not in str(path)) == [
        path for path in left if "rtrain.db" not in path
    ]
    assert trained.json("gc") == []
    assert len(trained.json("checkpoint", "ls", "b")) == 1


def test_checkpoints_of_a_lost_run_are_left_to_its_next_start(rtrain):
    running = rtrain.started("run", rtrain.script(ENDLESS))
    running.kill()
    rtrain.wait_for_processes()
    folder = rtrain.storage / "endless/checkpoints/checkpoint_000000"
    folder.mkdir()
    (folder / ".rtrain-checkpoint.json").write_text("{}")
    assert rtrain.json("gc") == []


def test_a_store_of_an_older_rtrain_gets_its_columns(trained):
    with contextlib.closing(sqlite3.connect(trained.storage / "rtrain.db", isolation_level=None)) as db:
        db.executescript(
            "DROP TABLE series_summaries; DROP TABLE media; DROP TABLE media_contents; "
            "DROP INDEX runs_by_start; DROP TABLE sources; ALTER TABLE runs DROP COLUMN archived_at; "
            "PRAGMA user_version = 4;"
        )
    assert names(trained) == ["c", "b", "a"], "a reader changes nothing, and does without"
    assert trained.query("PRAGMA user_version") == [(4,)]
    assert trained("edit", "a", "--archive").returncode == 0
    assert names(trained) == ["c", "b"]


def test_nothing_is_made_where_there_is_no_store(rtrain):
    for command in (["edit", "x", "--tag", "y"], ["edit", "x", "--name", "y"], ["rm", "x", "--yes"]):
        refused(rtrain(*command), "there are no runs")
    assert rtrain.json("gc") == []
    assert not rtrain.storage.exists()
