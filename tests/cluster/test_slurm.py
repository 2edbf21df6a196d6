"""Runs in jobs of a real Slurm cluster of two nodes (slurm.py): under srun and sbatch, and the commands for a live run."""

import json
import os
import re

import pytest

from conftest import RTRAIN, wait_until
from fashion_mnist import FashionMnist
from node_scripts import script
from test_ranks import PLACES, places_of

# Saves checkpoints until the file `go` exists. All ranks end after the same report.
SAVING = """
    local function is_over()
      local seen = torch.tensor{files.exists 'go' and 1 or 0}
      torch.distributed.all_reduce(seen, 'max')
      return seen:item() == 1
    end
    local step, checkpoint = 0, train.get_checkpoint()
    if checkpoint then
      checkpoint:with_directory(function(dir) step = dofile(dir .. '/step.lua') end)
    end
    while not is_over() do
      step = step + 1
      train.tempdir(function(dir)
        local file = assert(io.open(dir .. '/step.lua', 'w'))
        file:write('return ' .. step)
        file:close()
        train.report({step = step}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
      os.execute('sleep 0.02')
    end
"""


def test_fashion_mnist_has_the_parameters_of_one_machine(user, rtrain):
    images = FashionMnist(rtrain)
    images.check(user.srun(*images.run("two")).wait())


def test_the_tasks_of_a_step_are_ranks(user, rtrain):
    result = user.srun("run", script(rtrain, PLACES), tasks=2).wait()
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == places_of([2, 2])
    failed = user.srun(
        "run", script(rtrain, "if context:get_world_rank() == 3 then error('no luck') end"), "--name", "failed", tasks=2
    ).wait()
    assert failed.returncode == 1 and "rank 3 raised an error" in failed.stderr, failed.stderr


@pytest.mark.parametrize("text, code", [("os.exit(7)", 7), ("error('before fit')", 1)])
def test_the_job_ends_with_the_code_of_the_script(user, rtrain, text, code):
    result = user.srun("run", rtrain.script(text)).wait()
    assert result.returncode == code, result.stderr


def test_commands_for_a_live_run(user, rtrain):
    body = """
    print('rank ' .. context:get_world_rank())
    repeat
      train.report{sum = torch.ones(8):sum():item()}
      os.execute('sleep 0.02')
    until train.stop_requested()
"""
    running = user.srun("run", script(rtrain, body))
    rtrain.wait_for_reports(running, 3)
    assert re.search(r"^nodes +RUNNING ", user.command("ls"), re.MULTILINE)
    assert rtrain.json("show", "nodes")["attempts"][0]["status"] == "RUNNING"
    assert user.command("metrics", "nodes").count("\n") > 3
    for rank in range(4):
        wait_until(
            lambda rank=rank: f"rank {rank}\n" in user.command("logs", "nodes", "--rank", rank),
            message=f"output of rank {rank}",
        )
    stacks = user.command("stack", "nodes")
    assert all(f"rank {rank} (pid" in stacks for rank in range(4)), stacks
    profiles = json.loads(user.command("profile", "nodes", "--rank", "all", "--steps", "2", "--json"))["profiles"]
    assert [(each["rank"], os.path.exists(each["path"])) for each in profiles] == [(rank, True) for rank in range(4)]
    assert user.command("stop", "nodes")
    result = running.wait()
    assert result.returncode == 130, result.stderr
    assert rtrain.json("show", "nodes")["status"] == "ABORTED"


def unnamed(path):
    """Returns the text of the script without the run's name, so that the run is named after the job."""
    return path.read_text().replace("name = 'nodes', ", "")


def submitted(user, path, *args):
    """Submits the script with `rtrain submit`. Returns the job's number."""
    text = user.command("submit", "slurm", path, "--nodes", "2", "--cpus-per-task", "2", *args)
    return re.match(r"submitted job (\d+)\n", text).group(1)


def wait_for_job(user, job):
    """Waits until the job has ended. Returns its state and its output."""
    state = wait_until(
        lambda: re.fullmatch("COMPLETED|FAILED|CANCELLED|TIMEOUT", user.slurm.state(job)),
        message=f"the end of job {job}",
    )
    return state.group(), next(user.rtrain.folder.glob(f"*-{job}.out")).read_text()


def test_a_job_is_submitted_and_finishes(user, rtrain):
    job = submitted(user, rtrain.script(unnamed(script(rtrain, "train.report{rank = context:get_world_rank()}"))))
    state, output = wait_for_job(user, job)
    assert state == "COMPLETED", output
    run = rtrain.json("show", f"train-{job}")
    assert (run["status"], len(run["attempts"][0]["workers"])) == ("FINISHED", 4)
    assert not list((rtrain.folder / ".local").rglob(f"*/{job}*")), "the key is removed"


def test_the_trials_of_a_sweep_are_tasks_of_an_array(user, rtrain):
    path = rtrain.script("""
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function(config) train.report{loss = (config.lr - 0.2) ^ 2} end,
          train_loop_config = {lr = 1}, scaling_config = train.ScalingConfig{num_workers = 1},
        }:fit()""")
    text = user.command("submit", "slurm", path, "--sweep", "--grid", "lr=0.1,0.2,0.4", "--name", "search")
    job = re.match(r"submitted job (\d+): 3 trials", text).group(1)
    wait_until(lambda: not user.slurm("squeue", "-h", "-j", job, check=False), message="the end of the array")
    rows = {row["name"]: row for row in json.loads(user.command("ls", "--json", "--tag", "sweep:search"))}
    outputs = "\n".join(file.read_text() for file in rtrain.folder.glob(f"search-{job}_*.out"))
    assert {name: row["status"] for name, row in rows.items()} == {f"search-00{i}": "FINISHED" for i in range(3)}, (
        outputs
    )
    assert rtrain.json("show", "best:loss:min")["name"] == "search-001"


def test_one_command_from_nothing_to_a_finished_run(user, rtrain):
    path = rtrain.script(unnamed(script(rtrain, "train.report{rank = context:get_world_rank()}")))
    result = user(RTRAIN, "submit", "slurm", path, "--nodes", "2", "--cpus-per-task", "2", "--wait")
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"^run train-\d+ FINISHED after ", result.stdout, re.MULTILINE), result.stdout
    path.write_text("os.exit(9)")
    assert user(RTRAIN, "submit", "slurm", path, "--nodes", "2", "--wait").returncode == 9


def test_a_job_that_waits_is_queued(user, rtrain):
    path = rtrain.script(unnamed(script(rtrain, "train.report{rank = context:get_world_rank()}")))
    waits, cancelled = (submitted(user, path, "--option=--hold") for _ in range(2))
    user.slurm("scancel", cancelled)
    listed = {run["name"]: run["status"] for run in json.loads(user.command("ls", "--json"))}
    assert listed == {f"train-{waits}": "QUEUED", f"train-{cancelled}": "LOST"}
    assert re.search(rf"^train-{waits} +QUEUED +\d{{4}}-", user.command("ls"), re.MULTILINE)
    user.slurm("scontrol", "release", waits)
    state, output = wait_for_job(user, waits)
    assert state == "COMPLETED", output
    assert rtrain.json("show", f"train-{waits}")["status"] == "FINISHED"


def test_a_run_whose_script_names_its_storage_leaves_the_queue(user, rtrain):
    path = script(rtrain, "train.report{rank = context:get_world_rank()}")
    path.write_text(
        unnamed(path).replace("failure_config", f"storage_path = '{rtrain.folder}/elsewhere', failure_config")
    )
    job = submitted(user, path, "--option=--hold")
    assert json.loads(user.command("ls", "--json"))[0]["status"] == "QUEUED"
    user.slurm("scontrol", "release", job)
    state, output = wait_for_job(user, job)
    assert state == "COMPLETED", output
    assert json.loads(user.command("ls", "--json")) == []
    assert rtrain.json("show", f"train-{job}", "--storage", rtrain.folder / "elsewhere")["status"] == "FINISHED"


@pytest.fixture
def saving_job(user, rtrain):
    """A job that saves checkpoints."""
    return SavingJob(user, rtrain)


class SavingJob:
    def __init__(self, user, rtrain):
        self.user, self.rtrain = user, rtrain
        self.path = rtrain.script(unnamed(script(rtrain, SAVING)))

    def submit(self, *args):
        self.job = submitted(self.user, self.path, *args)
        self.name = f"train-{self.job}"
        wait_until(
            lambda: len(self.rtrain.query("SELECT 1 FROM reports WHERE rank = 3 LIMIT 3")) == 3, message="reports"
        )
        self.run_id = self.show()["run_id"]

    def show(self):
        return self.rtrain.json("show", self.name)

    def finish(self, timeout_s=60):
        """Waits until Slurm has started the job again and the job has ended. Returns the first attempt."""
        wait_until(lambda: len(self.show()["attempts"]) == 2, timeout_s, "the second attempt")
        (self.rtrain.folder / "go").touch()
        state, output = wait_for_job(self.user, self.job)
        assert state == "COMPLETED", output
        run = self.show()
        assert (run["run_id"], run["status"]) == (self.run_id, "FINISHED")
        steps = [row["step"] for row in self.rtrain.reports(self.name)]
        assert steps == list(range(1, len(steps) + 1)), "no step twice, none left out"
        first, second = run["attempts"]
        assert second["status"] == "FINISHED"
        return first


def test_a_job_that_is_asked_to_save_starts_again_and_goes_on(saving_job):
    """Preemption with a grace time and the option --signal both look like scancel --signal=USR2."""
    saving_job.submit()
    saving_job.user.slurm("scancel", "--signal=USR2", saving_job.job)
    first = saving_job.finish()
    assert (first["status"], first["error"]["message"]) == ("ABORTED", "terminated: SIGUSR2")


def test_a_job_that_is_cancelled_saves_and_does_not_start_again(saving_job):
    saving_job.submit()
    saving_job.user.slurm("scancel", saving_job.job)
    state, output = wait_for_job(saving_job.user, saving_job.job)
    assert state == "CANCELLED", output
    assert saving_job.show()["status"] == "PREEMPTED", output
    assert "does not start again" not in output
