"""One run over two nodes in which a launcher starts each rank; the first process of a node is also its agent."""

import signal

import pytest

from conftest import processes_of, wait_until
from launchers import openmpi, openmpi_by_node, slurm, torchrun
from node_scripts import GLOO, TRAINING, WAITING, script, wait_for_reports, workers_of

PLACES = """
    local sum = torch.full({2}, context:get_world_rank() + 1)
    torch.distributed.all_reduce(sum)
    print(('rank %d of %d: %d of %d on node %d, %d'):format(context:get_world_rank(), context:get_world_size(),
      context:get_local_rank(), context:get_local_world_size(), context:get_node_rank(), sum:sum():item()))
    train.report{sum = sum:sum():item()}
"""


def places_of(counts):
    """Returns the output of the ranks for that script, with these counts of ranks on each node."""
    total, sizes = sum(counts), list(enumerate(counts))
    ranks = [(node, local, size) for node, size in sizes for local in range(size)]
    return [
        f"rank {rank} of {total}: {local} of {size} on node {node}, {total * (total + 1)}"
        for rank, (node, local, size) in enumerate(ranks)
    ]


@pytest.fixture
def ranks(job):
    """Returns a function that starts a job, by default with two processes on each of two nodes."""

    def start(*args, **options):
        return job(*args, **{"counts": (2, 2), **options})

    return start


def codes(results):
    return [result.returncode for result in results]


@pytest.mark.parametrize("launcher", [slurm, torchrun, openmpi])
def test_the_processes_of_the_launcher_are_the_ranks(rtrain, ranks, launcher):
    results = ranks("run", script(rtrain, PLACES), launcher=launcher).wait()
    assert codes(results) == [0] * 4, "\n".join(result.stderr for result in results)
    assert [result.stdout.strip() for result in results] == places_of([2, 2])
    assert [worker["host"] for worker in workers_of(rtrain)] == ["n0", "n0", "n1", "n1"]
    assert "FINISHED" in results[0].stderr and [result.stderr for result in results[1:]] == [""] * 3
    assert [len(rtrain("logs", "nodes", "--rank", str(rank)).stdout.splitlines()) for rank in range(4)] == [1] * 4


def test_nccl_uses_the_interface_between_the_nodes(rtrain, ranks):
    path = script(rtrain, "print(os.getenv 'NCCL_SOCKET_IFNAME')")
    assert [result.stdout for result in ranks("run", path).wait()] == ["eth0\n"] * 4
    rtrain.env["NCCL_SOCKET_IFNAME"] = "ib0"
    assert [result.stdout for result in ranks("run", path, "--name", "own").wait()] == ["ib0\n"] * 4


def test_the_rows_of_the_workers_are_their_processes(rtrain, ranks):
    running = ranks("run", script(rtrain, WAITING))
    wait_for_reports(rtrain, running)
    assert [worker["pid"] for worker in workers_of(rtrain)] == [process.pid for process in running.processes]
    (rtrain.folder / "go").touch()
    assert codes(running.wait()) == [0] * 4


def test_the_parameters_are_those_of_one_machine(rtrain, ranks):
    path = script(rtrain, TRAINING, torch=GLOO)
    for result in ranks("run", path, "--name", "hosts").wait():
        assert result.returncode == 0, result.stderr
    assert rtrain("run", path, "--name", "one", "--oversubscribe").returncode == 0
    assert rtrain.reports("hosts") == rtrain.reports("one")


@pytest.mark.parametrize("counts", [(2, 1), (1, 2)])
def test_nodes_with_different_numbers_of_ranks(rtrain, job, counts):
    results = job("run", script(rtrain, PLACES), "-n", "3", counts=counts).wait()
    assert codes(results) == [0] * 3, "\n".join(result.stderr for result in results)
    assert [result.stdout.strip() for result in results] == places_of(counts)


def test_ranks_that_mpirun_deals_out_in_turn_are_numbered_by_node(rtrain, ranks):
    results = ranks("run", script(rtrain, PLACES), launcher=openmpi_by_node).wait()
    assert codes(results) == [0] * 4, "\n".join(result.stderr for result in results)
    assert [result.stdout.strip() for result in results] == places_of([2, 2])
    assert "node n1: the launcher's rank 1 is rank 2 of the run, whose ranks are dense by node" in results[0].stderr


def test_as_many_ranks_as_the_launcher_has_started(rtrain, ranks):
    results = ranks("run", script(rtrain, PLACES), "-n", "0").wait()
    assert codes(results) == [0] * 4, "\n".join(result.stderr for result in results)
    refused = ranks("run", script(rtrain, PLACES), "-n", "3").wait()
    assert codes(refused) == [3] * 4, [result.stderr for result in refused]
    for result in refused:
        assert "num_workers = 3: slurm has started 4 processes on several nodes" in result.stderr


def test_two_runs_of_one_script(rtrain, ranks):
    path = script(rtrain, "train.report{rank = context:get_world_rank()}")
    path.write_text(
        path.read_text() + "trainer.run_config = train.RunConfig{name = 'again'}\nprint(trainer:fit().metrics.rank)\n"
    )
    results = ranks("run", path).wait()
    assert [(result.returncode, result.stdout) for result in results] == [(0, "0\n")] * 4, results
    assert [worker["host"] for worker in workers_of(rtrain)] == ["n0", "n0", "n1", "n1"]


def test_a_script_that_fails_before_fit_ends_every_process(rtrain, ranks):
    results = ranks("run", rtrain.script("error('before fit')")).wait(30)
    assert codes(results) == [1] * 4
    assert all("before fit" in result.stderr for result in results)


def test_what_rank_zero_ends_with_before_fit_ends_the_others(rtrain, ranks):
    path = script(rtrain, "")
    path.write_text("if os.getenv 'SLURM_PROCID' == '0' then os.exit(7) end\n" + path.read_text())
    results = ranks("run", path).wait(30)
    assert codes(results) == [7] * 4, "\n".join(result.stderr for result in results)
    for rank, result in enumerate(results[1:], 1):
        assert f"rank {rank}: the job is over, with exit code 7" in result.stderr


@pytest.mark.parametrize("rank", [2, 3])
def test_an_error_of_a_rank_elsewhere_shows_the_users_line(rtrain, ranks, rank):
    results = ranks("run", script(rtrain, f"if context:get_world_rank() == {rank} then error('no luck') end")).wait()
    assert codes(results) == [1] * 4
    for result in results:
        assert "no luck" in result.stderr and "train.lua:" in result.stderr
    assert f"rank {rank} raised an error" in results[0].stderr


def test_a_rank_that_raises_is_retried_and_one_that_dies_is_not(rtrain, ranks):
    body = WAITING.replace(
        "while",
        """if context:get_world_rank() == 3 and not files.exists 'raised' then
      files.write('raised', '')
      error('no luck')
    end
    while""",
    )
    running = ranks("run", script(rtrain, body, "max_failures = 3"))
    wait_until(lambda: "attempt 2 begins" in running.processes[0].stderr, message="the second attempt")
    wait_until(
        lambda: rtrain.query("SELECT 1 FROM reports WHERE attempt = 2 AND rank = 3"), message="reports of rank 3"
    )
    victim = running.processes[3]
    victim.send(signal.SIGKILL)
    results = running.wait()
    assert codes(results) == [5, 5, 5, -9], "\n".join(result.stderr for result in results)
    assert f"rank 3 (pid {victim.pid}) has gone before its train function returned" in results[0].stderr
    assert rtrain.json("show", "nodes")["status"] == "ERRORED"
    assert not processes_of(rtrain.storage)


def test_an_agent_that_is_killed_ends_the_run(rtrain, ranks):
    running = ranks("run", script(rtrain, WAITING, "node_timeout_s = 2"))
    wait_for_reports(rtrain, running)
    running.processes[2].send(signal.SIGKILL)
    results = running.wait()
    assert codes(results) == [5, 5, -9, 5], "\n".join(result.stderr for result in results)
    assert "node n1 has not been heard of for 2 s (node_timeout_s)" in results[0].stderr
    assert "the first process of this node, which is its agent, has gone" in results[3].stderr
    assert not processes_of(rtrain.storage)


def test_a_controller_that_is_killed_leaves_nothing(rtrain, ranks):
    running = ranks("run", script(rtrain, WAITING, "node_timeout_s = 2"))
    wait_for_reports(rtrain, running)
    running.processes[0].send(signal.SIGKILL)
    results = running.wait(60)
    assert codes(results) == [-9, 5, 5, 5], "\n".join(result.stderr for result in results)
    assert "the process of rank 0, which keeps the run, has gone" in results[1].stderr
    for result in results[2:]:
        assert "the controller has not been heard of for 2 s" in result.stderr
    assert not processes_of(rtrain.storage)


@pytest.mark.parametrize("whom", [[0], [3], [3, 2, 1, 0]], ids=["rank 0", "rank 3", "every rank"])
def test_a_signal_ends_the_run_in_order(rtrain, ranks, whom):
    body = "repeat train.report{step = 1} os.execute('sleep 0.05') until train.stop_requested()"
    running = ranks("run", script(rtrain, body))
    wait_for_reports(rtrain, running)
    for rank in whom:
        running.processes[rank].send(signal.SIGTERM)
    results = running.wait()
    assert codes(results) == [143] * 4, "\n".join(result.stderr for result in results)
    assert rtrain.json("show", "nodes")["status"] == "ABORTED"


@pytest.mark.parametrize(
    "absent, timeout, text",
    # If only one rank is absent, the other ranks need the time to connect.
    [([3], "6", "rank 3"), ([2, 3], "1", "nodes with 2 of the 4 ranks have not come: there are n0 of n0, n1")],
    ids=["a rank", "a node"],
)
def test_a_rank_that_does_not_come_is_named(rtrain, ranks, absent, timeout, text):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = timeout
    results = ranks("run", script(rtrain, "train.report{step = 1}"), without=absent).wait(60)
    assert text in results[0].stderr, results[0].stderr
    assert len(set(codes(results))) == 1 and results[0].returncode > 0, "\n".join(result.stderr for result in results)


def test_a_first_process_that_does_not_come_is_named(rtrain, ranks):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "1"
    results = ranks("run", script(rtrain, "train.report{step = 1}"), without=[2]).wait(60)
    assert codes(results) == [4, 4, 6], "\n".join(result.stderr for result in results)
    assert "the first process of this node, its agent" in results[2].stderr


def test_a_storage_that_nodes_do_not_share_is_refused(rtrain, ranks):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "6"
    results = ranks("run", script(rtrain, "train.report{step = 1}"), "--storage", "/srv/disk/results").wait()
    assert codes(results) == [4] * 4, "\n".join(result.stderr for result in results)
    assert "node n1 does not see /srv/disk/results/nodes of node n0" in results[0].stderr


def test_a_link_that_is_down_for_a_moment_loses_nothing(rtrain, ranks, hosts):
    running = ranks("run", script(rtrain, WAITING, "node_timeout_s = 20"))
    wait_for_reports(rtrain, running, 3)
    hosts[1].set_link("down")
    before = len(rtrain.reports("nodes"))
    wait_until(lambda: len(rtrain.reports("nodes")) > before + 20, message="reports of rank 0 meanwhile")
    hosts[1].set_link("up")
    (rtrain.folder / "go").touch()
    results = running.wait()
    assert codes(results) == [0] * 4, results[0].stderr
    rows = rtrain.json("metrics", "nodes", "--ranks")
    steps = [row["ranks"][3]["step"] for row in rows if len(row["ranks"]) > 3 and row["ranks"][3]]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) > 3, "every report of rank 3, once"
