"""A table of slow ranks, made of random numbers: each is named, and with the cause that it has.

It runs by night, since a case takes as long as a rank must be slow until it is named. Slow links are in
tests/cluster/test_slow_link.py.
"""

import contextlib
import os
import pathlib
from random import Random

import pytest

from conftest import nightly, wait_until
from slow_ranks import Steps, limited_cores, pin, spinners, stopped_now_and_then

pytestmark = nightly

NUMBERS = range(180)
# Of them at least this part is named, with the right cause.
LEAST = 0.95
KINDS = ["compute", "data", "checkpoint", "other", "stopped", "throttled", "cores"]


def make_case(number):
    """Returns what is slow, and how much."""
    random = Random(number)
    kind = KINDS[number % len(KINDS)]
    workers = 2 if kind in ("cores", "throttled") else random.choice([2, 2, 3])
    # What rank 0 does alone counts as no fault.
    culprit = random.randrange(1 if kind in ("checkpoint", "other") else 0, workers)
    step_us = random.choice([2000, 4000, 8000])
    return {
        "number": number,
        "kind": kind,
        "workers": workers,
        "culprit": culprit,
        "step_us": step_us,
        "more_us": int(step_us * random.uniform(1, 5)) + 6000,
        "stopped_s": random.uniform(0.2, 0.5),
        "cores": random.choice([0.1, 0.15, 0.2]),
        "spinners": random.randint(8, 14),
    }


@contextlib.contextmanager
def made_slow(steps, case):
    """While it lasts, the rank of the case is slow."""
    kind, pid = case["kind"], steps.pids[case["culprit"]]
    if kind == "stopped":
        with stopped_now_and_then(pid, case["stopped_s"], running_s=0.3):
            yield
    elif kind == "throttled":
        with limited_cores(pid, case["cores"]):
            yield
    elif kind == "cores":
        cpus = sorted(os.sched_getaffinity(0))
        for rank, each in enumerate(steps.pids):
            pin(each, cpus[rank])
        with spinners(cpus[case["culprit"]], case["spinners"]):
            yield
    else:
        steps.slow()
        yield


def named_in(rtrain, case):
    """Returns the rank and the cause that are named first."""
    kind = case["kind"]
    products = 3 if kind in ("throttled", "cores") else 0
    place = kind if kind in ("compute", "data", "checkpoint", "other") else ""
    config = [f"{name}={case[name]}" for name in ("culprit", "step_us", "more_us")]
    name = f"case-{case['number']}"
    steps = Steps(rtrain, f"place={place}", f"products={products}", *config, workers=case["workers"], name=name)
    try:
        with made_slow(steps, case):
            event = wait_until(steps.events, timeout_s=60, message=f"a rank is named: {case}")[0]
    except pytest.fail.Exception:
        return None  # nobody is named
    finally:
        steps.running.kill()
        rtrain.wait_for_processes()
        (rtrain.folder / "slow").unlink(missing_ok=True)
    return event["rank"], event["cause"]


def has_what_it_needs(kind):
    if kind == "cores":
        return len(os.sched_getaffinity(0)) >= 2 and pathlib.Path("/proc/self/schedstat").exists()
    return True


def test_nearly_all_cases_are_named_with_their_cause(rtrain):
    cases = [case for case in map(make_case, NUMBERS) if has_what_it_needs(case["kind"])]
    wrong = []
    for case in cases:
        found = named_in(rtrain, case)
        if found != (case["culprit"], case["kind"]):
            wrong.append((found, case))
    assert len(wrong) <= (1 - LEAST) * len(cases), wrong
