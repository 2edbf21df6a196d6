"""`rtrain submit slurm`: the batch script, the job in the store, and arrays for sweeps. sbatch is a script of the test."""

import re
import stat
import subprocess

import pytest

from conftest import RTRAIN, Running
from launcher_site import dry, log, program, site  # noqa: F401  (a fixture)

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


# fault: the disk of the store fails while a job is submitted
@pytest.mark.parametrize("rule", ["open:1+", "write|pwrite:1+", "fsync|fdatasync:1+"])
def test_a_store_that_fails_does_not_stop_the_job(site, rule):
    program(site, "sbatch", "cat >>$LOG; echo 123")
    faults = site.folder / "faults"
    site.fail_calls(f"{rule}:EIO:path=rtrain.db", RTRAIN_FAULTIO_LOG=str(faults))
    result = site("submit", "slurm", "train.lua")
    assert result.returncode == 0 and result.stdout.startswith("submitted job 123\n"), result.stderr
    assert log(site, "sbatch").count("#SBATCH --job-name=") == 1
    assert "rtrain: `rtrain ls` will not show the run as QUEUED: " in result.stderr
    assert str(site.storage) in result.stderr and faults.exists(), result.stderr


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
