"""train.elastic over two nodes, one of which arrives later: the group grows at a commit, without a checkpoint."""

import pytest

from conftest import nightly, wait_until
from grown import check_grown, larger
from test_heal import ends, statuses

pytestmark = nightly

# The run must still have steps to do when the second node arrives.
SLOW = "os.execute(train.get_context():get_world_size() == 1 and 'sleep 0.3' or 'sleep 0.1')"


def workers(rtrain):
    """Returns the nodes of the ranks in each attempt."""
    return [[worker["host"] for worker in attempt["workers"]] for attempt in rtrain.json("show", "healed")["attempts"]]


def wait_for_steps(rtrain, count):
    wait_until(
        lambda: rtrain.query(
            "SELECT 1 FROM reports JOIN runs USING(run_id) WHERE name = 'healed' AND idx = ?", count - 1
        ),
        message=f"{count} steps",
    )


@pytest.mark.parametrize("torch", ["", "torch_config = train.TorchConfig {backend = 'gloo'},"], ids=["default", "gloo"])
@pytest.mark.parametrize("cores", [1, 2])
def test_a_node_that_comes_later_makes_the_group_larger(rtrain, job, torch, cores):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "1"
    script = rtrain.script(larger("{1, 4}", cores, torch=torch))
    running = job("run", script, nodes=[0], env={"SLURM_CPUS_ON_NODE": str(cores)})
    wait_for_steps(rtrain, 3)
    running.add(1)
    first, second = running.wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    check_grown(rtrain, first, [cores, 2 * cores])
    assert statuses(rtrain) == ["FINISHED", "FINISHED"]
    assert workers(rtrain) == [["n0"] * cores, ["n0"] * cores + ["n1"] * cores]
    found = ends(first)
    assert len(found) == 2 * cores and len({bits for _, bits in found}) == 1, found


def test_a_lost_node_that_comes_back_makes_the_group_larger_again(rtrain, job):
    script = rtrain.script(larger("{1, 2}", 1, limits="node_timeout_s = 2", at_step=SLOW))
    running = job("run", script, env={"SLURM_CPUS_ON_NODE": "1"})
    wait_for_steps(rtrain, 2)
    running.processes[1].kill()
    wait_until(lambda: "goes on with 1 worker" in running.processes[0].stderr, message="the loss of the node")
    running.start_again(1)
    first, second = running.wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    check_grown(rtrain, first, [2, 1, 2])
    assert statuses(rtrain) == ["HEALED", "FINISHED", "FINISHED"]
    assert workers(rtrain) == [["n0", "n1"], ["n0"], ["n0", "n1"]]
    found = ends(first)
    assert len(found) == 2 and found[0][1] == found[1][1], found
