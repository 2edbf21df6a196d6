"""train.elastic when capacity becomes available again: an elastic group grows at a commit, without a checkpoint."""

import pytest

from conftest import set_cpus, wait_until
from grown import check_grown, larger
from test_elastic import holder
from test_heal import ends, statuses
from test_heal_smaller import LOSE, NO_FOURTH


def test_a_group_that_began_small_grows_at_a_commit(rtrain):
    set_cpus(rtrain, 2)
    first = rtrain.started("run", rtrain.script(holder("holder", 1), "first.lua"))
    second = rtrain.start("run", rtrain.script(larger("{1, 2}", 1)))
    wait_until(
        lambda: rtrain.query("SELECT 1 FROM reports JOIN runs USING(run_id) WHERE name = 'healed' AND idx = 2"),
        message="three steps of one worker",
    )
    (rtrain.folder / "release").touch()
    assert first.wait().returncode == 0
    result = second.wait()
    assert result.returncode == 0, result.stderr
    check_grown(rtrain, result, [1, 2])
    assert statuses(rtrain) == ["FINISHED", "FINISHED"]
    assert len(ends(result)) == 2


@pytest.mark.parametrize("torch", ["", "torch_config = train.TorchConfig {backend = 'gloo'},"], ids=["shm", "gloo"])
def test_a_group_that_has_become_smaller_grows_again(rtrain, torch):
    set_cpus(rtrain, 3)
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    slow = "if train.get_context():get_world_size() == 2 then os.execute 'sleep 0.2' end"
    result = rtrain.run_ok(larger("{1, 3}", 2, torch=torch, at_step=LOSE.replace("@RANK@", "2") + "\n" + slow))
    check_grown(rtrain, result, [3, 3, 2, 3])
    assert statuses(rtrain) == ["HEALED", "HEALED", "FINISHED", "FINISHED"]
    assert len(ends(result)) == 3


def test_a_larger_group_heals_and_a_lost_one_begins_with_the_commit_again(rtrain):
    """The new group dies before its first commit: the commit that was written for it is still there."""
    set_cpus(rtrain, 2)
    first = rtrain.started("run", rtrain.script(holder("holder", 1), "first.lua"))
    before = "if train.get_context():get_world_size() == 2 and files.once 'died' then os.execute 'kill -9 $PPID' end"
    text = larger("{1, 2}", 1, before=before, limits="max_failures = 1")
    second = rtrain.start("run", rtrain.script(text))
    wait_until(
        lambda: rtrain.query("SELECT 1 FROM reports JOIN runs USING(run_id) WHERE name = 'healed' AND idx = 2"),
        message="three steps of one worker",
    )
    (rtrain.folder / "release").touch()
    first.wait()
    result = second.wait()
    assert result.returncode == 0, result.stderr
    check_grown(rtrain, result, [1, 2, 2])
    assert statuses(rtrain) == ["FINISHED", "ERRORED", "FINISHED"]
