"""The folder that a command uses as the store: the named one, not a URL, an error without HOME; and output that cannot
be written."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from conftest import RTRAIN

SCRIPT = """
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function() train.report{loss = 1} end,
  run_config = train.RunConfig{name = 'run', storage_path = arg[1]},
}:fit()
"""


@pytest.fixture
def homeless(rtrain):
    """Runs without HOME and without RTRAIN_STORAGE."""
    storage = rtrain.env.pop("RTRAIN_STORAGE")
    del rtrain.env["HOME"]
    yield rtrain
    rtrain.env["RTRAIN_STORAGE"] = storage


@pytest.mark.parametrize("flags", [["--storage", "here"], ["--", "here"]])
def test_a_run_that_names_its_storage_needs_no_home(homeless, flags):
    homeless.run_ok(SCRIPT, *flags)
    assert [run["name"] for run in homeless.json("ls", "--storage", "here")] == ["run"]


def test_without_home_a_run_is_told_what_to_name(homeless):
    for command in (["run", homeless.script(SCRIPT)], ["ls"]):
        refused = homeless(*command)
        assert refused.returncode == 4 and "HOME is not set" in refused.stderr and "--storage" in refused.stderr


def test_the_environment_is_shown_without_home(homeless):
    shown = homeless("env")
    assert shown.returncode == 0, shown.stderr
    assert "storage   none: HOME is not set" in shown.stdout
    document = json.loads(homeless("env", "--json").stdout)
    assert document["storage"] is None and "HOME is not set" in document["storage_reason"]


@pytest.mark.parametrize("url", ["http://host/x", "file:///tmp/x"])
def test_a_url_is_no_storage(rtrain, url):
    script = rtrain.script(SCRIPT)
    commands = [
        ["run", script, "--storage", url],
        ["run", script, "--", url],
        ["ls", "--storage", url],
        ["gc", "--rebuild", "--storage", url],
    ]
    for command in commands:
        refused = rtrain(*command)
        assert refused.returncode == 3 and "expected a folder, or a URI that begins with s3://" in refused.stderr, (
            command
        )
    rtrain.env["RTRAIN_STORAGE"] = url
    refused = rtrain("run", script)
    assert refused.returncode == 3 and url in refused.stderr
    assert "none: " in rtrain("env").stdout
    assert not [path for path in rtrain.folder.iterdir() if path.name.endswith(":")]


@pytest.mark.parametrize("folder", ["/proc/x", "/proc/x/y/z", "/sys/x"])
def test_a_folder_that_cannot_be_made_is_told_at_once(rtrain, folder):
    refused = rtrain("run", rtrain.script(SCRIPT), "--storage", folder, timeout=60)
    assert refused.returncode == 4 and "cannot make folder " + folder[:6] in refused.stderr, refused.stderr


def test_the_command_of_the_end_can_be_typed(rtrain):
    storage = rtrain.folder / "my results"
    done = rtrain.run_ok(SCRIPT, "--storage", storage, "--name", "it's mine")
    (line,) = [line for line in done.stderr.splitlines() if "rtrain show" in line]
    command = line[line.index("rtrain show") :].replace("rtrain", RTRAIN, 1)
    shown = subprocess.run(command, shell=True, env=rtrain.env, cwd=rtrain.folder, capture_output=True, text=True)
    assert shown.returncode == 0 and "it's mine" in shown.stdout, line


@pytest.mark.parametrize(
    "command",
    [
        ["ls"],
        ["ls", "--json"],
        ["show", "run"],
        ["metrics", "run"],
        ["logs", "run"],
        ["sql", "SELECT * FROM runs"],
        ["checkpoint", "ls", "run"],
        ["env"],
        ["--help"],
        ["run", "--help"],
        ["--version"],
        ["doc", "train.report"],
        ["gc", "--rebuild"],
        ["resources"],
        ["exec", "print.lua"],
    ],
)
def test_output_that_does_not_arrive_is_an_error(rtrain, command):
    rtrain.run_ok(SCRIPT.replace("train.report", "print 'a line' train.report"), "-q")
    rtrain.script("print 'a line'", name="print.lua")

    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [RTRAIN, *command], env=rtrain.env, cwd=rtrain.folder, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 4, done.stderr
    assert re.fullmatch(r"rtrain: cannot write to the standard output(: No space left on device)?\n", done.stderr)


def test_a_run_goes_on_without_its_lines(rtrain):
    script = rtrain.script(SCRIPT.replace("train.report", "print 'a line' train.report"))
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [RTRAIN, "run", script], env=rtrain.env, cwd=rtrain.folder, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 0, done.stderr
    assert rtrain.json("show", "run")["status"] == "FINISHED"
    assert os.path.getsize(rtrain.run_folder("run") / "logs/attempt-1/rank-0.log") == len("a line\n")


@pytest.fixture
def other_user(rtrain):
    """Runs commands as a user who does not own the folder of results. Each pytest that starts makes pytest's own folder
    private, so the two users share a folder next to it."""
    if os.geteuid() != 0:
        pytest.skip("another user's folder needs root")
    rtrain.folder = pathlib.Path(tempfile.mkdtemp(prefix="rtrain-shared-"))
    rtrain.folder.chmod(0o755)
    home = rtrain.folder / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    program = home / "rtrain"
    program.write_bytes(open(RTRAIN, "rb").read())
    program.chmod(0o755)

    def run(*args):
        env = {**rtrain.env, "HOME": str(home), "TMPDIR": str(home), "RTRAIN_RUNTIME_DIR": str(home)}
        return subprocess.run(
            ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", program, *map(str, args)],
            cwd=home,
            env=env,
            capture_output=True,
            text=True,
        )

    yield run
    shutil.rmtree(rtrain.folder)


def test_a_folder_of_another_user_is_said_to_be_that(rtrain, other_user):
    script = rtrain.script(SCRIPT)
    store = rtrain.folder / "shared"
    store.mkdir(mode=0o755)
    for path, what in [
        (store, f"cannot use the store {store}/rtrain.db"),
        (store / "sub", f"cannot make folder {store}/sub"),
    ]:
        refused = other_user("run", script, "--storage", path)
        assert refused.returncode == 4
        assert (
            f"{what}: {store} is read-only for this process, which is of nobody: it belongs to root (drwxr-xr-x)"
            in refused.stderr
        )
        assert "No such file" not in refused.stderr
    rtrain.run_ok(SCRIPT, "--storage", str(store))
    (store / "rtrain.db").chmod(0o644)
    refused = other_user("run", script, "--storage", store)
    assert (
        "rtrain.db is read-only for this process, which is of nobody: it belongs to root (-rw-r--r--)" in refused.stderr
    )
