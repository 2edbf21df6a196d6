"""A sample of the sweeps of tests/soak/faults/sweep.py: kills at system calls, and system calls that fail."""

import pytest

import conftest  # noqa: F401  (the path of sweep)
import sweep
from conftest import nightly

pytestmark = nightly


# fault: kill at every system call of a save
def test_killed_at_a_system_call_of_a_save(saver):
    tally = sweep.Tally()
    sweep.sample_of_syscalls(saver, tally, 24)
    assert not tally.broken, "\n".join(tally.broken)
    assert tally.tried >= 16, "the threads run in another order each time, so that some calls are never reached"


# fault: disk full at rename and sync
@pytest.mark.parametrize("reason, every", [("ENOSPC", 17), ("EIO", 23)])
def test_one_system_call_fails(saver, reason, every):
    tally = sweep.Tally()
    sweep.at_calls(saver, tally, reason, every)
    assert not tally.broken, "\n".join(tally.broken)
    assert tally.tried >= 12
