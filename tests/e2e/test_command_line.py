"""rtrain --version, exec and wrong use."""

import pathlib
import re

import pytest
from conftest import RTRAIN


@pytest.mark.parametrize("prefix, newest", [(b"GLIBC", (2, 34)), (b"GLIBCXX", (3, 4, 30))], ids=["glibc", "libstdc++"])
def test_the_file_asks_for_no_newer_system_than_promised(prefix, newest):
    """Debian 12 and Ubuntu 22.04. The engine lies inside the executable as it is, so that its needs count too."""
    versions = re.findall(prefix + rb"_(\d+(?:\.\d+)+)\0", pathlib.Path(RTRAIN).read_bytes())
    assert versions and max(tuple(map(int, version.split(b"."))) for version in versions) <= newest


def test_version_is_one_line(rtrain):
    result = rtrain("--version")
    assert result.returncode == 0
    assert result.stdout.startswith("rtrain ") and result.stdout.count("\n") == 1


def test_exec_passes_arguments_and_output(rtrain):
    script = rtrain.script("print(arg[0]:match('[^/]+$'), arg[1], arg[2])")
    result = rtrain("exec", script, "a", "--b")
    assert (result.returncode, result.stdout) == (0, "train.lua\ta\t--b\n")


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
    result = rtrain("exec", rtrain.script("""
        local torch = require 'torch'
        local net = torch.nn.Linear(1, 1)
        net.eval()
    """))
    assert result.returncode == 1
    assert "train.lua:3: 'eval' is a method: write object:eval(...)" in result.stderr


def test_a_tensor_compared_with_a_number_names_the_method(rtrain):
    result = rtrain("exec", rtrain.script("print(require('torch').ones(2) < 3)"))
    assert result.returncode == 1
    assert "train.lua:1: attempt to compare userdata with number (tensors are compared elementwise: use x:lt(y)" in result.stderr


def test_an_argument_that_a_library_line_trips_over_is_told_at_the_users_line(rtrain):
    result = rtrain("exec", rtrain.script("""
        local torch = require 'torch'
        torch.nn.Sequential(7)(torch.ones(1))
    """))
    assert result.returncode == 1
    assert "train.lua:2: " in result.stderr


def test_a_module_that_rtrain_lacks_is_refused_in_one_line(rtrain):
    result = rtrain("exec", rtrain.script("require 'torch.util.data'"))
    assert result.returncode == 1
    assert "train.lua:1: there is no module 'torch.util.data' in this version: did you mean 'torch.utils.data'?" in result.stderr
    assert len(result.stderr.splitlines()) <= 3


def test_a_missing_file_is_wrong_usage(rtrain):
    result = rtrain("exec", "missing.lua")
    assert result.returncode == 2
    assert "missing.lua" in result.stderr


def test_missing_libtorch_lists_every_place_and_exits_4(rtrain):
    rtrain.env["RTRAIN_LIBTORCH"] = "/nonexistent"
    result = rtrain("exec", rtrain.script("print(require('torch').zeros(2))"))
    assert result.returncode == 4
    assert "/nonexistent" in result.stderr and "RTRAIN_LIBTORCH" in result.stderr
