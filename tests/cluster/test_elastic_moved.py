"""train.elastic over several nodes with a fixed number of workers: another node takes the place of a lost one."""

import signal

import pytest

from conftest import nightly, wait_until
from test_elastic_smaller import BACKENDS, WAIT, WAIT_FOR_OTHERS, lose, workers
from test_heal import SAVE, ends, statuses
from test_heal_smaller import smaller
from test_replicas import sharded

# As WAIT, in a later step.
WAIT_AGAIN = WAIT.replace("5", "9").replace("'there'", "'there_again'").replace("'go'", "'go_on'")
CALM = {}


@pytest.fixture
def hosts(three_hosts):
    return three_hosts


# The cores of three nodes: the four workers are on two of them, or on all with room for more on some.
RESERVE, ROOM, ROOM_ON_ALL = (2, 2, 2), (2, 4, 4), (4, 4, 4)


def launch(rtrain, job, text, *args, cores=RESERVE):
    """Starts a job on three nodes with that many cores."""
    placement = "PACK" if cores == RESERVE else "SPREAD"
    text = text.replace("num_workers = 4", f"placement_strategy = '{placement}', num_workers = 4")
    env_of = {node: {"SLURM_CPUS_ON_NODE": str(count)} for node, count in enumerate(cores)}
    return job("run", rtrain.script(text), *args, nodes=(0, 1, 2), counts=(1, 1, 1), env_of=env_of)


def calm(rtrain, job, change=str, cores=RESERVE, **places):
    """Returns how a run without a loss ends, which is always the same."""
    key = (change, cores == RESERVE, *sorted(places.items()))
    if key not in CALM:
        text = change(smaller(4, **{"at_step": "", **places}))
        results = launch(rtrain, job, text, "--name", "calm", cores=cores).wait()
        assert [each.returncode for each in results] == [0, 0, 0], results[0].stderr
        CALM[key] = ends(results[0])
        assert len(CALM[key]) == 4
    return CALM[key]


def start(rtrain, job, change=str, limits="", cores=RESERVE, **places):
    """Starts a job. Returns when all ranks wait in the sixth step."""
    text = change(smaller(4, limits=f"node_timeout_s = 2{limits}", **{"at_step": WAIT, **places}))
    running = launch(rtrain, job, text, cores=cores)
    return wait_for(rtrain, running, "there", 5)


def wait_for(rtrain, running, file, steps=0):
    """Waits for a file, and until node 0 has the reports of that many steps of all ranks."""
    first = running.processes[0]
    wait_until(lambda: (rtrain.folder / file).exists() or not first.running, message=f"the file {file}")
    reported = (
        "SELECT count(*) FROM reports JOIN runs USING(run_id) WHERE name = 'healed' AND superseded = 0 AND idx < ?"
    )
    wait_until(
        lambda: rtrain.query(reported, steps)[0][0] >= 4 * steps or not first.running, message="the ranks' reports"
    )
    assert first.running, first.wait().stderr
    return running


def lose_both(rtrain, running):
    """Loses the second node and the one in reserve. Returns the process of the first one."""
    running.processes[2].kill()
    running.processes[1].kill()
    first = running.processes[0]
    wait_until(lambda: "n1 has not been heard of for 2 s" in first.stderr, message="the loss of the node")
    (rtrain.folder / "go").touch()
    return first


def hosts_of(rtrain):
    return [[host for host, _ in attempt] for attempt in workers(rtrain)]


def check_moved(rtrain, result, wanted, *attempts):
    """The run has gone on from its last commit with the same bits, on these nodes."""
    assert result.returncode == 0, result.stderr
    assert statuses(rtrain) == ["HEALED"] * (len(attempts) - 1) + ["FINISHED"], result.stderr
    assert ends(result) == wanted
    assert hosts_of(rtrain) == [list(each) for each in attempts]
    rows = rtrain.query(
        "SELECT rank, json_extract(metrics, '$.step') FROM reports JOIN runs USING(run_id) WHERE name = 'healed' "
        "AND superseded = 0 ORDER BY rank, idx"
    )
    last = max(step for _, step in rows)
    assert rows == [(rank, step) for rank in range(4) for step in range(1, last + 1)], "each step once on each rank"


def check_moved_back(rtrain, running, go, wanted):
    """The node that has taken the ranks of n1 is lost too, and n1 takes them again. The ranks wait for the file `go`."""
    running.processes[2].kill()
    first = running.processes[0]
    wait_until(lambda: "n2 has not been heard of for 2 s" in first.stderr, message="the second loss")
    (rtrain.folder / go).touch()
    check_moved(rtrain, first.wait(), wanted, *[("n0", "n0", each, each) for each in ("n1", "n2", "n1")])


# behaviour: a lost node costs no step where another one has room
def test_a_node_in_reserve_takes_the_place_of_a_lost_one(rtrain, job):
    wanted = calm(rtrain, job)
    running = start(rtrain, job)
    result = lose(rtrain, running, 1)
    check_moved(rtrain, result, wanted, ("n0", "n0", "n1", "n1"), ("n0", "n0", "n2", "n2"))
    assert "its node is lost, and the others wait for another one that takes its place" in result.stderr
    assert "node n2 takes the place of the lost one of ranks 2-3" in result.stderr
    assert "all ranks go on from their last commit" in result.stderr
    before, after = workers(rtrain)
    assert before[:2] == after[:2], "the other ranks keep their processes"
    error = rtrain.json("show", "healed")["attempts"][0]["error"]
    assert error["rank"] == 2 and "node n1 has not been heard of" in error["message"]
    assert running.processes[2].wait().returncode == 0


# behaviour: a lost node costs no step where one that has workers has room
@pytest.mark.parametrize("cores, place", [(ROOM, "n2"), pytest.param(ROOM_ON_ALL, "n0", marks=nightly)])
def test_a_node_that_has_workers_takes_those_of_a_lost_one(rtrain, job, cores, place):
    wanted = calm(rtrain, job, cores=cores)
    result = lose(rtrain, start(rtrain, job, cores=cores), 1)
    check_moved(rtrain, result, wanted, ("n0", "n0", "n1", "n2"), ("n0", "n0", place, "n2"))
    assert f"node {place} takes the place of the lost one of rank 2" in result.stderr
    before, after = workers(rtrain)
    assert [rank for rank in range(4) if before[rank] != after[rank]] == [2], "the other ranks keep their processes"


# behaviour: two nodes that are lost at once cost no step where one has room for both
@pytest.mark.parametrize(
    "change", [pytest.param(str, marks=nightly, id="replicated"), pytest.param(sharded, id="sharded")]
)
def test_two_nodes_are_lost_at_once(rtrain, job, change):
    """The rows of their ranks are kept on the first one."""
    wanted = calm(rtrain, job, change, cores=ROOM_ON_ALL)
    running = start(rtrain, job, change, cores=ROOM_ON_ALL)
    first = running.processes[0]
    for node in (1, 2):
        running.processes[node].kill()
    for node in (1, 2):
        wait_until(lambda: f"n{node} has not been heard of for 2 s" in first.stderr, message="the loss of the nodes")
    (rtrain.folder / "go").touch()
    check_moved(rtrain, first.wait(), wanted, ("n0", "n0", "n1", "n2"), ("n0",) * 4)


@nightly
@pytest.mark.parametrize("change", [str, sharded], ids=["replicated", "sharded"])
def test_ranks_that_have_come_to_one_node_are_lost_with_it(rtrain, job, change):
    """Neither keeps the other one's rows. Both come to a node that is back."""
    wanted = calm(rtrain, job, change, cores=ROOM)
    running = start(rtrain, job, change, cores=ROOM, at_step=WAIT + WAIT_AGAIN)
    first = running.processes[0]
    running.processes[1].kill()
    wait_until(lambda: "n1 has not been heard of for 2 s" in first.stderr, message="the loss of the node")
    (rtrain.folder / "go").touch()
    wait_for(rtrain, running, "there_again", 9)
    running.start_again(1)
    wait_until(lambda: first.stderr.count("node n1 has joined") == 2, message="the return of the node")
    running.processes[2].kill()
    wait_until(lambda: "n2 has not been heard of for 2 s" in first.stderr, message="the second loss")
    (rtrain.folder / "go_on").touch()
    nodes = [("n0", "n0", each, other) for each, other in (("n1", "n2"), ("n2", "n2"), ("n1", "n1"))]
    check_moved(rtrain, first.wait(), wanted, *nodes)


@nightly
@pytest.mark.parametrize("change", [str, sharded], ids=["replicated", "sharded"])
def test_two_nodes_are_lost_and_all_workers_come_to_the_first_one(rtrain, job, change):
    wanted = calm(rtrain, job, change, cores=ROOM_ON_ALL)
    running = start(rtrain, job, change, cores=ROOM_ON_ALL, at_step=WAIT + WAIT_AGAIN)
    first = running.processes[0]
    for node, go in ((1, "go"), (2, "go_on")):
        running.processes[node].kill()
        wait_until(lambda: f"n{node} has not been heard of for 2 s" in first.stderr, message="the loss of the node")
        (rtrain.folder / go).touch()
        if node == 1:
            wait_for(rtrain, running, "there_again", 9)
    nodes = [("n0", "n0", "n1", "n2"), ("n0", "n0", "n0", "n2"), ("n0",) * 4]
    check_moved(rtrain, first.wait(), wanted, *nodes)


@nightly
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("change", [str, sharded], ids=["replicated", "sharded"])
def test_nodes_are_lost_one_after_the_other(rtrain, job, backend, change):
    """The others notice the first loss in a collective. The second one is that of the node that was in reserve."""
    torch = BACKENDS[backend]
    wanted = calm(rtrain, job, change, torch=torch)
    running = start(
        rtrain,
        job,
        change,
        torch=torch,
        at_step=WAIT_FOR_OTHERS.replace("while", "while not files.exists 'go' and") + WAIT_AGAIN,
    )
    running.processes[1].kill()
    first = running.processes[0]
    wait_until(lambda: "has not been heard of for 2 s" in first.stderr, message="the loss of the node")
    (rtrain.folder / "go").touch()
    wait_for(rtrain, running, "there_again", 9)
    running.start_again(1)
    wait_until(lambda: first.stderr.count("node n1 has joined") == 2, message="the return of the node")
    check_moved_back(rtrain, running, "go_on", wanted)


@nightly
def test_a_node_that_is_lost_before_its_first_commit(rtrain, job):
    """The state of the ranks that it has taken over is kept for the next node too."""
    wanted = calm(rtrain, job)
    wait = "while rank >= 2 and state.step == 5 and not files.exists 'go' do files.once 'moved' os.execute 'sleep 0.05' end"
    running = start(rtrain, job, at_step=WAIT.replace("'go'", "'begin'") + wait)
    running.processes[1].kill()
    (rtrain.folder / "begin").touch()
    wait_for(rtrain, running, "moved")
    wait_until(lambda: len(statuses(rtrain)) == 2, message="the second attempt")
    running.start_again(1)
    check_moved_back(rtrain, running, "go", wanted)


@nightly
def test_without_room_in_time_the_group_restarts(rtrain, job):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "3"
    running = start(rtrain, job, limits=", max_failures = 1", after_step=SAVE.replace("@MODE@", "SYNC"))
    first = lose_both(rtrain, running)
    wait_until(lambda: "no node has had room for ranks 2-3" in first.stderr, message="the end of the search")
    running.start_again(1)
    running.start_again(2)
    result = first.wait()
    assert result.returncode == 0, result.stderr
    assert "no node has room for ranks 2-3 now: the others wait 3 s (RTRAIN_JOIN_TIMEOUT_S) for one" in result.stderr
    assert statuses(rtrain) == ["HEALED", "ERRORED", "FINISHED"]


@nightly
def test_a_run_that_is_asked_to_stop_waits_for_no_node(rtrain, job):
    running = start(rtrain, job)
    first = lose_both(rtrain, running)
    wait_until(lambda: "no node has room for ranks 2-3 now" in first.stderr, message="the search for a node")
    first.send(signal.SIGTERM)
    result = first.wait(20)
    assert result.returncode == 143, result.stderr
    assert statuses(rtrain) == ["HEALED", "ABORTED"]
