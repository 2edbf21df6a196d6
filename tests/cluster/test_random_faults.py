"""Random faults in one run over two nodes, one after the other.

RTRAIN_TEST_FAULTS is the number of faults; 50 with scripts/test --cluster. RTRAIN_TEST_SEED selects them.
"""

import json
import os
import random
import signal
import time

import checker
from conftest import nightly, wait_until
from faulted_run import TRAINING, Run

pytestmark = nightly


class Disturber:
    """Injects random faults into a run of TRAINING."""

    def __init__(self, run, choice):
        self.run, self.choice = run, choice

    def a_worker_is_killed(self):
        pids = self.run.pids()
        if pids:
            os.kill(self.choice.choice(pids), signal.SIGKILL)

    def a_worker_stands_still(self):
        pids = self.run.pids()
        if pids:
            self.stop(self.choice.choice(pids))

    def the_agent_is_killed(self):
        self.run.agent.kill()
        self.run.job.start_again(1)

    def the_agent_stands_still(self):
        self.stop(self.run.agent.pid)

    def the_controller_stands_still(self):
        self.stop(self.run.controller.pid)

    def the_job_is_started_again(self):
        self.run.controller.kill()
        self.run.agent.kill()
        for number in (0, 1):
            self.run.job.start_again(number)

    def the_link_is_down(self):
        self.run.hosts[1].set_link("down")
        time.sleep(self.choice.uniform(0, 4))
        self.run.hosts[1].set_link("up")

    def stop(self, pid):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.choice.uniform(0, 4))
        if os.path.exists(f"/proc/{pid}"):
            os.kill(pid, signal.SIGCONT)

    def disturb(self):
        name = self.choice.choice([name for name in vars(Disturber) if name.startswith(("a_", "the_"))])
        getattr(self, name)()
        return name


# fault: random ones of several nodes, one after the other
def test_after_random_faults_the_parameters_are_those_of_the_calm_run(rtrain, job, hosts):
    count = int(os.environ.get("RTRAIN_TEST_FAULTS", 4))
    seed = int(os.environ.get("RTRAIN_TEST_SEED", random.randrange(10**6)))
    print(f"seed {seed}")
    choice = random.Random(seed)
    steps = 10 * (count + 1)
    text = TRAINING.replace("STEPS", str(steps))
    limit = rtrain.folder / "limit"

    def set_limit(number):
        (rtrain.folder / "new-limit").write_text(f"{number}\n")
        (rtrain.folder / "new-limit").rename(limit)

    set_limit(steps)
    calm = rtrain.run_ok(text, "--name", "calm", "--oversubscribe")
    assert calm.returncode == 0
    for path in rtrain.folder.glob("returned-*"):
        path.unlink()

    set_limit(10)
    run = Run(rtrain, job, hosts, text, "--resume", "auto")
    disturber = Disturber(run, choice)

    def reached(number):
        return rtrain.query(
            "SELECT 1 FROM reports JOIN runs USING(run_id) WHERE name = 'faults' AND superseded = 0 AND "
            "json_extract(metrics, '$.step') = ? GROUP BY idx HAVING count(*) = 4",
            number,
        )

    wait_until(lambda: reached(5), message="the first steps")
    for number in range(1, count + 1):
        set_limit(10 * number + 5)
        time.sleep(choice.uniform(0, 0.5))
        fault = disturber.disturb()
        print(f"fault {number}: {fault}", flush=True)
        set_limit(10 * (number + 1))
        wait_until(lambda: reached(10 * (number + 1)) or not run.controller.running, 120, f"step {10 * (number + 1)}")
        assert run.controller.running or number == count, run.stderr
    for result in run.job.wait():
        assert result.returncode == 0, result.stderr
    last = rtrain.json("metrics", "faults")[-1]["metrics"]
    assert last["parameters"] == rtrain.json("metrics", "calm")[-1]["metrics"]["parameters"]
    stored = [
        json.loads(metrics)["id"]
        for (metrics,) in rtrain.query("SELECT metrics FROM reports JOIN runs USING(run_id) WHERE name = 'faults'")
    ]
    assert len(stored) == len(set(stored)), "a report is there twice"
    returned = {line for path in run.notes() for line in path.read_text().splitlines()}
    assert not returned - set(stored), sorted(returned - set(stored))[:10]
    folders = list((rtrain.run_folder("faults") / "checkpoints").iterdir())
    assert folders, "there are checkpoints"
    for folder in folders:
        checker.verified_manifest(folder)
