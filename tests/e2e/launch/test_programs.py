"""rtrain launch and train.ProgramTrainer: programs in other languages as ranks, Python programs with the package
rtrain."""

import json
import signal
import sys

import pytest

from conftest import wait_until
from python_programs import launched, lines_of, python  # noqa: F401  (a fixture)


def test_a_program_finds_torchruns_variables_and_not_its_launchers(rtrain):
    rtrain.env.update(SLURM_PROCID="7", OMPI_COMM_WORLD_RANK="7", PMI_RANK="7", PMIX_RANK="7", RTRAIN_LAUNCHER="local")
    result = launched(
        rtrain,
        "-n",
        "2",
        "--env",
        "COLOUR=red",
        "sh",
        "-c",
        "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK $TORCHELASTIC_RESTART_COUNT $COLOUR $0 $1; "
        "env | grep -E '^(SLURM|OMPI|PMI|PMIX|RTRAIN_LAUNCHER)' || true",
        "a",
        "[1,2]",
    )
    assert lines_of(result) == ["0 0 2 2 0 0 red a [1,2]", "1 1 2 2 0 0 red a [1,2]"]


def test_all_ranks_have_one_address_for_their_group(rtrain):
    lines = lines_of(launched(rtrain, "-n", "3", "sh", "-c", "echo $MASTER_ADDR:$MASTER_PORT"))
    assert len(lines) == 3 and len(set(lines)) == 1
    assert lines[0].startswith("127.0.0.1:") and int(lines[0].split(":")[1]) > 0


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_what_a_framework_finds(rtrain, python, backend):
    script = python("""
        import json, os
        rank, names = int(os.environ["RANK"]), ["JAX_COORDINATOR_ADDRESS", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"]
        if "TF_CONFIG" in os.environ:
            config = json.loads(os.environ["TF_CONFIG"])
            assert config["task"] == {"type": "worker", "index": rank}
            print("cluster", sorted(set(config["cluster"]["worker"])))
        else:
            address, number, own = (os.environ[name] for name in names)
            assert (number, own) == ("2", str(rank)) and "JAX_LOCAL_DEVICE_IDS" not in os.environ
            print("cluster", address)
    """)
    lines = lines_of(launched(rtrain, "-n", "2", "--backend", backend, script))
    assert len(lines) == 2 and lines[0] == lines[1]
    if backend == "tensorflow":
        assert len(lines[0].split(", ")) == 2, "a port for each worker"


def test_a_backend_of_ones_own(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        local greeting = 'hello'
        local Greeter = train.Backend:extend('Greeter')
        function Greeter:on_start(worker) worker.env.GREETING = greeting .. ' ' .. worker.context.world_rank end
        function Greeter:on_training_start(worker) print('trains ' .. worker.context.world_rank) end
        function Greeter:on_shutdown(worker) print('goodbye ' .. worker.context.world_rank) end
        train.ProgramTrainer({
          command = {'sh', '-c', 'echo $GREETING'},
          backend_config = Greeter(),
          scaling_config = train.ScalingConfig {num_workers = 2},
        }):fit()
    """)
    assert lines_of(result) == ["goodbye 0", "goodbye 1", "hello 0", "hello 1", "trains 0", "trains 1"]


def test_reports_logs_and_context_of_python(rtrain, python):
    script = python("""
        import rtrain.train as train
        context = train.get_context()
        for step in range(3):
            train.log({"loss": 1 / (step + 1)}, step=step)
            train.report({"step": step, "nan": float("nan"), "list": [1, "a", True], "rank": context.get_world_rank()})
        assert train.get_checkpoint() is None and not train.stop_requested()
        print(context.get_experiment_name(), context.get_world_size(), context.get_local_rank())
    """)
    result = launched(rtrain, "-n", "2", "--name", "run", script)
    assert lines_of(result) == ["run 2 0", "run 2 1"]
    reports = rtrain.json("metrics", "run")
    assert [row["metrics"]["step"] for row in reports] == [0, 1, 2]
    assert reports[0]["metrics"]["list"] == [1, "a", True]
    assert rtrain.query("SELECT count(*) FROM reports WHERE rank = 1") == [(3,)]
    assert rtrain.query("SELECT nonfinite FROM reports WHERE rank = 0 LIMIT 1") == [('{"nan":"NaN"}',)]
    assert [row["value"] for row in rtrain.json("metrics", "run", "--series", "loss") if row["rank"] == 1] == [
        1,
        0.5,
        1 / 3,
    ]
    shown = rtrain.json("show", "run")
    assert shown["script"] == shown["config"]["command"][1] == str(script)
    assert rtrain("show", "run", "--script").stdout == script.read_text()


CHECKPOINTS = """
    import os, signal, sys, tempfile, time
    import rtrain.train as train
    first, checkpoint = 0, train.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            first = int(open(folder + "/step").read()) + 1
    for step in range(first, 6):
        if train.stop_requested():
            sys.exit(0)
        if step == 3 and first == 0 and os.environ["RANK"] == "1" and "--die" in sys.argv:
            os.kill(os.getpid(), signal.SIGKILL)
        with tempfile.TemporaryDirectory(dir=".") as folder:  # a killed process leaves it
            open(folder + "/step", "w").write(str(step))
            train.report({"step": step, "first": first}, checkpoint=train.Checkpoint.from_directory(folder))
        while "--wait" in sys.argv and step == 2 and first == 0:
            time.sleep(0.05)
"""


def test_a_killed_program_is_tried_again_from_its_checkpoint(rtrain, python):
    result = launched(rtrain, "-n", "2", "--name", "run", "--max-failures", "1", python(CHECKPOINTS), "--die")
    assert "train.py killed by signal 9 (SIGKILL); attempt 2 begins" in result.stderr
    assert rtrain.statuses("run") == ["ERRORED", "FINISHED"]
    assert [(row["step"], row["first"]) for row in rtrain.reports("run")] == [
        (0, 0),
        (1, 0),
        (2, 0),
        (3, 3),
        (4, 3),
        (5, 3),
    ]
    assert (rtrain.run_folder("run") / "checkpoints" / "checkpoint_000005" / "step").read_text() == "5"
    rtrain.wait_for_processes()


def test_a_run_goes_on_after_the_end_of_everything(rtrain, python):
    script = python(CHECKPOINTS)
    running = rtrain.started("launch", "-n", "2", "--name", "run", script, "--wait", reports=3)
    wait_until(lambda: rtrain.query("SELECT count(*) FROM checkpoints") == [(3,)], message="the third checkpoint")
    running.kill()
    rtrain.wait_for_processes()
    launched(rtrain, "-n", "2", "--name", "run", "--resume", "auto", script)
    assert [(row["step"], row["first"]) for row in rtrain.reports("run")] == [
        (0, 0),
        (1, 0),
        (2, 0),
        (3, 3),
        (4, 3),
        (5, 3),
    ]


def test_a_program_that_asks_stops_by_itself(rtrain, python):
    script = python("""
        import time
        import rtrain.train as train
        step = 0
        while not train.stop_requested():
            train.report({"step": step})
            step += 1
            time.sleep(0.02)
        print("stopped")
    """)
    running = rtrain.started("launch", "-n", "2", script, reports=2)
    running.send(signal.SIGTERM)
    result = running.wait()
    assert lines_of(result) == ["stopped", "stopped"] and result.returncode == 143, result.stderr


def test_a_program_that_never_asks_gets_sigterm(rtrain):
    running = rtrain.start(
        "launch",
        "-n",
        "2",
        "--name",
        "run",
        "sh",
        "-c",
        "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
    )
    wait_until(lambda: running.stdout.count("ready") == 2, message="both programs")
    running.send(signal.SIGTERM)
    result = running.wait()
    assert lines_of(result) == ["ready", "ready", "saved", "saved"], result.stderr
    assert result.returncode == 143, result.stderr  # stopped without a checkpoint, like a train function in Lua
    assert rtrain.json("show", "run")["status"] == "ABORTED"
    rtrain.wait_for_processes()


def test_a_program_that_reports_nothing_is_no_hang(rtrain):
    rtrain.env.update(RTRAIN_HANG_THRESHOLD_S="1", RTRAIN_BUSY_THRESHOLD_S="1")
    result = rtrain("launch", "-n", "2", "--name", "run", "sh", "-c", "sleep 4")
    assert result.returncode == 0 and "watchdog" not in result.stderr, result.stderr


# fault: SIGSTOP of a program under rtrain launch
def test_a_stopped_program_ends_the_attempt(rtrain):
    rtrain.env["RTRAIN_HANG_THRESHOLD_S"] = "1"
    stops = "test $TORCHELASTIC_RESTART_COUNT = 1 && exit 0; test $RANK = 1 && kill -STOP $$; exec sleep 60"
    result = rtrain("launch", "-n", "2", "--max-failures", "1", "--name", "run", "sh", "-c", stops)
    assert result.returncode == 0, result.stderr
    assert rtrain.statuses("run") == ["ERRORED", "FINISHED"]
    [(text,)] = rtrain.query("SELECT error FROM attempts WHERE error IS NOT NULL")
    error = json.loads(text)
    assert (error["code"], error["rank"]) == ("timeout", 1) and "is stopped (SIGSTOP)" in error["message"], error


WAITS = """
    import threading
    from rtrain import train
    def holds():
        threading.Event().wait()
    threading.Thread(target=holds, daemon=True).start()
    def learns():
        train.report({"step": 1})
        sum(range(10 ** 13))  # in native code, which holds Python's lock
    learns()
"""


def test_the_stack_of_a_python_program(rtrain, python):
    """Also works for a program that a shell has started, and while Python code cannot run."""
    script = python(WAITS)
    running = rtrain.started("launch", "--name", "run", "sh", "-c", f"{sys.executable} {script}; true", reports=1)
    shown = rtrain("stack", "run").stdout
    assert "train.py:8 in learns\n  " in shown and "train.py:9 in <module>" in shown and "holds" not in shown, shown
    assert "runs a program (pid " in shown
    native = rtrain("stack", "run", "--native").stdout
    assert "Python thread main" in native and "train.py:4 in holds" in native and "rtrain-control" in native, native
    [rank] = rtrain.json("stack", "run")["ranks"]
    assert (
        next(thread["name"] for thread in rank["program"]) == "main" and len(rank["program"]) == 3
    )  # one of the threads reads answers
    rtrain("stop", "run", "--now")
    running.wait()


def test_a_program_that_is_not_python_has_no_stack(rtrain):
    running = rtrain.start("launch", "--name", "run", "sleep", "60")
    wait_until(lambda: "runs a program" in rtrain("stack", "run").stdout, message="the program")
    assert not rtrain.json("stack", "run")["ranks"][0].get("program")
    rtrain("stop", "run", "--now")
    assert "killed" not in running.wait().stderr


def test_each_signal_is_a_failure_that_is_tried_again(rtrain):
    """A killed program is restarted like a killed worker, also without a checkpoint in between; a repeated exit code is
    not."""
    killed = "test $TORCHELASTIC_RESTART_COUNT = 2 || kill -9 $$"
    result = rtrain("launch", "--max-failures", "2", "--name", "run", "sh", "-c", killed)
    assert result.returncode == 0, result.stderr
    assert rtrain.statuses("run") == ["ERRORED", "ERRORED", "FINISHED"]
    result = rtrain("launch", "--max-failures", "2", "--name", "other", "sh", "-c", "exit 3")
    assert result.returncode == 1 and rtrain.statuses("other") == ["ERRORED", "ERRORED"], result.stderr


@pytest.mark.parametrize(
    "args, code, words",
    [
        (["nothing.py"], 2, ["there is no file nothing.py"]),
        (["no-such-program"], 3, ["cannot run no-such-program: no folder of PATH has it"]),
        (["./folder/none"], 3, ["cannot run ./folder/none: there is no such file"]),
        (["--env", "COLOUR", "true"], 2, ["--env COLOUR: expected NAME=VALUE"]),
        (["--backend", "theano", "true"], 2, ["theano"]),
        ([], 2, ["PROGRAM"]),
    ],
)
def test_what_cannot_be_launched(rtrain, args, code, words):
    result = rtrain("launch", *args)
    assert result.returncode == code, result.stderr
    for word in words:
        assert word in result.stderr


@pytest.mark.parametrize(
    "fields, words",
    [
        ("command = 'python3'", "command is a string, expected a list"),
        ("command = {}", "command is empty"),
        ("command = {'a', 3}", "command[2] is a number"),
        ("command = {'a'}, env = {A = 1}", "env[A] is a number"),
        ("command = {'a'}, backend_config = 'tensorflw'", "did you mean 'tensorflow'"),
        ("command = {'a'}, backend_config = {on_begin = print}", "backend_config"),
        ("comand = {'a'}", "did you mean 'command'"),
        ("command = {'a'}, num_workers = 2", "belongs to ScalingConfig"),
    ],
)
def test_configs_are_checked_where_the_trainer_is_made(rtrain, fields, words):
    result = rtrain.run(f"require('rtrain').ProgramTrainer {{{fields}}}")
    assert result.returncode in (1, 3) and words in result.stderr and "train.lua:1" in result.stderr, result.stderr
