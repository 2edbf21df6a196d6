"""rtrain bundle: packs a script, its modules and its data into one file that trains wherever it is copied."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import ALL, Rtrain, nightly, refused

pytestmark = nightly

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


def make_project(folder):
    """A folder with a script, a module that requires another module, and data."""
    for name, text in {
        "train.lua": TRAIN,
        "parts/model/init.lua": "return {scale = require('numbers').three}",
        "numbers.lua": "return {three = 3}",
        "unused.lua": "error 'nobody requires it'",
        "data/deep/words.txt": "a few words",
        "data/empty": "",
        "data/  two blanks ": "here",
        "data/\ttab": "here",
        "other.txt": "not asked for",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def project(rtrain):
    return make_project(rtrain.folder / "project")


@pytest.fixture(scope="module")
def bundled(tmp_path_factory):
    """The bundle of a project that was deleted, and its --json output. Made once, because it takes a while."""
    rtrain = Rtrain(tmp_path_factory.mktemp("bundled"))
    project = make_project(rtrain.folder / "project")
    made = rtrain.json("bundle", project / "train.lua", project / "data", "-o", rtrain.folder / "job.run")
    shutil.rmtree(project)
    shutil.rmtree(rtrain.runtime)
    return rtrain.folder / "job.run", made


@pytest.fixture
def job(rtrain, bundled):
    """The bundle, moved away from where it was made, and its --json output."""
    moved = rtrain.folder / "elsewhere" / "moved.run"
    moved.parent.mkdir()
    os.link(bundled[0], moved)
    libtorch = rtrain.json("env")["libtorch"]["path"]
    env = {**rtrain.env, "XDG_CACHE_HOME": str(rtrain.folder / "cache"), "RTRAIN_LIBTORCH": libtorch}

    def run(*args):
        return subprocess.run([moved, *args], cwd=moved.parent, env=env, capture_output=True, text=True, timeout=120)

    return run, bundled[1]


def unpacked(rtrain, name):
    """Returns the path of a file of the job in the unpacked bundle."""
    (found,) = (rtrain.folder / "cache" / "rtrain" / "bundles").glob("*/job/" + name)
    return found.read_text()


def test_it_trains_where_the_script_is_not(rtrain, job):
    run, made = job
    names = ["data/\ttab", "data/  two blanks ", "data/deep/words.txt", "data/empty"]
    assert made["files"] == ["train.lua", "parts/model/init.lua", "numbers.lua", *names]
    assert made["libtorch"] is False
    result = run("--num-workers", "1", "--set", "factor=5", "--", "made-here")
    assert result.returncode == 0, result.stderr
    assert (rtrain.folder / "elsewhere" / "made-here").exists(), "the current folder is the caller's"
    (row,) = json.loads(run("--rtrain", "metrics", "job", "--json").stdout)
    assert row["metrics"]["words"] == 11 and row["metrics"]["scale"] == 15
    assert unpacked(rtrain, "data/  two blanks ") == unpacked(rtrain, "data/\ttab") == "here"


def test_the_same_files_give_the_same_bytes_and_are_named(rtrain, project, bundled):
    result = rtrain("bundle", project / "train.lua", project / "data", "-o", "again.run")
    assert result.returncode == 0, result.stderr
    assert (rtrain.folder / "again.run").read_bytes() == bundled[0].read_bytes()
    assert os.access(rtrain.folder / "again.run", os.X_OK)
    assert "  parts/model/init.lua" in result.stdout.splitlines()
    assert "without LibTorch: a machine that runs it needs version 2." in result.stdout


def test_a_script_alone_is_a_job_too(rtrain):
    made = rtrain.json("bundle", rtrain.script("print 'alone'"), "-o", "alone.run")
    assert made["files"] == ["train.lua"]
    env = {**rtrain.env, "XDG_CACHE_HOME": str(rtrain.folder / "cache")}
    result = subprocess.run(
        [rtrain.folder / "alone.run"], cwd=rtrain.folder, env=env, capture_output=True, text=True, timeout=120
    )
    assert result.stdout == "alone\n", result.stderr


def test_a_line_break_in_a_name_is_refused(rtrain, project):
    (project / "data" / "a\nb").write_text("")
    refused(
        rtrain("bundle", project / "train.lua", project / "data", "-o", "again.run"),
        r"data/a\x0ab has a line break in its name",
    )
    assert not (rtrain.folder / "again.run").exists()


def test_data_that_the_script_would_not_find_are_refused(rtrain, project):
    (rtrain.folder / "outside").write_text("")
    result = rtrain("bundle", project / "train.lua", "outside", "-o", "job.run")
    assert result.returncode == 2 and "outside is not below the folder of the script" in result.stderr
    result = rtrain("bundle", project / "train.lua", project / "nothing", "-o", "job.run")
    assert result.returncode == 2 and "there is no " in result.stderr
    result = rtrain("bundle", project / "missing.lua", "-o", "job.run")
    assert result.returncode == 2 and "missing.lua" in result.stderr
    assert not (rtrain.folder / "job.run").exists()


PACKED = "*[0-9a-f]/bin/lib/torch/lib"


def test_with_libtorch_its_libraries_are_in_it(rtrain, project):
    """Makes a bundle of a LibTorch and an Arrow whose libraries are short texts."""
    installed = pathlib.Path(rtrain.json("env")["libtorch"]["path"])
    libraries = {name: f"in place of {name}" for name in ("libtorch_cpu.so", "libc10.so", "libgomp.so.1")}
    lib = rtrain.folder / "torch" / "lib"
    lib.mkdir(parents=True)
    shutil.copy(installed.parent / "version.py", lib.parent)
    for name, text in {**libraries, "libtorch_cuda.so": "of the other half"}.items():
        (lib / name).write_text(text)
    of_arrow = {f"lib{name}.so.2600": f"in place of {name}" for name in ("arrow", "parquet", "arrow_s3")}
    (rtrain.folder / "pyarrow").mkdir()
    for name, text in of_arrow.items():
        (rtrain.folder / "pyarrow" / name).write_text(text)
    rtrain.env.update(RTRAIN_LIBTORCH=str(lib), RTRAIN_ARROW=str(rtrain.folder / "pyarrow"))
    made = rtrain.json("bundle", project / "train.lua", "-o", "job.run", "--with-libtorch")
    assert made["libtorch"] is True
    env = {"PATH": "/usr/bin:/bin", "HOME": str(rtrain.folder), "XDG_CACHE_HOME": str(rtrain.folder / "cache")}
    shown = subprocess.run([rtrain.folder / "job.run", "--rtrain", "--version"], env=env, capture_output=True)
    assert shown.returncode == 0, shown.stderr
    (packed,) = (rtrain.folder / "cache" / "rtrain" / "bundles").glob(PACKED)
    assert {path.name: path.read_text() for path in packed.iterdir()} == libraries
    assert {path.name: path.read_text() for path in (packed / "../../pyarrow").iterdir()} == of_arrow
    assert (packed / "../version.py").read_bytes() == (installed / "../version.py").read_bytes()


@pytest.mark.skipif(not ALL, reason="packing LibTorch itself takes half a minute: scripts/test --nightly")
def test_with_libtorch_it_needs_nothing_of_the_machine(rtrain, project):
    assert rtrain("bundle", project / "train.lua", project / "data", "-o", "job.run", "--with-libtorch").returncode == 0
    env = {"PATH": "/usr/bin:/bin", "HOME": str(rtrain.folder), "XDG_CACHE_HOME": str(rtrain.folder / "cache")}
    shown = subprocess.run(
        [rtrain.folder / "job.run", "--rtrain", "env", "--json"], env=env, capture_output=True, text=True
    )
    libtorch = json.loads(shown.stdout)["libtorch"]
    packed = pathlib.Path(*(rtrain.folder / "cache" / "rtrain" / "bundles").glob(PACKED))
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
