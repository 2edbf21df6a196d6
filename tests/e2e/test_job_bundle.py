"""rtrain bundle: a script, its modules and its data in one file, which trains where it is copied."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import refused

TRAIN = """
    local model = require 'parts.model'
    local folder = arg[0]:match '^.*/' or ''
    local train = require 'rtrain'
    local function train_func(config)
      local file = assert(io.open(folder .. 'data/deep/words.txt'))
      train.report({words = #file:read '*a', scale = model.scale * config.factor, rank = train.get_context():get_world_rank()})
    end
    train.DataParallelTrainer({
      train_loop_per_worker = train_func,
      train_loop_config = {factor = 2},
      scaling_config = train.ScalingConfig {num_workers = 2},
      run_config = train.RunConfig {name = 'job'},
    }):fit()
    assert(io.open(arg[1], 'w')):close()
"""


@pytest.fixture
def project(rtrain):
    """A folder with a script, a module that requires another one, and data."""
    folder = rtrain.folder / "project"
    for name, text in {
        "train.lua": TRAIN,
        "parts/model/init.lua": "return {scale = require('numbers').three}",
        "numbers.lua": "return {three = 3}",
        "unused.lua": "error 'nobody requires it'",
        "data/deep/words.txt": "a few words",
        "data/empty": "",
        "other.txt": "not asked for",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def job(rtrain, project):
    """The bundle, made from elsewhere and moved away from the script, and what --json says of it."""
    made = rtrain.json("bundle", project / "train.lua", project / "data", "-o", rtrain.folder / "job.run")
    moved = rtrain.folder / "elsewhere" / "moved.run"
    moved.parent.mkdir()
    shutil.move(rtrain.folder / "job.run", moved)
    shutil.rmtree(project)
    libtorch = rtrain.json("env")["libtorch"]["path"]
    env = {**rtrain.env, "XDG_CACHE_HOME": str(rtrain.folder / "cache"), "RTRAIN_LIBTORCH": libtorch}

    def run(*args):
        return subprocess.run([moved, *args], cwd=moved.parent, env=env, capture_output=True, text=True, timeout=120)

    return run, made


def test_it_trains_where_the_script_is_not(rtrain, job):
    run, made = job
    assert made["files"] == ["train.lua", "parts/model/init.lua", "numbers.lua", "data/deep/words.txt", "data/empty"]
    assert made["libtorch"] is False
    result = run("--num-workers", "1", "--set", "factor=5", "--", "made-here")
    assert result.returncode == 0, result.stderr
    assert (rtrain.folder / "elsewhere" / "made-here").exists(), "the current folder is the caller's"
    (row,) = json.loads(run("--rtrain", "metrics", "job", "--json").stdout)
    assert row["metrics"]["words"] == 11 and row["metrics"]["scale"] == 15


def test_the_same_files_give_the_same_bytes(rtrain, project):
    for name in ("one", "two"):
        assert rtrain("bundle", project / "train.lua", "-o", name).returncode == 0
    assert (rtrain.folder / "one").read_bytes() == (rtrain.folder / "two").read_bytes()
    assert os.access(rtrain.folder / "one", os.X_OK)


def test_a_script_alone_is_a_job_too(rtrain):
    made = rtrain.json("bundle", rtrain.script("print 'alone'"), "-o", "alone.run")
    assert made["files"] == ["train.lua"]
    env = {**rtrain.env, "XDG_CACHE_HOME": str(rtrain.folder / "cache")}
    result = subprocess.run(
        [rtrain.folder / "alone.run"], cwd=rtrain.folder, env=env, capture_output=True, text=True, timeout=120
    )
    assert result.stdout == "alone\n", result.stderr


def test_names_with_blanks_arrive_and_line_breaks_are_refused(rtrain, project):
    (project / "data" / "  two blanks ").write_text("here")
    (project / "data" / "\ttab").write_text("here")
    made = rtrain.json("bundle", project / "train.lua", project / "data", "-o", "job.run")
    assert {"data/  two blanks ", "data/\ttab"} < set(made["files"])
    env = {**rtrain.env, "XDG_CACHE_HOME": str(rtrain.folder / "cache")}
    assert (
        subprocess.run([rtrain.folder / "job.run", "--rtrain", "--version"], env=env, capture_output=True).returncode
        == 0
    )
    for name in ("  two blanks ", "\ttab"):
        (unpacked,) = (rtrain.folder / "cache" / "rtrain" / "bundles").glob("*/job/data/" + name)
        assert unpacked.read_text() == "here"
    (project / "data" / "a\nb").write_text("")
    refused(
        rtrain("bundle", project / "train.lua", project / "data", "-o", "again.run"),
        r"data/a\x0ab has a line break in its name",
    )
    assert not (rtrain.folder / "again.run").exists()


def test_its_lines_name_the_files_and_what_is_missing(rtrain, project):
    result = rtrain("bundle", project / "train.lua", "-o", "job.run")
    assert "  parts/model/init.lua" in result.stdout.splitlines()
    assert "without LibTorch: a machine that runs it needs version 2." in result.stdout


def test_data_that_the_script_would_not_find_are_refused(rtrain, project):
    (rtrain.folder / "outside").write_text("")
    result = rtrain("bundle", project / "train.lua", "outside", "-o", "job.run")
    assert result.returncode == 2 and "outside is not below the folder of the script" in result.stderr
    result = rtrain("bundle", project / "train.lua", project / "nothing", "-o", "job.run")
    assert result.returncode == 2 and "there is no " in result.stderr
    result = rtrain("bundle", project / "missing.lua", "-o", "job.run")
    assert result.returncode == 2 and "missing.lua" in result.stderr
    assert not (rtrain.folder / "job.run").exists()


def test_with_libtorch_it_needs_nothing_of_the_machine(rtrain, project):
    assert rtrain("bundle", project / "train.lua", project / "data", "-o", "job.run", "--with-libtorch").returncode == 0
    env = {"PATH": "/usr/bin:/bin", "HOME": str(rtrain.folder), "XDG_CACHE_HOME": str(rtrain.folder / "cache")}
    shown = subprocess.run(
        [rtrain.folder / "job.run", "--rtrain", "env", "--json"], env=env, capture_output=True, text=True
    )
    libtorch = json.loads(shown.stdout)["libtorch"]
    packed = pathlib.Path(*(rtrain.folder / "cache" / "rtrain" / "bundles").glob("*[0-9a-f]/bin/lib/torch/lib"))
    assert libtorch["found"] and (packed / "libtorch_cpu.so").exists()
    env["RTRAIN_LIBTORCH"] = str(packed)
    done = subprocess.run(
        [rtrain.folder / "job.run", "--num-workers", "1", "--", "made-here"],
        env=env,
        cwd=rtrain.folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
