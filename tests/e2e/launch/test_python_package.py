"""The package rtrain in Python programs of a run: exceptions, threads, and its use outside of a run."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import SOURCE
from python_programs import launched, lines_of, python  # noqa: F401  (a fixture)


def test_the_users_sitecustomize_runs_too(rtrain, python, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/sitecustomize.py").write_text("import builtins\nbuiltins.mark = 'mine'\n")
    rtrain.env["PYTHONPATH"] = str(tmp_path / "own")
    assert lines_of(
        launched(
            rtrain, python("import sitecustomize\nprint(mark, sitecustomize.__file__.endswith('own/sitecustomize.py'))")
        )
    ) == ["mine True"]


def test_a_traceback_is_in_the_error_and_in_the_store(rtrain, python):
    script = python("""
        import os
        if os.environ["RANK"] == "1":
            raise ValueError("no such column: label")
        import time
        time.sleep(60)
    """)
    result = rtrain("launch", "-n", "2", "--name", "run", script)
    assert result.returncode == 1
    assert "rank 1 raised an error" in result.stderr and "train.py exited with code 1" in result.stderr
    assert 'train.py", line 3, in <module>' in result.stderr and "ValueError: no such column: label" in result.stderr
    error = rtrain.json("show", "run")["attempts"][0]["error"]
    assert error["rank"] == 1 and "ValueError: no such column: label" in error["ranks"]["1"]["message"]
    rtrain.wait_for_processes()


def test_what_python_cannot_report_is_told_at_its_line(rtrain, python):
    result = rtrain(
        "launch",
        python("""
        import rtrain.train as train
        train.report({"model": {"weights": object()}})
    """),
    )
    assert result.returncode == 1
    assert "line 2" in result.stderr and "TypeError: metrics['model']['weights'] is a object" in result.stderr


@pytest.mark.parametrize(
    "metrics, words",
    [
        ("{'a': [1, None]}", "TypeError: metrics['a'][1] is None"),
        ("{'a': chr(0xd800)}", "TypeError: metrics['a']: '\\ud800' is not text that UTF-8 can hold"),
        ("{'a': 'x' * 2 ** 20}", "ValueError: report: 1048613 bytes as JSON, at most 1048576 are read"),
    ],
)
def test_what_the_worker_could_not_read_is_an_exception_at_its_line(rtrain, python, metrics, words):
    result = rtrain(
        "launch",
        python(f"""
        import rtrain.train as train
        train.report({metrics})
    """),
    )
    assert result.returncode == 1 and "line 2" in result.stderr and words in result.stderr, result.stderr


def test_a_checkpoint_that_is_not_there_is_an_exception_in_python(rtrain, python):
    launched(
        rtrain,
        python("""
        import rtrain.train as train
        try:
            train.report({"a": 1}, checkpoint=train.Checkpoint.from_directory("/nowhere"))
        except RuntimeError as error:
            assert "/nowhere" in str(error), error
        else:
            raise AssertionError("reported")
    """),
    )


def test_after_a_call_that_an_exception_has_ended_answers_are_those_of_their_calls(rtrain, python):
    # Rank 0 waits in report() for rank 1, with its files staged, when a signal handler raises.
    launched(
        rtrain,
        "-n",
        "2",
        "--name",
        "run",
        python("""
        import glob, os, pathlib, signal, sys, tempfile, threading, time
        import rtrain.train as train

        class Interrupted(Exception):
            pass

        def interrupt(*_):
            raise Interrupted

        def kill_when_staged():
            while not glob.glob(sys.argv[1] + "/run/staging/*/**/file", recursive=True):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGUSR1)

        rank = train.get_context().get_world_rank()
        told = pathlib.Path("interrupted")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "file").write_text("text")
            checkpoint = train.Checkpoint.from_directory(folder)
            if rank == 0:
                signal.signal(signal.SIGUSR1, interrupt)
                threading.Thread(target=kill_when_staged).start()
                try:
                    train.report({"a": 1}, checkpoint=checkpoint)
                except Interrupted:
                    told.touch()
                else:
                    raise AssertionError("the report ended")
            else:
                while not told.exists():
                    time.sleep(0.01)
                train.report({"a": 1}, checkpoint=checkpoint)
        assert train.get_checkpoint().path.endswith("checkpoint_000000")
        assert train.stop_requested() is False
        assert train.get_checkpoint().path.endswith("checkpoint_000000")
    """),
        rtrain.storage,
    )


def test_threads_of_a_program_log_at_the_same_time(rtrain, python):
    launched(
        rtrain,
        "--name",
        "run",
        python("""
        import threading
        import rtrain.train as train
        def log(number):
            for step in range(3):
                train.log({f"k{number}_{i}": i for i in range(8000)}, step=step)
        threads = [threading.Thread(target=log, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        train.report({"done": 1})
    """),
    )
    for number in range(4):
        assert [row["value"] for row in rtrain.json("metrics", "run", "--series", f"k{number}_7999")] == [7999] * 3


def test_outside_of_rtrain_the_package_does_no_harm(tmp_path):
    script = tmp_path / "alone.py"
    script.write_text(
        "import rtrain.train as train\n"
        "train.report({'a': 1}); train.log({'b': 2.0})\n"
        "assert train.get_context().get_world_size() == 1 and train.get_checkpoint() is None\n"
        "assert not train.stop_requested()\n"
    )
    done = subprocess.run(
        [sys.executable, script], env={"PYTHONPATH": f"{SOURCE}/python"}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_runs_are_read_from_python(rtrain, python):
    launched(rtrain, "--name", "run", python("import rtrain.train as train\ntrain.report({'a': 1})"))
    program = (
        "import rtrain, json; rows = rtrain.runs(executable=%r); print(json.dumps([list(rows['name']) "
        "if hasattr(rows, 'columns') "
        "else [row['name'] for row in rows]]))" % os.environ["RTRAIN"]
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**rtrain.env, "PYTHONPATH": f"{SOURCE}/python"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout) == [["run"]], done.stderr


def test_the_package_is_small_and_needs_the_standard_library_alone():
    files = sorted(pathlib.Path(SOURCE, "python", "rtrain").rglob("*.py"))
    assert sum(len(path.read_text().splitlines()) for path in files) <= 650
    for path in files:
        top = [
            line.split()[1].split(".")[0]
            for line in path.read_text().splitlines()
            if line.startswith(("import ", "from "))
        ]
        assert set(top) <= {
            "atexit",
            "contextlib",
            "dataclasses",
            "inspect",
            "itertools",
            "json",
            "math",
            "os",
            "queue",
            "rtrain",
            "shlex",
            "shutil",
            "socket",
            "subprocess",
            "sys",
            "tempfile",
            "threading",
            "typing",
        }, path
