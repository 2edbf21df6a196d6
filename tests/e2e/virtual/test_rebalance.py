"""Virtual workers are moved from a slow rank to the others at a commit, and back, and the bits stay."""

from conftest import nightly, set_cpus
from test_virtual_elastic import ended, statuses, text

EPOCHS = 12  # of 8 steps each
# Each batch of rank 1 takes longer, up to that step.
SLOW = """
        ffi.C.usleep(rank == 1 and state.step <= {until} and 30000 or 4000)
"""


def script(name, workers, until, epochs=EPOCHS, policy="rebalance"):
    out = text(name, workers, before_backward=SLOW.format(until=until))
    out = out.replace(
        "local function train_func()",
        "local function train_func()\n  local ffi = require 'ffi'\n  ffi.cdef 'int usleep(unsigned int);'",
    )
    out = out.replace("state.epoch < 3", f"state.epoch < {epochs}")
    return out.replace(
        f"run_config = train.RunConfig {{name = '{name}'}}",
        f"run_config = train.RunConfig {{name = '{name}', "
        f"failure_config = train.FailureConfig {{straggler = '{policy}'}}}}",
    )


# behaviour: virtual workers are moved from a slow rank to the others
def test_a_slow_rank_gets_fewer_virtual_workers(rtrain):
    set_cpus(rtrain, 3)
    rtrain.run_ok(script("calm", 1, 0))
    result = rtrain.run_ok(script("slow", 2, 1000))
    assert "the virtual workers of the ranks change at the next commit: 2, 3 → 4, 1" in " ".join(result.stderr.split())
    assert statuses(rtrain, "slow") == ["HEALED", "FINISHED"]
    assert ended(rtrain, "slow") == ended(rtrain, "calm")


@nightly
def test_they_come_back_when_it_is_fast_again(rtrain):
    set_cpus(rtrain, 3)
    rtrain.run_ok(script("calm", 1, 0, epochs=60))
    result = rtrain.run_ok(script("slow", 2, 120, epochs=60))
    output = " ".join(result.stderr.split())
    assert "2, 3 → 4, 1" in output and "4, 1 → " in output, output
    # Other programs on the machine may make a rank slow once more.
    *changes, last = statuses(rtrain, "slow")
    assert last == "FINISHED" and len(changes) >= 2 and set(changes) == {"HEALED"}, changes
    assert ended(rtrain, "slow") == ended(rtrain, "calm")
