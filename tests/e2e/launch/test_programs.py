"""rtrain launch and train.ProgramTrainer: programs in other languages as ranks, Python programs with the package
rtrain."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from conftest import SOURCE, refused, wait_until

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="Python's torch is missing (RTRAIN_TEST_PYTHON)"
)


@pytest.fixture
def python(rtrain):
    """Writes a script that the Python of these tests runs."""
    rtrain.env["RTRAIN_PYTHON"] = sys.executable
    return lambda text: rtrain.script(text, "train.py")


def launched(rtrain, *args):
    result = rtrain("launch", *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def lines_of(result):
    """Returns the lines of all ranks, without the prefix that names the rank."""
    return sorted(line.split("] ", 1)[1] for line in result.stdout.splitlines() if line.startswith("[rank "))


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


def test_the_users_sitecustomize_runs_too(rtrain, python, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/sitecustomize.py").write_text("import builtins\nbuiltins.mark = 'mine'\n")
    rtrain.env["PYTHONPATH"] = str(tmp_path / "own")
    assert lines_of(
        launched(
            rtrain, python("import sitecustomize\nprint(mark, sitecustomize.__file__.endswith('own/sitecustomize.py'))")
        )
    ) == ["mine True"]


def test_each_signal_is_a_failure_that_is_tried_again(rtrain):
    """A killed program is restarted like a killed worker, also without a checkpoint in between; a repeated exit code is
    not."""
    killed = "test $TORCHELASTIC_RESTART_COUNT = 2 || kill -9 $$"
    result = rtrain("launch", "--max-failures", "2", "--name", "run", "sh", "-c", killed)
    assert result.returncode == 0, result.stderr
    assert rtrain.statuses("run") == ["ERRORED", "ERRORED", "FINISHED"]
    result = rtrain("launch", "--max-failures", "2", "--name", "other", "sh", "-c", "exit 3")
    assert result.returncode == 1 and rtrain.statuses("other") == ["ERRORED", "ERRORED"], result.stderr


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


DDP = """
    import sys
    import torch
    MODULE
    from torch.utils.data import DataLoader, TensorDataset
    def train_func(config):
        torch.manual_seed(0)
        x = torch.randn(64, 4)
        loader = prepare_data_loader(DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8))
        model = prepare_model(torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
        for epoch in range(3):
            for a, b in loader:
                loss = torch.nn.functional.mse_loss(model(a), b)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            train.report({"epoch": epoch, "loss": loss})
    TorchTrainer(
        train_func, train_loop_config={"lr": 0.05}, scaling_config=train.ScalingConfig(num_workers=2),
        run_config=train.RunConfig(
            name="digits", failure_config=train.FailureConfig(max_failures=2),
            checkpoint_config=train.CheckpointConfig(
                num_to_keep=3, checkpoint_score_attribute="loss", checkpoint_score_order="min"),
            callbacks=[print])).fit()
"""
# Settings that have no effect under the command → the option of the command that replaces them.
WITHOUT_EFFECT = {
    "RunConfig(name='digits')": "--name digits",
    "CheckpointConfig(num_to_keep=3)": "--num-to-keep 3",
    "CheckpointConfig(checkpoint_score_order='min')": "--checkpoint-score-order min",
    "RunConfig(callbacks=": "has no option for it",
}
LUA = """
    local torch, train = require 'torch', require 'rtrain'
    train.TorchTrainer({
      train_loop_per_worker = function(config)
        torch.manual_seed(0)
        local x = torch.randn(64, 4)
        local data = torch.utils.data
        local loader = train.torch.prepare_data_loader(data.DataLoader(data.TensorDataset(x, x:sum(1, true)), {batch_size = 8}))
        local model = train.torch.prepare_model(torch.nn.Linear(4, 1))
        local optimizer = torch.optim.SGD(model:parameters(), {lr = config.lr})
        for epoch = 0, 2 do
          local loss
          for a, b in loader do
            loss = torch.nn.functional.mse_loss(model(a), b)
            optimizer:zero_grad()
            loss:backward()
            optimizer:step()
          end
          train.report {epoch = epoch, loss = loss}
        end
      end,
      train_loop_config = {lr = 0.05},
      scaling_config = train.ScalingConfig {num_workers = 2},
      torch_config = train.TorchConfig {backend = 'gloo'},
      run_config = train.RunConfig {name = 'lua'},
    }):fit()
"""


@needs_torch
def test_a_script_of_ray_train_has_the_losses_of_its_lua_twin(rtrain, python):
    rtrain.env["TORCHINDUCTOR_CACHE_DIR"] = str(rtrain.folder)  # a folder that Python's torch creates
    imports = (
        "import rtrain.train as train\n    from rtrain.train.torch import TorchTrainer, prepare_data_loader, "
        "prepare_model"
    )
    result = launched(
        rtrain,
        "-n",
        "2",
        "--name",
        "python",
        "--max-failures",
        "2",
        "--checkpoint-score-attribute",
        "loss",
        "--num-to-keep",
        "2",
        python(DDP.replace("MODULE", imports)),
    )
    said = [line for line in result.stderr.splitlines() if "has no effect" in line]
    assert len(said) == len(WITHOUT_EFFECT), result.stderr
    for line, (what, option) in zip(said, WITHOUT_EFFECT.items()):
        assert what in line and option in line
    ((kept,),) = rtrain.query("SELECT checkpoint_config FROM runs WHERE name = 'python'")
    kept = json.loads(kept)
    assert kept["num_to_keep"] == 2 and kept["checkpoint_score_attribute"] == "loss"
    rtrain.run_ok(LUA)
    assert [row["loss"] for row in rtrain.reports("python")] == pytest.approx(
        [row["loss"] for row in rtrain.reports("lua")], rel=1e-6
    )


def test_ray_trainers_that_cannot_work_say_so(rtrain, python):
    result = rtrain(
        "launch", python("from rtrain.train.torch import TorchTrainer\nTorchTrainer(print, datasets={'train': 1})")
    )
    assert result.returncode == 1 and "ray.data is not in rtrain" in result.stderr
    refused(rtrain("launch", "--num-workers", "-1", "true"), "-1")


HOROVOD = """
import torch, horovod.torch as hvd
hvd.init()
torch.manual_seed(hvd.rank())
model = torch.nn.Linear(2, 1)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), op=hvd.Average)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
x = torch.arange(16.).reshape(8, 2)[hvd.rank()::hvd.size()] / 16
for _ in range(3):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    scheduler.step()
mean = hvd.allreduce(torch.tensor(float(hvd.rank())), name="mean").item()
rows = hvd.allgather(torch.full((hvd.rank() + 1, 1), hvd.rank())).flatten().tolist()
print([round(value, 5) for value in model.weight.flatten().tolist()], mean, rows)
"""

RAY = """
import torch
from rtrain.train.torch import prepare_model

def train_func():
    model = prepare_model(torch.nn.Linear(2, 1))
    torch.optim.SGD(model.parameters(), lr=0.2)
    torch.distributed.all_reduce(torch.ones(2))

train_func()
"""

THREADS_AT_EXIT = """
import atexit, os

@atexit.register  # called after the functions that are registered later
def count():
    names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
    print("threads of Gloo at exit:", sum("gloo" in name for name in names))
"""
NO_THREADS = "threads of Gloo at exit: 0"


# behaviour: a script of Horovod
@needs_torch
def test_a_script_of_horovod_trains_as_one_process_would(rtrain, python):
    script = python(THREADS_AT_EXIT + HOROVOD)
    rtrain.env["TORCHINDUCTOR_CACHE_DIR"] = str(rtrain.folder)
    alone, at_exit = lines_of(launched(rtrain, "-n", "1", "--backend", "horovod", script))
    assert at_exit == NO_THREADS
    lines = lines_of(launched(rtrain, "-n", "2", "--backend", "horovod", script))
    assert lines.count(NO_THREADS) == 2, "the process group ends before the interpreter"
    lines = [line for line in lines if line != NO_THREADS]
    assert lines == [lines[0]] * 2 and lines[0].endswith(" 0.5 [0, 1, 1]") and alone.endswith(" 0.0 [0]")
    assert lines[0].split("]")[0] == alone.split("]")[0]  # each rank trains on a half of the same batch


@needs_torch
def test_the_process_group_ends_before_the_interpreter(rtrain, python):
    rtrain.env["TORCHINDUCTOR_CACHE_DIR"] = str(rtrain.folder)
    lines = lines_of(launched(rtrain, "-n", "2", "--backend", "torch", python(THREADS_AT_EXIT + RAY)))
    assert lines.count(NO_THREADS) == 2
