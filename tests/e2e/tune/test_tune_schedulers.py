"""train.tune.schedulers: the trials that they stop, compared with simulations written from the papers, and in real
sweeps."""

import collections
import json
import math
import os
import pathlib
import random
import signal
import statistics
from fractions import Fraction

import pytest

from conftest import SOURCE, wait_until

DRIVER = SOURCE / "tests" / "e2e" / "scripts" / "schedule.lua"


def decided(rtrain, cases):
    """Returns the schedulers' decisions: a list for each case."""
    path = rtrain.folder / "cases.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    result = rtrain("exec", DRIVER, path)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def sequence(rng, value, most_time, may_skip):
    """Returns events of trials that report in random order and end at random times."""
    events, times = [], {}
    ends = {trial: rng.randint(1, most_time) for trial in range(rng.randint(3, 25))}
    waiting, running = list(ends), []
    while waiting or running:
        if waiting and (not running or rng.random() < 0.2):
            running.append(waiting.pop(0))
            events.append([running[-1]])
            continue
        trial = rng.choice(running)
        if times.get(trial, 0) >= ends[trial]:
            events.append([trial, "end", times[trial], value(rng, trial, times[trial])])
            running.remove(trial)
            continue
        times[trial] = times.get(trial, 0) + (rng.randint(1, 3) if may_skip else 1)
        events.append([trial, times[trial], value(rng, trial, times[trial])])
    return events


def continuous(rng, trial, time):
    return rng.gauss(trial % 5, 3) / time


def with_ties(rng, trial, time):
    return rng.randint(0, 3)


def simulate(case, said, decide, complete):
    """Compares the decisions event by event. A scheduler is not asked about a trial that it has stopped."""
    stopped, count = set(), collections.Counter()
    for event, answer in zip(case["events"], said, strict=True):
        if event[0] in stopped or len(event) == 1:
            continue
        if len(event) == 4:
            complete(event[0], event[2], event[3])
            continue
        expected = decide(*event)
        assert answer == expected, (case, event)
        count[expected] += 1
        if expected == "STOP":
            stopped.add(event[0])
    return count


class Halving:
    """Asynchronous successive halving as Ray documents it, in exact arithmetic except for the scores."""

    def __init__(self, mode, bracket_of, grace_period=1, reduction_factor=4, max_t=100, stop_last_trials=True, **_):
        self.sign = -1 if mode == "min" else 1
        self.factor, self.max_t, self.stops_last = reduction_factor, max_t, stop_last_trials
        self.bracket_of = bracket_of  # trial → number of its bracket
        milestones, milestone = [], grace_period
        while milestone <= max_t:
            milestones.append(milestone)
            milestone *= reduction_factor
        self.rungs = {s: [(m, {}) for m in reversed(milestones[s - 1 :])] for s in set(bracket_of.values())}

    def cutoff(self, scores):
        scores = sorted(Fraction(score) for score in scores)
        place = (1 - Fraction(1) / Fraction(self.factor)) * (len(scores) - 1)
        low = scores[math.floor(place)]
        return low + (scores[math.ceil(place)] - low) * (place - math.floor(place))

    def compare(self, trial, time, value):
        for milestone, seen in self.rungs[self.bracket_of[trial]]:
            if time < milestone:
                continue
            if trial in seen:
                if self.stops_last:
                    continue
                return "CONTINUE"
            is_bad = len(seen) > 0 and Fraction(self.sign * value) < self.cutoff(seen.values())
            seen[trial] = self.sign * value
            return "STOP" if is_bad else "CONTINUE"
        return "CONTINUE"

    def decide(self, trial, time, value):
        if time >= self.max_t and self.stops_last:
            return "STOP"
        return self.compare(trial, time, value)


def test_asha_stops_what_a_simulation_of_it_stops(rtrain):
    rng, cases = random.Random(1), []
    for seed in range(600):
        options = {
            "max_t": rng.choice([9, 27, 30, 100, 1000]),
            "grace_period": rng.choice([1, 2, 5]),
            "reduction_factor": rng.choice([2, 3, 4, 2.5, 10]),
            "brackets": rng.choice([1, 1, 3]),
            "stop_last_trials": rng.random() < 0.7,
        }
        events = sequence(rng, rng.choice([continuous, with_ties]), 40, rng.random() < 0.5)
        cases.append(
            {
                "scheduler": "ASHAScheduler",
                "mode": rng.choice(["min", "max"]),
                "seed": seed,
                "options": options,
                "events": events,
            }
        )
    said, count, used = decided(rtrain, cases), collections.Counter(), collections.Counter()
    for case, answers in zip(cases, said):
        brackets = {event[0]: answer for event, answer in zip(case["events"], answers) if len(event) == 1}
        if case["options"]["brackets"] == 3 and case["options"]["max_t"] >= 30:
            used.update(brackets.values())
        reference = Halving(case["mode"], brackets, **case["options"])
        count += simulate(case, answers, reference.decide, reference.compare)
    assert count["STOP"] > 2000 and count["CONTINUE"] > 10000, count
    assert used[1] > used[2] > used[3] > 0, "a bracket with more milestones has more trials"


class Median:
    """Stops a trial whose best value is worse than the median of the other trials' means."""

    def __init__(self, mode, grace_period, min_samples_required, **_):
        self.sign, self.grace, self.least = (-1 if mode == "min" else 1), grace_period, min_samples_required
        self.values = collections.defaultdict(dict)

    def decide(self, trial, time, value):
        self.values[trial][time] = self.sign * value
        means = [
            statistics.fmean(scoped)
            for other, values in self.values.items()
            if other != trial
            and max(values) >= time
            and (scoped := [value for t, value in values.items() if self.grace <= t <= time])
        ]
        if time < self.grace or len(means) < self.least:
            return "CONTINUE"
        return "STOP" if max(self.values[trial].values()) < statistics.median(means) else "CONTINUE"


def test_the_median_rule_stops_what_a_simulation_of_it_stops(rtrain):
    rng, cases = random.Random(2), []
    for _ in range(400):
        options = {
            "time_attr": "training_iteration",
            "grace_period": rng.choice([0, 1, 4]),
            "min_samples_required": rng.choice([1, 3, 5]),
        }
        cases.append(
            {
                "scheduler": "MedianStoppingRule",
                "mode": rng.choice(["min", "max"]),
                "options": options,
                "events": sequence(rng, continuous, 30, rng.random() < 0.5),
            }
        )
    count = collections.Counter()
    for case, answers in zip(cases, decided(rtrain, cases)):
        reference = Median(case["mode"], **case["options"])
        count += simulate(case, answers, reference.decide, lambda *_: None)
    assert count["STOP"] > 1000 and count["CONTINUE"] > 5000, count


def test_a_nan_is_worse_than_all_and_counts_in_no_comparison(rtrain):
    nan = float("nan")
    asha = {"scheduler": "ASHAScheduler", "mode": "min", "options": {"max_t": 9, "reduction_factor": 3}}
    median = {
        "scheduler": "MedianStoppingRule",
        "mode": "min",
        "options": {"time_attr": "training_iteration", "grace_period": 1, "min_samples_required": 1},
    }
    events = [[0], [1], [2], [3], [0, 1, nan], [1, 1, 5], [2, 1, nan], [3, 1, 5]]
    path = rtrain.folder / "cases.jsonl"
    text = "".join(json.dumps(dict(case, events=events)) + "\n" for case in (asha, median))
    path.write_text(text.replace("NaN", '"NaN"'))
    driver = DRIVER.read_text().replace("loss = event[3]", "loss = event[3] == 'NaN' and 0 / 0 or event[3]")
    out = rtrain("exec", rtrain.script(driver), path).stdout.splitlines()
    for line in out:
        assert json.loads(line)[4:] == ["CONTINUE", "CONTINUE", "STOP", "CONTINUE"]
    assert len(out) == 2


SWEEP = """
local train = require 'rtrain'
local trainer = train.TorchTrainer {
  train_loop_per_worker = function(config)
    local rank = train.get_context():get_world_rank()
    for step = 1, 9 do train.report {loss = config.lr + rank / 100, step = step} end
    train.annotate 'came to the end'
  end,
  scaling_config = train.ScalingConfig {num_workers = %d},
}
local grid = train.Tuner({
  trainer = trainer,
  param_space = {lr = train.tune.grid_search {1, 2, 0.5, 3}},
  tune_config = train.tune.TuneConfig {
    metric = 'loss', mode = 'min', max_concurrent_trials = 1,
    scheduler = train.tune.schedulers.%s,
  },
  run_config = train.RunConfig {name = 'halving'},
}):fit()
for i, result in grid:iter() do print(i, #result.metrics_dataframe, result.error) end
"""


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_stopped_trial_is_a_run_that_finished_and_says_why(rtrain, workers):
    scheduler = "AsyncHyperBandScheduler {max_t = 20, grace_period = 3, reduction_factor = 2}"
    result = rtrain.run_ok(SWEEP % (workers, scheduler))
    assert result.stdout.splitlines() == ["1\t9\tnil", "2\t3\tnil", "3\t9\tnil", "4\t3\tnil"]
    assert {run["status"] for run in rtrain.json("ls")} == {"FINISHED"}
    notes = {
        run["name"]: [note["text"] for note in rtrain.json("show", run["name"])["annotations"]]
        for run in rtrain.json("ls")
    }
    assert notes["halving-000"] == notes["halving-002"] == ["came to the end"]
    assert notes["halving-001"] == [
        "ended after report 3. AsyncHyperBandScheduler: loss=2 at training_iteration 3 is not among the best 1/2"
    ]
    assert rtrain.query(
        "SELECT count(*) FROM reports WHERE run_id = (SELECT run_id FROM runs WHERE name = 'halving-001')"
    ) == [(3 * max(workers, 1),)], "all ranks stop at the same report"
    assert [line.split()[1] for line in result.stderr.splitlines() if line.startswith("halving-")] == [
        "FINISHED",
        "STOPPED",
        "*",
        "STOPPED",
    ]


def test_the_median_rule_stops_trials_of_a_sweep(rtrain):
    rule = "MedianStoppingRule {time_attr = 'training_iteration', grace_period = 2, min_samples_required = 2}"
    result = rtrain.run_ok(SWEEP % (1, rule))
    assert result.stdout.splitlines() == ["1\t9\tnil", "2\t9\tnil", "3\t9\tnil", "4\t2\tnil"]
    note = rtrain.json("show", "halving-003")["annotations"][0]["text"]
    assert "its best loss 3 is worse than 1.5, the median of" not in note
    assert "MedianStoppingRule: its best loss 3 is worse than 1, the median of 3 others at training_iteration 2" in note


def test_max_t_ends_a_trial(rtrain):
    result = rtrain.run_ok(SWEEP % (1, "ASHAScheduler {max_t = 4, grace_period = 4}"))
    assert result.stdout.splitlines() == [f"{i}\t4\tnil" for i in range(1, 5)]
    assert "training_iteration has come to 4 (max_t)" in rtrain.json("show", "halving-000")["annotations"][0]["text"]


def test_a_scheduler_says_what_is_wrong_with_it(rtrain):
    for text, expected in {
        "ASHAScheduler {max_t = 2, grace_period = 3}": "max_t = 2 is below grace_period = 3",
        "ASHAScheduler {reduction_factor = 1}": "expected a number above 1",
        "ASHAScheduler {grace = 1}": "AsyncHyperBandScheduler",
        "MedianStoppingRule {hard_stop = false}": "a trial that is worse than the median ends",
        "MedianStopingRule {}": "did you mean 'MedianStoppingRule'",
    }.items():
        result = rtrain.run(f"local s = require('rtrain').tune.schedulers.{text}")
        assert result.returncode != 0 and expected in result.stderr, result.stderr
    without = rtrain.run(SWEEP.replace("metric = 'loss', mode = 'min',", "") % (1, "ASHAScheduler {}"))
    assert without.returncode == 3 and "the ASHAScheduler needs a metric and a mode" in without.stderr


# Each trial reports twice, and then waits for the file `go`.
WAITING = """
local train = require 'rtrain'
train.Tuner(function(config)
  for step = 1, 4 do
    train.report {loss = config.lr}
    while step == 2 and not io.open(%r) do os.execute 'sleep 0.05' end
  end
end, {
  param_space = {lr = train.tune.grid_search {1, 2, 3}},
  tune_config = train.tune.TuneConfig {
    metric = 'loss', mode = 'min', max_concurrent_trials = 1,
    scheduler = train.tune.schedulers.ASHAScheduler {max_t = 4, grace_period = %d, reduction_factor = 2},
  },
  run_config = train.RunConfig {name = 'waiting'},
}):fit()
"""


# fault: SIGKILL of a sweep with a scheduler
def test_a_killed_sweep_compares_with_what_it_had_seen_before(rtrain):
    go = str(rtrain.folder / "go")
    script = rtrain.script(WAITING % (go, 2))
    running = rtrain.start("run", script)
    journal = rtrain.storage / ".sweeps/waiting/journal.jsonl"

    def reports_of(number):
        events = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
        return len([event for event in events if event["event"] == "report" and event["number"] == number])

    wait_until(lambda: reports_of(0) == 2)
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait()
    rtrain.wait_for_processes()
    pathlib.Path(go).touch()
    other = rtrain("run", rtrain.script(WAITING % (go, 3), "other.lua"), "--resume", "auto")
    assert other.returncode == 3 and "had another search" in other.stderr and "grace_period=2" in other.stderr
    result = rtrain("run", script, "--resume", "auto")
    assert result.returncode == 0, result.stderr
    counts = [len(rtrain.reports(f"waiting-00{i}")) for i in range(3)]
    assert counts == [4, 2, 2], "the third is compared with the first, which had reported before"
