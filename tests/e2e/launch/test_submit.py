"""`rtrain submit`: the job that it writes for each launcher, and how it submits the job. The launchers' programs are
simulated."""

import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

import pytest

from conftest import RTRAIN, SOURCE, Running, wait_until
from launcher_site import K8S, dry, log, program, refused, site  # noqa: F401  (a fixture)

EXAMPLES = SOURCE / "examples" / "cluster"
ROWS = re.findall(r"^\| `([^`]+)` \| `(rtrain submit [^`]+)` \|$", (EXAMPLES / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("file, command", ROWS)
def test_the_examples_are_what_submit_writes(site, file, command):
    site.env.pop("RTRAIN_STORAGE")
    assert dry(site, *shlex.split(command)[2:-1]) == (EXAMPLES / file).read_text()


def test_every_example_is_in_the_list():
    listed = {file for file, _ in ROWS} | {"README.md", "pbs.lua", "skypilot.yaml"}
    assert listed == {path.name for path in EXAMPLES.iterdir()} and len(ROWS) == 5


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
        (["mpi", "train.lua", "--nodes", "3", "--hosts", "n0,n1"], "--hosts n0,n1 names 2 nodes, --nodes is 3"),
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
    assert "slurm, k8s, ray, mpi, ssh, or a site's own: FILE.lua" in text and "--dry-run" in text


def test_scripts_are_ones_of_their_language():
    for name in ("slurm.sbatch", "mpi.sh"):
        assert subprocess.run(["/bin/bash", "-n", str(EXAMPLES / name)]).returncode == 0
    compile(pathlib.Path(EXAMPLES / "ray_driver.py").read_text(), "ray_driver.py", "exec")
    assert os.path.exists(EXAMPLES / "pbs.lua")
