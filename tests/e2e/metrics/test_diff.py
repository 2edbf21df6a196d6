"""`rtrain diff A B` shows the differences between two runs and nothing else; and the code that runs keep."""

import os
import subprocess

import pytest

SCRIPT = """
local train = require 'rtrain'
local helper = require 'helper'
train.DataParallelTrainer {
  train_loop_per_worker = function(config)
    train.report {loss = helper.loss(config), epoch = 1}
  end,
  train_loop_config = {lr = 0.5, optimizer = {name = 'sgd', momentum = 0.9}},
}:fit()
"""
HELPER = "return {loss = function(config) return config.lr * 2 end}\n"


@pytest.fixture
def project(rtrain):
    """A git repository with a script, a module next to it, and one commit."""
    rtrain.script(SCRIPT)
    (rtrain.folder / "helper.lua").write_text(HELPER)
    (rtrain.folder / "other.txt").write_text("one\n")
    for command in (["init", "-q"], ["add", "train.lua", "helper.lua", "other.txt"], ["commit", "-qm", "first"]):
        git(rtrain, *command)
    return rtrain


def git(rtrain, *command):
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *command],
        cwd=rtrain.folder,
        env=rtrain.env,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.strip()


def run(rtrain, name, *args):
    result = rtrain("run", "train.lua", "--name", name, "-q", *args)
    assert result.returncode == 0, result.stderr


def test_runs_that_differ_in_their_config_differ_in_nothing_else(project):
    run(project, "a")
    run(project, "b", "--set", "lr=0.25", "--set", "optimizer.momentum=0.8")
    diff = project.json("diff", "a", "b")
    assert {key: diff[key]["name"] for key in ("a", "b")} == {"a": "a", "b": "b"}
    assert diff["config"] == {"lr": {"a": 0.5, "b": 0.25}, "optimizer.momentum": {"a": 0.9, "b": 0.8}}
    assert diff["scaling"] == {} and diff["environment"] == {} and diff["code"] == {"files": []}
    assert diff["metrics"] == {"epoch": {"a": 1, "b": 1, "delta": 0.0}, "loss": {"a": 1.0, "b": 0.5, "delta": -0.5}}
    assert sorted(project("diff", "a", "b").stdout.splitlines()) == sorted(
        [
            "- a",
            "+ b",
            "",
            "config",
            "  lr                  0.5 → 0.25",
            "  optimizer.momentum  0.9 → 0.8",
            "",
            "METRIC  a    b  CHANGE",
            "epoch   1    1",
            "loss    1  0.5    -0.5",
            "",
            "the same: scaling, code, environment",
        ]
    )


def test_code_is_compared_as_it_was_when_the_runs_began(project):
    run(project, "a")
    (project.folder / "helper.lua").write_text(HELPER.replace("* 2", "* 4"))
    (project.folder / "other.txt").write_text("one\ntwo\n")
    run(project, "b", "-n", "2")
    git(project, "commit", "-qam", "second")
    (project.folder / "helper.lua").unlink()
    diff = project.json("diff", "a", "b")
    assert diff["config"] == {} and diff["scaling"]["num_workers"] == {"a": 1, "b": 2}
    assert diff["code"]["git_dirty"] == {"a": False, "b": True} and "git_commit" not in diff["code"]
    module, other = diff["code"]["files"]
    assert (module["kind"], module["path"], other["kind"], other["path"]) == (
        "module",
        "helper.lua",
        "diff",
        "other.txt",
    )
    assert module["diff"] == (
        "--- a/helper.lua\n+++ b/helper.lua\n@@ -1,1 +1,1 @@\n"
        "-return {loss = function(config) return config.lr * 2 end}\n"
        "+return {loss = function(config) return config.lr * 4 end}\n"
    )
    assert other["diff"].startswith("--- /dev/null\n+++ b/other.txt (git diff HEAD)\n") and "++two" in other["diff"]
    text = project("diff", "a", "b").stdout
    assert "  +return {loss = function(config) return config.lr * 4 end}" in text
    assert "num_workers  1 → 2" in text and "the same: config, environment" in text
    shown = project("show", "b").stdout
    assert "(with changes: 2 files, +2 −1; rtrain show b --diff)" in shown and "machine" in shown, shown
    assert project("show", "b", "--script").stdout == SCRIPT.lstrip()
    assert "+two" in project("show", "b", "--diff").stdout and project.json("show", "b", "--diff")["kind"] == "diff"
    none = project("show", "a", "--diff")
    assert none.returncode == 2 and "the run 'a' keeps no diff" in none.stderr
    (kept,) = list(project.query("SELECT text FROM sources WHERE kind = 'diff'"))
    assert "+two" in kept[0]


CHANGED = "changes since the commit"


@pytest.mark.parametrize("record", ["1", "0"])
def test_changes_since_the_commit_are_said_of_each_run_that_has_some(project, record):
    project.env["RTRAIN_RECORD_CODE"] = record
    run(project, "clean")
    (project.folder / "other.txt").write_text("one\ntwo\n")
    run(project, "dirty")
    run(project, "again")
    (project.folder / "other.txt").write_text("one\nthree\n")
    run(project, "another")
    git(project, "commit", "-qam", "second")
    run(project, "later")
    (project.folder / "helper.lua").write_text(HELPER.replace("* 2", "* 4"))
    run(project, "newest")

    def said(a, b):
        return [line.strip() for line in project("diff", a, b).stdout.splitlines() if CHANGED in line]

    assert said("clean", "dirty") == [f"+ {CHANGED}"] and said("dirty", "clean") == [f"- {CHANGED}"]
    assert said("dirty", "another") == said("dirty", "newest") == [f"- {CHANGED}", f"+ {CHANGED}"]
    assert said("another", "later") == [f"- {CHANGED}"] and said("clean", "later") == []
    # Code that was not recorded may differ.
    same = project.json("diff", "dirty", "again")["code"]
    assert same == ({"files": []} if record == "1" else {"git_dirty": {"a": True, "b": True}, "files": []})
    assert len(said("dirty", "again")) == (0 if record == "1" else 2)


def test_commits_and_environments_are_compared(project):
    run(project, "a")
    git(project, "commit", "-q", "--allow-empty", "-m", "second")
    project.env["OMP_NUM_THREADS"] = "2"
    project.env["NCCL_SECRET_KEY"] = "hidden"
    run(project, "b")
    diff = project.json("diff", "a", "b")
    assert diff["code"] == {
        "git_commit": {"a": git(project, "rev-parse", "HEAD~"), "b": git(project, "rev-parse", "HEAD")},
        "files": [],
    }
    assert diff["environment"] == {
        "variables.OMP_NUM_THREADS": {"a": "1", "b": "2"},
        "variables.NCCL_SECRET_KEY": {"a": None, "b": "***"},
    }
    assert "variables.NCCL_SECRET_KEY  – → ***" in project("diff", "a", "b").stdout
    shown = project.json("show", "b")["environment"]
    assert shown["variables"]["OMP_NUM_THREADS"] == "2" and shown["cores"] >= 1 and shown["libtorch"].startswith("2.")


def test_a_resumed_run_has_the_code_it_went_on_with(project):
    run(project, "a")
    (project.folder / "helper.lua").write_text(HELPER.replace("* 2", "* 3"))
    run(project, "a", "--resume", "must")
    assert project.query("SELECT kind, path FROM sources ORDER BY kind") == [
        ("diff", ""),
        ("module", "helper.lua"),
        ("script", "train.lua"),
    ]
    ((text,),) = project.query("SELECT text FROM sources WHERE kind = 'module'")
    assert "* 3" in text
    assert project("rm", "a", "--yes").returncode == 0 and project.query("SELECT * FROM sources") == []


def test_a_large_diff_is_kept_up_to_a_whole_line_and_marked(project):
    (project.folder / "other.txt").write_text("".join(f"{i:099d}\n" for i in range(3000)))
    run(project, "a")
    ((text,),) = project.query("SELECT text FROM sources WHERE kind = 'diff'")
    assert 190_000 < len(text) <= 200_000 and text.endswith("\n")
    assert project.json("show", "a")["environment"]["git_diff_cut"] is True


def test_code_is_not_kept_where_that_was_said(project):
    project.env["RTRAIN_RECORD_CODE"] = "0"
    run(project, "a")
    assert project.query("SELECT * FROM sources") == []
    assert project.json("show", "a")["environment"]["git_commit"] == git(project, "rev-parse", "HEAD")


def test_runs_outside_of_a_repository_are_compared_too(rtrain):
    rtrain.script(SCRIPT)
    (rtrain.folder / "helper.lua").write_text(HELPER)
    rtrain.env["GIT_CEILING_DIRECTORIES"] = os.path.dirname(rtrain.folder)
    run(rtrain, "a")
    rtrain.script(SCRIPT.replace("epoch = 1", "epoch = 2"), "second.lua")
    assert rtrain("run", "second.lua", "--name", "b", "-q").returncode == 0
    (file,) = rtrain.json("diff", "a", "b")["code"]["files"]
    assert file["kind"] == "script" and "--- a/train.lua\n+++ b/second.lua\n" in file["diff"]
    assert rtrain("diff", "a", "nothing").returncode == 2
