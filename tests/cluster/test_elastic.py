"""train.elastic over two nodes: lost ranks on either node are replaced while the other ranks live."""

import subprocess
import sys

import pytest

import test_spares as spares
from conftest import ALL, nightly, wait_until
from test_heal import KILLS, LOSE, SAVE, attempts, check_random_kills, ends, statuses, training

GLOO = "torch_config = train.TorchConfig {backend = 'gloo'},"


def script(rtrain, workers=4, torch="", limits="", **places):
    text = training(limits=limits, **places).replace("num_workers = 2}", f"num_workers = {workers}}}")
    return rtrain.script(text.replace("run_config =", f"{torch}\n  run_config ="))


def run(rtrain, job, *args, **options):
    """Returns the result of node 0. Both nodes must succeed."""
    first, second = job("run", script(rtrain, **options), *args).wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    return first


CALM = {}


def calm(rtrain, job, **options):
    """Returns how a run without losses ends, which is always the same."""
    key = tuple(sorted(options.items()))
    if key not in CALM:
        found = ends(run(rtrain, job, "--name", "calm", **options))
        assert len(found) == options.get("workers", 4)
        CALM[key] = found
    return CALM[key]


def pids(rtrain, attempt):
    return dict(
        rtrain.query(
            "SELECT rank, pid FROM workers JOIN runs USING(run_id) WHERE name = 'healed' AND attempt = ?", attempt
        )
    )


@pytest.mark.parametrize("torch", ["", GLOO], ids=["hierarchy", "gloo"])
def test_a_rank_of_either_node_is_replaced_on_it(rtrain, job, torch):
    wanted = calm(rtrain, job, torch=torch)
    # The lost rank of each step: for both nodes the first rank, which represents the node, and another rank.
    lost = {2: 3, 5: 0, 7: 2, 10: 1}
    lose = "\n".join(LOSE.format(rank=rank, step=step) for step, rank in lost.items())
    result = run(rtrain, job, torch=torch, at_step=lose, after_step=SAVE.replace("@MODE@", "SYNC"))
    assert ends(result) == wanted
    assert attempts(rtrain) == [(1, "HEALED", 0), *((each, "HEALED", 1) for each in (2, 3, 4)), (5, "FINISHED", 1)]
    for attempt, rank in enumerate(lost.values(), start=1):
        before, after = pids(rtrain, attempt), pids(rtrain, attempt + 1)
        assert [each for each in range(4) if before[each] != after[each]] == [rank]
    shown = rtrain.json("show", "healed")["attempts"]
    assert [each["error"]["rank"] for each in shown[:-1]] == list(lost.values())
    assert [each["host"] for each in shown[-1]["workers"]] == ["n0", "n0", "n1", "n1"]
    steps = rtrain.query(
        "SELECT json_extract(metrics, '$.step') FROM reports JOIN runs USING(run_id) WHERE name = 'healed' "
        "AND superseded = 0 AND rank = 3 ORDER BY idx"
    )
    assert [step for (step,) in steps] == list(range(1, 13))


def test_the_only_rank_of_a_node_is_replaced(rtrain, job):
    wanted = calm(rtrain, job, workers=2)
    lose = "\n".join(LOSE.format(rank=rank, step=step) for step, rank in {5: 1, 9: 0, 13: 1}.items())
    assert ends(run(rtrain, job, workers=2, at_step=lose)) == wanted
    assert statuses(rtrain) == ["HEALED", "HEALED", "HEALED", "FINISHED"]


@pytest.mark.parametrize("rank", [0, 1])
def test_the_spare_of_its_node_takes_a_ranks_place(rtrain, job, rank):
    lose = spares.lose(rank, spares.SPARE_READY.format(4))
    first, second = job("run", rtrain.script(spares.script(at_step=lose))).wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert statuses(rtrain) == ["HEALED", "FINISHED"]
    before, after = pids(rtrain, 1), pids(rtrain, 2)
    assert after[1 - rank] == before[1 - rank] and after[rank] in spares.pids_in(rtrain, "ready")[2:4]
    sums = {text.split("steps")[1] for _, text in spares.ends(first)}
    assert len(sums) == 1, first.stdout


@nightly
def test_workers_killed_at_random_moments_leave_the_bits_alone(hosts, tmp_path):
    check_random_kills(tmp_path, 12 if ALL else 4, "--hosts", "2")


@nightly
def test_random_schedules_in_which_nodes_are_lost(hosts):
    """tests/soak/kills/virtual.py runs any number of them."""
    command = [sys.executable, KILLS.parent / "virtual.py", "--hosts", "--schedules", "6"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr


# Each fault point with the rank that reaches it.
@pytest.mark.parametrize(
    ("point", "rank"),
    [("elastic.prepare:9", 3), ("elastic.prepare:9", 0), ("elastic.commit:9", 2), ("elastic.commit:9", 1)],
)
def test_a_rank_that_is_killed_in_a_commit(rtrain, job, point, rank):
    wanted = calm(rtrain, job)
    rtrain.env["RTRAIN_FAULT"] = f"{point}:kill:rank={rank}:attempt=1"
    result = run(rtrain, job)
    assert attempts(rtrain) == [(1, "HEALED", 0), (2, "FINISHED", 1)]
    assert ends(result) == wanted


def test_ranks_of_both_nodes_at_once(rtrain, job):
    wanted = calm(rtrain, job)
    lose = "if (rank == 1 or rank == 2) and state.step == 5 and files.once('lost-' .. rank) then os.execute 'kill -9 $PPID' end"
    assert ends(run(rtrain, job, at_step=lose)) == wanted
    assert statuses(rtrain)[-1] == "FINISHED" and set(statuses(rtrain)[:-1]) == {"HEALED"}


def test_a_lost_node_that_comes_back_takes_its_ranks_again(rtrain, job):
    wanted = calm(rtrain, job)
    wait = "while state.step == 5 and not files.exists 'go' do os.execute 'sleep 0.05' end"
    path = script(
        rtrain,
        at_step=f"if rank == 0 and state.step == 5 then files.once 'there' end\n{wait}",
        limits="node_timeout_s = 2",
    )
    running = job("run", path)
    wait_until(lambda: (rtrain.folder / "there").exists(), message="the fifth step")
    running.processes[1].kill()
    wait_until(lambda: "has not been heard of for 2 s" in running.processes[0].stderr, message="the loss of the node")
    (rtrain.folder / "go").touch()
    wait_until(lambda: "no node has room for ranks 2-3" in running.processes[0].stderr, message="the search for a node")
    running.start_again(1)
    first, second = running.wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert attempts(rtrain) == [(1, "HEALED", 0), (2, "FINISHED", 1)]
    assert ends(first) == wanted
    before, after = pids(rtrain, 1), pids(rtrain, 2)
    assert [rank for rank in range(4) if before[rank] != after[rank]] == [2, 3]
