"""rtrain --version, exec and wrong use."""

import pathlib

import pytest


def test_version_is_one_line(rtrain):
    result = rtrain("--version")
    assert result.returncode == 0
    assert result.stdout.startswith("rtrain ") and result.stdout.count("\n") == 1


def test_exec_passes_arguments_and_output(rtrain):
    script = rtrain.script("print(arg[0]:match('[^/]+$'), arg[1], arg[2], ...)")
    result = rtrain("exec", script, "a", "--b")
    assert (result.returncode, result.stdout) == (0, "train.lua\ta\t--b\ta\t--b\n")
    assert rtrain("run", script, "--", "a", "--b").stdout == "train.lua\ta\t--b\ta\t--b\n"


def test_what_follows_the_file_is_the_scripts_own(rtrain):
    script = rtrain.script("print(#arg, table.concat(arg, '|'))")
    result = rtrain("exec", script, "--help", "-e", "[1,2]", "--", "")
    assert (result.returncode, result.stdout) == (0, "5\t--help|-e|[1,2]|--|\n")
    result = rtrain("run", "-q", script, "--", "--help", "-n", "[1,2]")
    assert (result.returncode, result.stdout) == (0, "3\t--help|-n|[1,2]\n")


def test_exec_runs_code_from_the_command_line(rtrain):
    rtrain.script("return {answer = 42}", name="helper.lua")
    result = rtrain("exec", "-e", "print(require('helper').answer, arg[0], arg[1], arg[2])", "[1,2]", "--b")
    assert (result.returncode, result.stdout) == (0, "42\t-e\t[1,2]\t--b\n")


@pytest.mark.parametrize(
    "code, message, status",
    [
        ("local t = nil\nprint(t.x)", "(command line):2: attempt to index", 1),
        ("x =", "(command line):1: unexpected symbol", 1),
        (None, "expected a FILE or -e CODE", 2),
    ],
)
def test_errors_of_code_from_the_command_line(rtrain, code, message, status):
    result = rtrain("exec", *(["-e", code] if code else []))
    assert result.returncode == status
    assert message in result.stderr and len(result.stderr.splitlines()) <= 3


PARSER = """
    local argparse, train = require 'argparse', require 'rtrain'
    local config = argparse.of_config({lr = 0.1, epochs = 2}):parse()
    train.TorchTrainer {
      train_loop_per_worker = function(config) train.report(config) end,
      train_loop_config = config,
      scaling_config = train.ScalingConfig {num_workers = 0},
    }:fit()
"""


def test_a_scripts_own_options_are_its_config(rtrain):
    rtrain.run_ok(PARSER, "--set", "epochs=7", "--", "--lr", "0.5")
    assert rtrain.reports() == [{"lr": 0.5, "epochs": 7}]


@pytest.mark.parametrize(
    "option, message", [("--lrr", "unknown option '--lrr'"), ("--lr=fast", "--lr: the script's value is a number")]
)
def test_a_wrong_option_of_a_script_is_wrong_usage(rtrain, option, message):
    result = rtrain.run(PARSER, "--", option)
    assert result.returncode == 2
    assert "Usage: " in result.stderr and message in result.stderr
    assert rtrain.run(PARSER, "--", "--help").returncode == 0


def test_exec_finds_modules_beside_the_script(rtrain):
    rtrain.script("return {answer = 42}", name="helper.lua")
    result = rtrain("exec", rtrain.script("print(require('helper').answer)"))
    assert (result.returncode, result.stdout) == (0, "42\n")


def test_an_error_names_the_users_line_and_exits_1(rtrain):
    result = rtrain("exec", rtrain.script("local t = nil\nprint(t.x)"))
    assert result.returncode == 1
    assert "train.lua:2:" in result.stderr
    assert len(result.stderr.splitlines()) <= 5


def test_a_method_without_its_object_is_told_at_the_users_line(rtrain):
    result = rtrain(
        "exec",
        rtrain.script("""
        local torch = require 'torch'
        local net = torch.nn.Linear(1, 1)
        net.eval()
    """),
    )
    assert result.returncode == 1
    assert "train.lua:3: 'eval' is a method: write net:eval()" in result.stderr
    unnamed = rtrain(
        "exec",
        rtrain.script("""
        local nn = require 'torch.nn'
        local y = nn.Sequential(nn.ReLU()).forward(require('torch').ones(1))
    """),
    )
    assert "train.lua:2: 'forward' is a method: write module:forward(...)" in unnamed.stderr, unnamed.stderr


def test_a_tensor_compared_with_a_number_names_the_method(rtrain):
    result = rtrain("exec", rtrain.script("print(require('torch').ones(2) < 3)"))
    assert result.returncode == 1
    assert (
        "train.lua:1: attempt to compare userdata with number (tensors are compared elementwise: use x:lt(y)"
        in result.stderr
    )


def test_an_argument_that_a_library_line_trips_over_is_told_at_the_users_line(rtrain):
    result = rtrain(
        "exec",
        rtrain.script("""
        local torch = require 'torch'
        torch.nn.Sequential(7)(torch.ones(1))
    """),
    )
    assert result.returncode == 1
    assert "train.lua:2: " in result.stderr


def test_a_module_that_rtrain_lacks_is_refused_in_one_line(rtrain):
    result = rtrain("exec", rtrain.script("require 'torch.util.data'"))
    assert result.returncode == 1
    assert (
        "train.lua:1: there is no module 'torch.util.data' in this version: did you mean 'torch.utils.data'?"
        in result.stderr
    )
    assert len(result.stderr.splitlines()) <= 3


@pytest.mark.parametrize("module", ["torch.distributed.tensor", "torch.distributed.tensor.parallel"])
def test_a_package_of_pytorch_that_rtrain_lacks_names_the_alternative(rtrain, module):
    result = rtrain("exec", rtrain.script(f"require '{module}'"))
    assert result.returncode == 3
    assert "train.lua:1: torch.distributed.tensor is not in this version: " in result.stderr
    assert "torch.distributed.nn has collectives with gradients" in result.stderr


def test_a_missing_file_is_wrong_usage(rtrain):
    result = rtrain("exec", "missing.lua")
    assert result.returncode == 2
    assert "missing.lua" in result.stderr


def test_missing_libtorch_lists_every_place_and_exits_4(rtrain):
    rtrain.env["RTRAIN_LIBTORCH"] = "/nonexistent"
    result = rtrain("exec", rtrain.script("print(require('torch').zeros(2))"))
    assert result.returncode == 4
    assert "/nonexistent" in result.stderr and "RTRAIN_LIBTORCH" in result.stderr


def test_a_libtorch_that_there_is_no_engine_for_is_said_with_the_command_that_mends_it(rtrain):
    known = rtrain.json("env")["libtorch"]["engines"]
    lib = rtrain.folder / "torch" / "lib"
    lib.mkdir(parents=True)
    (lib / "libtorch_cpu.so").write_text("")
    (lib.parent / "version.py").write_text("__version__ = '2.9.1+cu128'\ngit_version = 'abc'\n")
    rtrain.env["RTRAIN_LIBTORCH"] = str(lib.parent)
    result = rtrain("exec", rtrain.script("print(require('torch').zeros(2))"))
    assert result.returncode == 4
    assert f"version 2.9.1+cu128, need {known[0]}" in result.stderr and known[-1] in result.stderr
    assert f"Install it with `pip install torch~={known[-1]}.0`" in result.stderr
    shown = rtrain.json("env")["libtorch"]
    assert shown["engine"] is None and shown["engines"] == known


def libtorch_that_says(rtrain, version, commit):
    """Copies the LibTorch of these tests with another version.py, and makes rtrain use the copy."""
    original = pathlib.Path(rtrain.json("env")["libtorch"]["path"]).parent
    folder = rtrain.folder / version
    folder.mkdir()
    (folder / "lib").symlink_to(original / "lib")
    (folder / "version.py").write_text(f"__version__ = '{version}'\ngit_version = '{commit}'\n")
    rtrain.env["RTRAIN_LIBTORCH"] = str(folder)


def test_a_later_release_of_libtorch_is_taken(rtrain):
    assert rtrain.json("env")["libtorch"]["tested"] is True
    minor = rtrain.json("env")["libtorch"]["engine"]
    libtorch_that_says(rtrain, f"{minor}.7+cpu", "0123456")
    result = rtrain("exec", rtrain.script("print(require('torch').ones(2):sum():item())"))
    assert (result.returncode, result.stdout) == (0, "2\n"), result.stderr
    shown = rtrain.json("env")["libtorch"]
    assert (shown["version"], shown["engine"], shown["tested"]) == (f"{minor}.7+cpu", minor, False)
    assert f"for LibTorch {minor}, whose tests ran with another release of it" in rtrain("env").stdout


@pytest.mark.parametrize("version", ["{release}", "{minor}.7a0+git0123456", "{minor}.7.dev20261127+cpu"])
def test_a_build_of_libtorch_other_than_releases_is_taken_only_where_that_is_asked_for(rtrain, version):
    found = rtrain.json("env")["libtorch"]
    version = version.format(minor=found["engine"], release=found["version"])
    libtorch_that_says(rtrain, version, "0123456")
    path = rtrain.script("print(require('torch').ones(2):sum():item())")
    refused = rtrain("exec", path)
    assert refused.returncode == 4
    assert f"version {version}, a build other than PyTorch's releases (RTRAIN_LIBTORCH_ANY=1 takes it" in refused.stderr
    rtrain.env["RTRAIN_LIBTORCH_ANY"] = "1"
    taken = rtrain("exec", path)
    assert (taken.returncode, taken.stdout) == (0, "2\n"), taken.stderr


def test_help_is_a_command_and_usage_errors_name_the_help_of_theirs(rtrain):
    assert rtrain("help").stdout == rtrain("--help").stdout
    assert rtrain("help", "run").stdout == rtrain("run", "--help").stdout != ""
    unknown = rtrain("help", "rnu")
    assert (
        unknown.returncode == 2 and "unknown command 'rnu': did you mean 'run'?\nRun `rtrain --help`." in unknown.stderr
    )
    for args, command in [
        (["run"], "run"),
        (["sweep", "--jobz", "2"], "sweep"),
        (["ls", "--sort"], "ls"),
        (["--jsn"], None),
    ]:
        result = rtrain(*args)
        wanted = f"Run `rtrain {command} --help`." if command else "Run `rtrain --help`."
        assert result.returncode == 2 and result.stderr.splitlines()[-1] == wanted, result.stderr
