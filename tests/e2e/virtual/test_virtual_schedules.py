"""ResNet-18, a transformer with packed tokens and a small convolution end with the same bits, whoever computes."""

import pytest

from conftest import sample, set_cpus
from schedules import Schedule, drawn

NETS = ["conv", "packed", "resnet18"]


def ended(rtrain, schedule, name):
    """Returns what the run ended with, and its reports, which are of the first virtual worker."""
    set_cpus(rtrain, 4)
    rtrain.env["RTRAIN_FAULT"] = schedule.fault
    rtrain.run_ok(schedule.text(name), timeout=300)
    rows = [row for row in rtrain.json("metrics", name, "--ranks", "--superseded") if not row["superseded"]]
    reports = [{key: row["ranks"][0].get(key) for key in ("loss", "norm", "step", "drawn")} for row in rows]
    assert rtrain.json("show", name)["attempts"][-1]["status"] == "FINISHED"
    return (rtrain.folder / f"out-{name}").read_text(), reports


@pytest.mark.parametrize("source", sample("loader", "dataset"))
@pytest.mark.parametrize("net", NETS)
def test_any_number_of_processes_ends_with_the_same_bits(rtrain, net, source):
    """So do compiled steps."""
    first = ended(rtrain, Schedule(net, source), "one")
    assert len(first[1]) > 5
    for workers in (2, 3, 4):
        schedule = Schedule(net, source, is_compiled=workers == 3, workers=workers)
        assert ended(rtrain, schedule, f"some-{workers}") == first, workers


@pytest.mark.parametrize("source", sample("loader", "dataset"))
@pytest.mark.parametrize("net", sample(*NETS[:2]))
def test_so_does_a_ready_made_loop(rtrain, net, source):
    first = ended(rtrain, Schedule(net, source, is_loop=True), "one")
    for workers in (2, 3, 4):
        assert ended(rtrain, Schedule(net, source, is_loop=True, workers=workers), f"some-{workers}") == first, workers


@pytest.mark.parametrize("seed", sample(*range(20)))
def test_random_schedules_of_losses_and_sizes(rtrain, seed):
    """tests/soak/kills/virtual.py runs any number of them."""
    schedule = drawn(seed)
    assert ended(rtrain, schedule, "random") == ended(rtrain, schedule.calm(), "calm")
