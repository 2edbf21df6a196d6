"""train.elastic over several nodes, one of which is lost: an elastic group continues without it, in the same processes."""

import os
import signal

import pytest

from conftest import ALL, nightly, wait_until
from test_heal import ends, statuses
from test_heal_smaller import end_of_reference, reference, seen, smaller
from test_replicas import sharded

pytestmark = nightly

# All ranks wait in the sixth step until the file `go` exists.
WAIT = """
if rank == 0 and state.step == 5 then files.once 'there' end
while state.step == 5 and not files.exists 'go' do os.execute 'sleep 0.05' end
"""
# The second node's ranks wait forever, and the others wait for them in a collective, so they notice the loss at once.
WAIT_FOR_OTHERS = """
if rank == 2 and state.step == 5 then files.once 'there' end
while rank >= 2 and state.step == 5 do os.execute 'sleep 0.05' end
"""
LOSE_NEW = (
    "if train.get_context():get_world_rank() == 1 and state.step == 9 and files.once 'again' then os.execute "
    "'kill -9 $PPID' end"
)


@pytest.fixture
def hosts(three_hosts):
    return three_hosts


def start(rtrain, job, num_workers, nodes, cores, limits="", change=str, **places):
    """Starts a job with `cores` cores on each node. Returns when all ranks wait and their reports have reached node 0."""
    text = change(smaller(num_workers, limits=f"node_timeout_s = 2{limits}", **{"at_step": WAIT, **places}))
    running = job(
        "run", rtrain.script(text), nodes=nodes, counts=(1,) * len(nodes), env={"SLURM_CPUS_ON_NODE": str(cores)}
    )

    def is_over():
        return not running.processes[0].running

    wait_until(lambda: (rtrain.folder / "there").exists() or is_over(), message="the sixth step")
    reported = "SELECT count(*) FROM reports WHERE idx = 4"
    wait_until(
        lambda: is_over() or rtrain.query(reported) == [(len(nodes) * cores,)], message="the fifth step's reports"
    )
    return running


def lose(rtrain, running, host):
    """Kills a node. Returns the result of node 0, which continues without it."""
    running.processes[host].kill()
    wait_until(lambda: "has not been heard of for 2 s" in running.processes[0].stderr, message="the loss of the node")
    (rtrain.folder / "go").touch()
    return running.processes[0].wait()


def workers(rtrain):
    """Returns the nodes and pids of the ranks in each attempt."""
    attempts = rtrain.json("show", "healed")["attempts"]
    return [[(worker["host"], worker["pid"]) for worker in attempt["workers"]] for attempt in attempts]


WAITS = {"computing": WAIT, "waiting": WAIT_FOR_OTHERS}
BACKENDS = {"hierarchy": "", "gloo": "torch_config = train.TorchConfig {backend = 'gloo'},"}
ALL_LOSSES = [(backend, wait) for backend in BACKENDS for wait in WAITS]
LOSSES = ALL_LOSSES if ALL else [("hierarchy", "computing"), ("gloo", "waiting")]


@pytest.mark.parametrize("backend, wait", LOSSES)
def test_the_others_go_on_without_a_lost_node(rtrain, job, backend, wait):
    torch, wait = BACKENDS[backend], WAITS[wait]
    path = rtrain.script(reference(4, torch), "reference.lua")
    calm = job("run", path, env={"SLURM_CPUS_ON_NODE": "2"}).wait()
    assert [each.returncode for each in calm] == [0, 0], calm[0].stderr
    running = start(rtrain, job, "{1, 4}", (0, 1), 2, torch=torch, at_step=wait)
    result = lose(rtrain, running, 1)
    assert result.returncode == 0, result.stderr
    assert statuses(rtrain) == ["HEALED", "FINISHED"], result.stderr
    assert ends(result) == end_of_reference(calm[0])
    assert "the others go on without it" in result.stderr
    assert "the group goes on with 2 workers instead of 4" in result.stderr
    before, after = workers(rtrain)
    assert after == before[:2] and [host for host, _ in after] == ["n0", "n0"]
    error = rtrain.json("show", "healed")["attempts"][0]["error"]
    assert error["rank"] == 2 and "node n1 has not been heard of" in error["message"]
    # The first epoch has steps of sixteen samples, then of eight. The second epoch has 48 samples left.
    for epoch in seen(rtrain, [4, 1 + 6, 8]):
        assert sorted(epoch) == list(range(64))


def test_the_rows_of_a_lost_node_are_on_the_others(rtrain, job):
    """The model is sharded, and each rank's rows are kept on another node: both ranks of a node may be lost."""
    path = rtrain.script(sharded(reference(4)), "reference.lua")
    calm = job("run", path, env={"SLURM_CPUS_ON_NODE": "2"}).wait()
    assert [each.returncode for each in calm] == [0, 0], calm[0].stderr
    result = lose(rtrain, start(rtrain, job, "{1, 4}", (0, 1), 2, change=sharded), 1)
    assert result.returncode == 0, result.stderr
    assert statuses(rtrain) == ["HEALED", "FINISHED"], result.stderr
    assert ends(result) == end_of_reference(calm[0])


def test_ranks_behind_a_lost_node_get_new_numbers(rtrain, job):
    """First the second of three nodes is lost; later the rank that was the third one is lost and replaced on its node."""
    running = start(rtrain, job, "{1, 3}", (0, 1, 2), 1, at_step=WAIT + LOSE_NEW)
    result = lose(rtrain, running, 1)
    assert result.returncode == 0, result.stderr
    assert running.processes[2].wait().returncode == 0
    assert statuses(rtrain) == ["HEALED", "HEALED", "FINISHED"], result.stderr
    found = ends(result)
    assert [rank for rank, _ in found] == ["0", "1"] and found[0][1] == found[1][1], found
    first, second, third = workers(rtrain)
    assert second == [first[0], first[2]]
    assert third[0] == first[0] and third[1][0] == "n2" and third[1][1] != first[2][1]
    assert all(sorted(epoch) == list(range(64)) for epoch in seen(rtrain, [6, 8, 8]))


def test_a_rank_of_another_node_is_replaced_at_the_same_time(rtrain, job):
    running = start(rtrain, job, "{1, 4}", (0, 1), 2)
    pids = [pid for _, pid in workers(rtrain)[0]]
    os.kill(pids[1], signal.SIGKILL)
    result = lose(rtrain, running, 1)
    assert result.returncode == 0, result.stderr
    assert statuses(rtrain)[-1] == "FINISHED" and set(statuses(rtrain)[:-1]) == {"HEALED"}, result.stderr
    last = workers(rtrain)[-1]
    assert [host for host, _ in last] == ["n0", "n0"] and last[0][1] == pids[0] and last[1][1] != pids[1]
    found = ends(result)
    assert len(found) == 2 and found[0][1] == found[1][1], found
    assert all(sorted(epoch) == list(range(64)) for epoch in seen(rtrain, [4, 1 + 6, 8]))


def test_a_node_that_leaves_too_few_ends_the_group(rtrain, job):
    running = start(rtrain, job, "{3, 4}", (0, 1), 2)
    result = lose(rtrain, running, 1)
    assert result.returncode == 5, result.stderr
    assert "fewer than 3 workers, the least of num_workers, are left" in result.stderr
    assert statuses(rtrain) == ["ERRORED"]
