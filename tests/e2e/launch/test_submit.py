"""`rtrain submit`: the job that it writes for each launcher, and how it submits the job. The launchers' programs are
simulated."""

import json
import os
import pathlib
import re
import shlex
import signal
import stat
import subprocess
import sys

import pytest

from conftest import RTRAIN, SOURCE, Running, wait_until

EXAMPLES = SOURCE / "examples" / "cluster"
ROWS = re.findall(r"^\| `([^`]+)` \| `(rtrain submit [^`]+)` \|$", (EXAMPLES / "README.md").read_text(), re.MULTILINE)


@pytest.fixture
def site(rtrain):
    """A folder with a script, and a PATH with rtrain and the programs that a test puts into `bin`."""
    rtrain.script("print 'trains'")
    bin_folder = rtrain.folder / "bin"
    bin_folder.mkdir()
    (bin_folder / "rtrain").symlink_to(RTRAIN)
    rtrain.env["PATH"] = f"{bin_folder}:/usr/bin:/bin"
    return rtrain


def program(site, name, text):
    """Puts a program of that name on the PATH; its $LOG is a separate file."""
    path = site.folder / "bin" / name
    path.write_text(f"#!/bin/bash\nLOG={site.folder}/{name}.log\n{text}\n")
    path.chmod(0o755)


def log(site, name):
    return (site.folder / f"{name}.log").read_text()


def dry(site, *args):
    result = site("submit", "--dry-run", *args)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refused(site, *args):
    result = site("submit", *args)
    assert result.returncode == 2, (result.returncode, result.stderr)
    return result.stderr


def documents(text):
    yaml = pytest.importorskip("yaml", reason="PyYAML is missing: scripts/test --oracle installs it")
    return list(yaml.safe_load_all(text))


def check_schema(document):
    validator = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is missing: scripts/test --oracle installs it"
    )
    validator.validate(document, "1.34", strict=True)


@pytest.mark.parametrize("file, command", ROWS)
def test_the_examples_are_what_submit_writes(site, file, command):
    site.env.pop("RTRAIN_STORAGE")
    assert dry(site, *shlex.split(command)[2:-1]) == (EXAMPLES / file).read_text()


def test_every_example_is_in_the_list():
    listed = {file for file, _ in ROWS} | {"README.md", "pbs.lua", "skypilot.yaml"}
    assert listed == {path.name for path in EXAMPLES.iterdir()} and len(ROWS) == 5


# Slurm


def test_a_batch_script_has_what_was_asked_for(site):
    text = dry(
        site,
        "slurm",
        "train.lua",
        "--nodes",
        "3",
        "--ntasks-per-node",
        "2",
        "--cpus-per-task",
        "4",
        "--partition",
        "long",
        "--name",
        "mine",
        "--storage",
        "/data/my runs",
        "-n",
        "6",
        "--set",
        "lr=0.1",
        "--option=--account=me",
        "--time",
        "4",
        "--",
        "a b",
        "[1,2]",
    )
    for line in (
        "#SBATCH --job-name=mine",
        "#SBATCH --nodes=3",
        "#SBATCH --ntasks-per-node=2",
        "#SBATCH --cpus-per-task=4",
        "#SBATCH --partition=long",
        "#SBATCH --account=me",
        "#SBATCH --requeue",
        "#SBATCH --open-mode=append",
        "#SBATCH --time=4",
        "#SBATCH --signal=USR2@60",
        "srun --kill-on-bad-exit=1 --ntasks-per-node=2 --cpus-per-task=4 \\",
        "  rtrain run train.lua --name mine --storage '/data/my runs' -n 6 --set lr=0.1 -- 'a b' '[1,2]'",
    ):
        assert line in text.splitlines(), line
    assert "gpus" not in text


def test_a_job_is_submitted_and_its_number_shown(site):
    program(site, "sbatch", 'cat >"$LOG"; echo "$@" >>"$LOG"; echo "123;cluster"')
    result = site("submit", "slurm", "train.lua", "--nodes", "2")
    assert result.returncode == 0, result.stderr
    assert log(site, "sbatch") == dry(site, "slurm", "train.lua", "--nodes", "2") + "--parsable\n"
    assert result.stdout.startswith("submitted job 123\n")
    for command in (
        "squeue --job 123",
        "tail -F train-123.out",
        "rtrain show train-123",
        "scancel --signal=USR2 123",
        "scancel 123",
    ):
        assert command in result.stdout


def test_a_job_that_waits_is_queued_in_the_store(site):
    program(site, "sbatch", "echo 123")
    program(site, "squeue", 'echo "$@" >"$LOG"; echo PENDING')
    assert site("submit", "slurm", "train.lua", "-n", "4", "--", "word").returncode == 0
    run = site.json("ls")[0]
    assert (run["name"], run["status"], run["num_workers"], run["script"]) == ("train-123", "QUEUED", 4, "train.lua")
    assert log(site, "squeue") == "-h -j 123 -o %T\n"
    shown = site.json("show", "train-123")
    assert (shown["status"], shown["attempts"]) == ("QUEUED", [])
    assert shown["environment"]["command"] == ["rtrain", "run", "train.lua", "-n", "4", "--", "word"]
    assert "QUEUED" in site("show", "train-123").stdout
    result = site("submit", "slurm", "train.lua", "--name", "train-123")
    assert result.returncode == 0 and "there is a run 'train-123' already: the job ends with an error" in result.stderr
    # The run that Slurm then starts.
    site.script("""
        local train = require 'rtrain'
        train.DataParallelTrainer({train_loop_per_worker = function() train.report {} end}):fit()
    """)
    site.env.update(SLURM_JOB_ID="123", SLURM_PROCID="0", SLURM_NNODES="1")
    assert site("run", "train.lua").returncode == 0
    assert [run["status"] for run in site.json("ls")] == ["FINISHED"]


def test_the_row_of_a_job_that_waits_has_no_secrets(site):
    program(site, "sbatch", "echo 123")
    secret = "correct-horse"
    assert site("submit", "slurm", "train.lua", "--set", f"api_key={secret}", "--set", "lr=0.1").returncode == 0
    assert site.json("show", "train-123")["environment"]["command"][-4:] == ["--set", "api_key=***", "--set", "lr=0.1"]
    assert secret.encode() not in b"".join(path.read_bytes() for path in site.storage.glob("rtrain.db*"))


@pytest.mark.parametrize(
    "end, code",
    [
        ("JobState=COMPLETED ExitCode=0:0", 0),
        ("JobState=FAILED ExitCode=75:0", 75),
        ("JobState=CANCELLED ExitCode=0:15", 143),
        ("JobState=CANCELLED ExitCode=0:0", 1),
        ("slurm_load_jobs error: Invalid job id specified", 4),
    ],
)
def test_wait_shows_the_output_of_the_job_and_ends_with_its_code(site, end, code):
    program(site, "sbatch", "echo 123; echo first >train-123.out")
    program(
        site, "squeue", 'if [ -e "$LOG" ]; then exit 0; fi; touch "$LOG"; echo second >>train-123.out; echo RUNNING'
    )
    program(site, "scontrol", f'echo "{end}"')
    result = site("submit", "slurm", "train.lua", "--wait")
    assert result.returncode == code, result.stderr
    assert result.stdout.endswith("scancel 123\nfirst\nsecond\n")
    if code == 4:
        assert "job 123 has ended, and scontrol does not say how: slurm_load_jobs error" in result.stderr


@pytest.mark.parametrize(
    "squeue, status",
    [
        ("true", "LOST"),
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", "LOST"),
        ("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1", "QUEUED"),
        ("exit 127", "QUEUED"),
    ],
    ids=["ended", "forgotten", "no answer", "no squeue"],
)
def test_a_job_that_will_not_start_is_lost(site, squeue, status):
    program(site, "sbatch", "echo 123")
    program(site, "squeue", squeue)
    assert site("submit", "slurm", "train.lua").returncode == 0
    assert [run["status"] for run in site.json("ls")] == [status]


def test_a_store_that_cannot_be_written_does_not_stop_the_job(site):
    program(site, "sbatch", "echo 123")
    result = site("submit", "slurm", "train.lua", "--storage", "/proc/none")
    assert result.returncode == 0 and result.stdout.startswith("submitted job 123\n")
    assert "rtrain: `rtrain ls` will not show the run as QUEUED: " in result.stderr


SWEEP = [
    "slurm",
    "train.lua",
    "--sweep",
    "--name",
    "search",
    "--grid",
    "lr=0.1,0.2",
    "--grid",
    "act=relu,my act",
    "--jobs",
    "3",
]


def test_the_trials_of_a_sweep_are_an_array(site):
    text = dry(site, *SWEEP, "--storage", "/data", "--", "a b")
    assert (
        "#SBATCH --array=0-3%3" in text
        and "#SBATCH --output=%x-%A_%a.out" in text
        and "#SBATCH --job-name=search" in text
    )
    # The command that each task starts, as bash expands it.
    body = re.search(r"^case .*^esac$", text, re.MULTILINE | re.DOTALL).group()
    command = text.rpartition("srun ")[2].partition("\\\n")[2].strip()
    for number, (lr, act) in enumerate([("0.1", "relu"), ("0.1", "my act"), ("0.2", "relu"), ("0.2", "my act")]):
        shown = subprocess.run(
            ["bash", "-c", f"SLURM_ARRAY_TASK_ID={number}\n{body}\nprintf '%s\\n' {command}"],
            capture_output=True,
            text=True,
        )
        words = shown.stdout.splitlines()
        settings = dict(word.split("=") for flag, word in zip(words, words[1:]) if flag == "--set")
        assert settings == {"lr": lr, "act": act}, (words, shown.stderr)
        assert (
            words[words.index("--name") + 1] == f"search-00{number}"
            and words[words.index("--tag") + 1] == "sweep:search"
        )
        assert words[:3] == ["rtrain", "run", "train.lua"] and words[-2:] == ["--", "a b"] and "/data" in words


def test_the_draws_of_an_array_are_those_of_a_sweep(site):
    drawn = ["--space", "lr=loguniform(1e-4, 1e-1)", "--random", "3", "--seed", "7"]
    text = dry(site, "slurm", "train.lua", "--sweep", "--name", "s", *drawn)
    site.script(
        "local train = require 'rtrain'\ntrain.TorchTrainer{train_loop_per_worker = function(c) train.report{x = c.lr} end, "
        "train_loop_config = {lr = 1}, scaling_config = train.ScalingConfig{num_workers = 1}}:fit()"
    )
    result = site("sweep", "train.lua", *drawn, "--name", "s", "-q")
    assert result.returncode == 0, result.stderr
    values = [float(value) for value in re.findall(r"--set lr=(\S+)\) ;;", text)]
    assert values == [site.json("show", f"s-00{i}")["config"]["lr"] for i in range(3)] and len(set(values)) == 3


def test_the_trials_of_an_array_wait_in_the_store(site):
    program(site, "sbatch", "echo 123")
    program(site, "squeue", "echo PENDING")
    result = site("submit", *SWEEP)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("submitted job 123: 4 trials of the sweep search\n")
    assert "rtrain ls --tag sweep:search" in result.stdout and "tail -F search-123_*.out" in result.stdout
    rows = {row["name"]: row["status"] for row in site.json("ls")}
    assert rows == {f"search-00{number}": "QUEUED" for number in range(4)}
    assert "act=my act" in site.json("show", "search-001")["environment"]["command"]


def test_the_batch_script_makes_a_key_for_the_user_alone_and_removes_it(site):
    program(
        site, "srun", 'stat -c "%a %s" "$RTRAIN_SECRET_FILE" >"$LOG"; echo "$RTRAIN_SECRET_FILE" "$@" >>"$LOG"; exit 75'
    )
    script = site.script(dry(site, "slurm", "train.lua", "--nodes", "2"), "job")
    result = Running(["/bin/bash", str(script)], site.folder, {**site.env, "SLURM_JOB_ID": "9"}).wait()
    assert result.returncode == 75, result.stderr
    mode, call = log(site, "srun").splitlines()
    key = site.folder / ".local" / "state" / "rtrain" / "secrets" / "9"
    assert mode == "600 64" and call == f"{key} --kill-on-bad-exit=1 --ntasks-per-node=1 rtrain run train.lua"
    assert not key.exists() and stat.S_IMODE(key.parent.stat().st_mode) == 0o700


def test_one_process_needs_no_key(site):
    assert "SECRET" not in dry(site, "slurm", "train.lua")


def test_an_executable_that_is_not_on_the_path_is_named_by_its_path(site):
    (site.folder / "bin" / "rtrain").unlink()
    assert f"  {RTRAIN} run train.lua\n" in dry(site, "slurm", "train.lua")


# Kubernetes


K8S = ["k8s", "train.lua", "--nodes", "2", "--image", "i", "--claim", "c"]


def test_the_job_is_one_of_the_published_schema(site):
    service, job = documents(
        dry(
            site,
            *K8S,
            "--gpus-per-node",
            "2",
            "--cpus-per-task",
            "3",
            "--storage",
            "/d",
            "--time",
            "1:00:00",
            "--namespace",
            "team",
            "-n",
            "4",
            "--set",
            'text="a\\b"',
            "--",
            "x: y",
            "$(A) $$b",
        )
    )
    check_schema(service)
    check_schema(job)
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (2, 2, "Indexed")
    assert spec["podReplacementPolicy"] == "Failed" and spec["activeDeadlineSeconds"] == 3600
    rules = [(rule["action"], rule.get("onExitCodes", {}).get("values")) for rule in spec["podFailurePolicy"]["rules"]]
    assert rules == [("Ignore", None), ("Ignore", [75]), ("FailJob", [1, 2, 3])]
    assert pod["subdomain"] == service["metadata"]["name"] == "train" and service["spec"]["clusterIP"] == "None"
    container = pod["containers"][0]
    assert container["command"] == [
        "rtrain",
        "run",
        "train.lua",
        "--name",
        "train",
        "--resume",
        "auto",
        "--storage",
        "/d",
        "-n",
        "4",
        "--set",
        'text="a\\b"',
        "--",
        "x: y",
        "$$(A) $$$$b",
    ]
    env = {each["name"]: each["value"] for each in container["env"]}
    assert env == {
        "RTRAIN_NNODES": "2",
        "RTRAIN_MASTER_ADDR": "train-0.train",
        "RTRAIN_JOB_ID": "train",
        "RTRAIN_SECRET_FILE": "/etc/rtrain/key",
    }
    assert container["resources"]["limits"] == {"cpu": 3, "nvidia.com/gpu": 2}
    mounted = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes[mounted["/d"]]["persistentVolumeClaim"] == {"claimName": "c"}
    assert volumes[mounted["/dev/shm"]]["emptyDir"] == {"medium": "Memory"}
    assert service["metadata"]["namespace"] == job["metadata"]["namespace"] == "team"


def test_results_in_an_object_store(site):
    bare = ["k8s", "train.lua", "--nodes", "2", "--image", "i"]
    program(site, "kubectl", 'cat >"$LOG"')
    for given, variable in [(["--storage", "s3://b/f"], "/here"), ([], "s3://b/f")]:
        site.env["RTRAIN_STORAGE"] = variable
        _, job = documents(dry(site, *bare, "--credentials", "keys", *given))
        check_schema(job)
        container = job["spec"]["template"]["spec"]["containers"][0]
        assert container["command"][-2:] == ["--storage", "s3://b/f"]
        assert container["envFrom"] == [{"secretRef": {"name": "keys"}}]
        assert "results" not in [mount["name"] for mount in container["volumeMounts"]]
        assert "the pods need credentials for s3://b/f" in site("submit", *bare, *given).stderr
        assert "the pods need credentials" not in site("submit", *bare, *given, "--credentials", "keys").stderr
    site.env["RTRAIN_STORAGE"] = "/here/alone"
    assert "2 pods share no folder: give --claim NAME" in refused(site, *bare)
    one = site("submit", "k8s", "train.lua", "--image", "i")
    assert (
        one.returncode == 0
        and "the results are in the pod, and go with it" in one.stderr
        and "/here" not in log(site, "kubectl")
    )


@pytest.mark.parametrize("launcher", ["mpi", "ray"])
def test_the_folder_of_the_login_host_is_that_of_the_run(site, launcher):
    """Neither launcher passes the environment on to the nodes."""
    for own, wanted in [("/data/runs", "/data/runs"), ("runs", str(site.folder / "runs")), ("s3://b/f", "s3://b/f")]:
        site.env["RTRAIN_STORAGE"] = own
        text = dry(site, launcher, "train.lua")
        assert re.search(rf'train.lua"?,? "?--storage"?,? "?{re.escape(wanted)}\b', text), text
        assert own not in dry(site, launcher, "train.lua", "--storage", "/other")


def test_the_job_of_a_jobset_is_one_too(site):
    (jobset,) = documents(dry(site, *K8S, "--jobset"))
    assert jobset["spec"]["failurePolicy"]["maxRestarts"] == 3
    (replicated,) = jobset["spec"]["replicatedJobs"]
    check_schema(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": replicated["template"]["spec"]}
    )
    env = replicated["template"]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "RTRAIN_MASTER_ADDR", "value": "train-node-0-0.train"} in env


def test_what_the_pods_are_given_is_what_the_launcher_reads(site):
    _, job = documents(dry(site, *K8S))
    env = {each["name"]: each["value"] for each in job["spec"]["template"]["spec"]["containers"][0]["env"]}
    site.env.update(env, JOB_COMPLETION_INDEX="1")
    found = site.json("env")["launcher"]
    assert (found["engine"], found["num_nodes"], found["node_rank"]) == ("kubernetes", 2, 1)
    assert found["hosts"] == ["train-0.train", "train-1.train"]


def test_the_secret_is_sent_and_stands_on_no_command_line(site):
    program(site, "kubectl", 'echo "$@" >"$LOG"; cat >>"$LOG"')
    names = set()
    for _ in range(2):
        result = site("submit", *K8S, "--namespace", "team")
        assert result.returncode == 0, result.stderr
        command, text = log(site, "kubectl").split("\n", 1)
        assert command == "create --filename -"
        secret, _, job = documents(text)
        check_schema(secret)
        name = job["metadata"]["name"]
        assert re.fullmatch("train-[0-9a-f]{6}", name) and secret["metadata"]["name"] == f"{name}-key"
        assert re.fullmatch("[0-9a-f]{64}", secret["stringData"]["key"]) and secret["metadata"]["namespace"] == "team"
        assert result.stdout.startswith(f"submitted job {name}\n")
        assert f"kubectl delete --namespace team job,service,secret --selector rtrain/run={name}" in result.stdout
        names.add(name)
    assert len(names) == 2
    assert site("submit", *K8S, "--name", "mine").stdout.startswith("submitted job mine\n")
    assert list(site.temp.iterdir()) == []


# MPI


OPENMPI = 'if [ "$1" = --version ]; then echo "mpirun (Open MPI) 4.1.4"; exit; fi'
MPICH = 'if [ "$1" = --version ]; then echo "HYDRA build details:"; exit; fi'
MPI_RUN = 'printf "%s\\n" "$*" >"$LOG"; echo "$RTRAIN_JOB_ID" >>"$LOG"; exit 7'


@pytest.mark.parametrize(
    "flavour, options",
    [
        (OPENMPI, "-n 4 -N 2 --host n0:2,n1:2 --bind-to none -x RTRAIN_JOB_ID -v"),
        (MPICH, "-n 4 -ppn 2 -hosts n0,n1 -v"),
    ],
    ids=["Open MPI", "MPICH"],
)
def test_mpirun_runs_in_the_foreground(site, flavour, options):
    site.env.pop("RTRAIN_STORAGE")
    program(site, "mpirun", f"{flavour}\n{MPI_RUN}")
    result = site(
        "submit",
        "mpi",
        "train.lua",
        "--nodes",
        "2",
        "--hosts",
        "n0,n1",
        "--ntasks-per-node",
        "2",
        "-n",
        "0",
        "--option=-v",
        "--",
        "it's",
    )
    assert result.returncode == 7, result.stderr
    call, job = log(site, "mpirun").splitlines()
    assert call == f"{options} rtrain run train.lua -n 0 -- it's" and job.startswith("mpi-")


def test_a_request_to_end_reaches_mpirun_as_one_for_a_checkpoint(site):
    program(site, "mpirun", f"{OPENMPI}\ntrap 'exit 75' USR1\ntouch $LOG\nwhile true; do sleep 0.05; done")
    running = site.start("submit", "mpi", "train.lua")
    wait_until(lambda: (site.folder / "mpirun.log").exists(), message="mpirun")
    running.send(signal.SIGTERM)
    assert running.wait().returncode == 75


# Ray


@pytest.fixture
def ray(site):
    site.env.update(
        PYTHONPATH=str(SOURCE / "tests" / "e2e" / "fake_ray"),
        FAKE_RAY_LOG=str(site.folder / "ray.log"),
        PYTHONDONTWRITEBYTECODE="1",
    )
    site.env.pop("RAY_ADDRESS", None)
    site.env.pop("RTRAIN_STORAGE")
    return site


def ray_log(site):
    return [json.loads(line) for line in log(site, "ray").splitlines()]


def test_the_driver_of_ray_runs_the_script(ray):
    ray.script("print(arg[1], os.getenv 'RTRAIN_LAUNCHER', #os.getenv 'RTRAIN_SECRET'); os.exit(5)")
    result = ray("submit", "ray", "train.lua", "--python", sys.executable, "--", "word")
    assert (result.returncode, result.stdout) == (5, "word\tray\t64\n"), result.stderr
    assert ray_log(ray) == [
        {"address": "auto"},
        {"bundles": [{"CPU": 1}], "strategy": "STRICT_SPREAD"},
        {"cpus": 1, "gpus": 0, "bundle": 0},
        {"removed": True},
    ]


def test_each_bundle_has_a_process_with_its_number(ray):
    program(
        ray, "fake", 'echo "$RTRAIN_NODE_RANK $RTRAIN_NNODES $RTRAIN_MASTER_ADDR $RTRAIN_JOB_ID $@" >>"$LOG"; exit 3'
    )
    text = dry(
        ray,
        "ray",
        "train.lua",
        "--nodes",
        "2",
        "--gpus-per-node",
        "2",
        "--cpus-per-task",
        "4",
        "--placement-strategy",
        "PACK",
        "--address",
        "10.0.0.1:6379",
    )
    driver = ray.script(text.replace('"rtrain"', '"fake"'), "driver.py")
    result = Running([sys.executable, str(driver)], ray.folder, ray.env).wait()
    assert result.returncode == 3, result.stderr
    calls = sorted(line.split(" ", 4) for line in log(ray, "fake").splitlines())
    assert [call[:3] + call[4:] for call in calls] == [
        ["0", "2", "10.9.8.7", "run train.lua"],
        ["1", "2", "10.9.8.7", "agent"],
    ]
    assert calls[0][3] == calls[1][3] and len(calls[0][3]) == 8
    assert {"bundles": [{"CPU": 4, "GPU": 2}] * 2, "strategy": "PACK"} in ray_log(ray)


def test_a_signal_to_the_driver_reaches_the_run(ray):
    program(ray, "fake", "trap 'exit 75' TERM\ntouch $LOG\nwhile true; do sleep 0.05; done")
    driver = ray.script(dry(ray, "ray", "train.lua").replace('"rtrain"', '"fake"'), "driver.py")
    running = Running([sys.executable, str(driver)], ray.folder, ray.env)
    wait_until(lambda: (ray.folder / "fake.log").exists(), message="the process in the bundle")
    running.send(signal.SIGTERM)
    assert running.wait().returncode == 75


def test_clusters_that_cannot_run_it_are_named(ray):
    result = ray("submit", "ray", "train.lua", "--python", sys.executable, "--address", "nowhere")
    assert result.returncode == 1 and "there is no Ray cluster at nowhere: nobody answers" in result.stderr
    text = dry(ray, "ray", "train.lua", "--nodes", "2").replace("READY_S = 600", "READY_S = 0.1")
    ray.env["FAKE_RAY_IS_FULL"] = "1"
    result = Running([sys.executable, "-c", text], ray.folder, ray.env).wait()
    assert (
        result.returncode == 1 and "2 bundles of {'CPU': 1} (STRICT_SPREAD) are not free after 0.1 s" in result.stderr
    )


# A site's own launcher


def test_a_sites_launcher_writes_submits_and_finds_its_place(site):
    program(site, "qsub", 'cat >"$LOG"; echo 17.server')
    pbs = str(EXAMPLES / "pbs.lua")
    args = ["submit", pbs, "train.lua", "--nodes", "2", "--cpus-per-task", "4", "--time", "1:00:00", "--option=-q long"]
    text = site(*args, "--dry-run").stdout
    for line in ("#PBS -N train", "#PBS -l select=2:ncpus=4:mpiprocs=1", "#PBS -l walltime=1:00:00", "#PBS -q long"):
        assert line in text.splitlines(), line
    assert subprocess.run(["/bin/bash", "-n"], input=text, text=True).returncode == 0
    result = site(*args)
    assert result.returncode == 0 and result.stdout.startswith("submitted job 17.server\n"), result.stderr
    assert log(site, "qsub") == text
    # The environment in which pbsdsh starts the second node.
    site.env.update(
        RTRAIN_LAUNCHER=pbs, RTRAIN_NNODES="2", PBS_NODENUM="1", PBS_JOBID="17.server", RTRAIN_MASTER_ADDR="h0"
    )
    found = site.json("env")["launcher"]
    assert (found["engine"], found["num_nodes"], found["node_rank"], found["job_id"]) == ("pbs", 2, 1, "17.server")
    site.env["PBS_NODENUM"] = "2"
    assert site.json("env")["launcher"]["error"] == "PBS_NODENUM = 2: with RTRAIN_NNODES = 2 the nodes are 0 to 1"


# Errors


@pytest.mark.parametrize(
    "args, missing, instead",
    [
        (["slurm", "train.lua"], "sbatch", "submit where Slurm is installed"),
        (K8S, "kubectl", "submit where kubectl and its configuration are"),
        (["mpi", "train.lua"], "mpirun", "submit where Open MPI or MPICH is installed"),
        (
            ["ray", "train.lua", "--python", "python-of-ray"],
            "python-of-ray",
            "--python names the Python of Ray's environment",
        ),
        ([str(EXAMPLES / "pbs.lua"), "train.lua"], "qsub", "submit where PBS is installed"),
    ],
)
def test_a_missing_program_is_named(site, args, missing, instead):
    site.env["PATH"] = str(site.folder / "bin")
    result = site("submit", *args)
    assert result.returncode == 4, result.stderr
    assert f"there is no program {missing}: {instead}, or take --dry-run" in result.stderr


def test_a_program_that_refuses_has_its_words_shown(site):
    program(site, "sbatch", 'echo "sbatch: error: invalid partition specified: $1" >&2; exit 1')
    result = site("submit", "slurm", "train.lua", "--partition", "lng")
    assert result.returncode == 4 and result.stdout == ""
    assert (
        "sbatch has failed with exit status 1: sbatch: error: invalid partition specified: --parsable" in result.stderr
    )


def test_a_script_that_has_no_room_is_not_submitted(site):
    program(site, "sbatch", 'cat >"$LOG"; echo 7')
    command = f"ulimit -f 1; exec {RTRAIN} submit slurm train.lua --nodes 2"
    result = subprocess.run(["bash", "-c", command], cwd=site.folder, env=site.env, capture_output=True, text=True)
    assert result.returncode == 4, result.stderr
    assert re.search(r"cannot write '.*/input': File too large", result.stderr), result.stderr
    assert not (site.folder / "sbatch.log").exists()


@pytest.mark.parametrize(
    "args, text",
    [
        (["slrum", "train.lua"], "unknown launcher 'slrum': did you mean 'slurm'?"),
        (["slurm", "train.lua", "--ndoes", "2"], "unknown option '--ndoes': did you mean '--nodes'?"),
        (["slurm", "train.lua", "--nodes", "0"], "--nodes"),
        (["ray", "train.lua", "--wait"], "submit ray: --wait has no effect there"),
        (["slurm", "train.lua", "--image", "i"], "submit slurm: --image has no effect there"),
        (["mpi", "train.lua", "--gpus-per-node", "2"], "submit mpi: --gpus-per-node has no effect there"),
        (["slurm", "trian.lua"], "cannot read trian.lua"),
        (
            ["slurm", "train.lua", "--partition", "a\n#SBATCH --wrap=x"],
            "--partition: its value has a control character",
        ),
        (["slurm", "train.lua", "--grid", "lr=1,2"], "submit slurm: --grid needs --sweep"),
        (["slurm", "train.lua", "--sweep"], "nothing to try: give --grid"),
        (["slurm", "train.lua", "--sweep", "--space", "lr=unifrom(0,1)", "--random", "2"], "did you mean 'uniform'?"),
        (["slurm", "train.lua", "--sweep", "--grid", "lr=1,2", "--wait"], "--wait shows the output of one job"),
        (["mpi", "train.lua", "--sweep", "--grid", "lr=1,2"], "submit mpi: --grid has no effect there"),
        (["k8s", "train.lua"], "--image IMAGE is needed"),
        ([*K8S, "--storage", "s3://b/f"], "--claim c is mounted where --storage is, and s3://b/f is an object store"),
        (
            ["k8s", "train.lua", "--image", "i", "--credentials", "keys"],
            "--credentials is for results in an object store",
        ),
        (["mpi", "train.lua", "--nodes", "3", "--hosts", "n0,n1"], "--hosts n0,n1 names 2 hosts, --nodes is 3"),
        (["mpi", "train.lua", "--hosts", "n0", "--hostfile", "f"], "--hosts or --hostfile, not both"),
        (["ray", "train.lua", "--placement-strategy", "STRICT_SPRED"], "did you mean 'STRICT_SPREAD'?"),
    ],
)
def test_wrong_use_is_refused(site, args, text):
    assert text in refused(site, *args)


@pytest.mark.parametrize(
    "args, text",
    [
        (["slurm", "train.lua", "--time", "soon"], "--time soon: expected minutes, H:M:S or D-H:M:S"),
        (["slurm", "train.lua", "--time", "0"], "--time 0: expected"),
        (["slurm", "train.lua", "--name", "a/b"], "--name a/b: it cannot be a run's name"),
        ([*K8S, "--name", "Mine"], "--name Mine: in Kubernetes a name has lower-case letters"),
        (["nowhere.lua", "train.lua"], "launcher nowhere.lua"),
    ],
)
def test_wrong_values_are_refused(site, args, text):
    result = site("submit", *args, "--dry-run")
    assert result.returncode == 3 and text in result.stderr, result.stderr


def test_help_names_every_launcher(site):
    text = site("submit", "--help").stdout
    assert "slurm, k8s, ray, mpi, or a site's own: FILE.lua" in text and "--dry-run" in text


def test_scripts_are_ones_of_their_language():
    for name in ("slurm.sbatch", "mpi.sh"):
        assert subprocess.run(["/bin/bash", "-n", str(EXAMPLES / name)]).returncode == 0
    compile(pathlib.Path(EXAMPLES / "ray_driver.py").read_text(), "ray_driver.py", "exec")
    assert os.path.exists(EXAMPLES / "pbs.lua")
