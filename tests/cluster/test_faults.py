"""How a run over two nodes ends when a worker, a node, a link or a disk fails. No report may be lost."""

import os
import signal
import time

import pytest

from conftest import nightly, processes_of, wait_until
from faulted_run import Run, reporting

pytestmark = nightly

# Faults for a run of four ranks. Each function returns when the fault is over and was noticed.


def kill_a_worker(run):
    os.kill(run.pids("n1")[0], signal.SIGKILL)
    run.wait_for("attempt 2 begins")


def kill_an_agent(run):
    """Kills the agent; its node starts a new agent."""
    # From here on, reports of the node's workers stay in their sockets.
    run.agent.send(signal.SIGSTOP)
    run.wait_for_steps(40, "n1")
    run.agent.kill()
    run.job.start_again(1)
    run.wait_for("attempt 2 begins")


def kill_the_controller(run):
    """Kills the controller; its job is started again on the same nodes."""
    run.controller.kill()
    run.agent.kill()  # as the launcher does
    for number in (0, 1):
        run.job.start_again(number)
    run.wait_for("going on with the run 'faults'")


def cut_the_link_for_5_s(run):
    run.hosts[1].set_link("down")
    time.sleep(5)  # the link stays down
    run.hosts[1].set_link("up")


def cut_the_link_and_forget_the_node(run):
    """The run continues without the node; then the node comes back."""
    before = run.pids("n1")
    run.hosts[1].set_link("down")
    run.wait_for("attempt 2 begins")
    run.wait_for_steps(5, workers=2)
    assert not set(before) & set(processes_of(run.rtrain.storage)), "its agent ends the workers"
    run.hosts[1].set_link("up")
    run.wait_for("node n1 has joined", times=2)
    run.wait_for_steps(5, workers=4)


def stop_an_agent_for_a_moment(run):
    run.agent.send(signal.SIGSTOP)
    run.wait_for_steps(20, "n1")
    run.agent.send(signal.SIGCONT)


def stop_an_agent_for_long(run):
    before = run.pids("n1")
    run.agent.send(signal.SIGSTOP)
    run.wait_for("node n1 has not been heard of for 2 s (node_timeout_s)")
    run.agent.send(signal.SIGCONT)
    run.wait_for("attempt 2 begins")
    run.wait_for_steps(5)
    assert not set(before) & set(processes_of(run.rtrain.storage)), "the workers of the first attempt are gone"


SPOOLED = "of an earlier attempt on its disk: they are in the store now"
MISSING = "reports that the ranks of node n1 have made in the last moments may be missing"
# Fault → workers, node_timeout_s; then the attempts' statuses, the controller's messages, and the warnings in the
# store.
FAULTS = {
    kill_a_worker: ("4", 30, ["ERRORED", "FINISHED"], "was killed by signal 9", ""),
    kill_an_agent: ("4", 30, ["ERRORED", "FINISHED"], SPOOLED, MISSING),
    kill_the_controller: ("4", 30, ["LOST", "FINISHED"], "", ""),
    cut_the_link_for_5_s: ("4", 30, ["FINISHED"], "", ""),
    cut_the_link_and_forget_the_node: ("{2, 4}", 2, ["ERRORED", "FINISHED", "FINISHED"], SPOOLED, MISSING),
    stop_an_agent_for_a_moment: ("4", 30, ["FINISHED"], "", ""),
    stop_an_agent_for_long: ("4", 2, ["ERRORED", "FINISHED"], "was lost: node n1 has not been heard of", MISSING),
}


# fault: worker, agent or controller of several nodes killed
# fault: link of a node down, node stands still, node comes back
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_faults_and_their_ends(rtrain, job, hosts, fault):
    workers, node_timeout, statuses, said, warned = FAULTS[fault]
    text = reporting(workers, node_timeout, has_checkpoints=workers != "4")
    run = Run(rtrain, job, hosts, text, "--resume", "auto")
    run.wait_for_steps(5, workers=4)
    fault(run)
    run.wait_for_steps(5)
    run.let_go()
    for result in run.job.wait():
        assert result.returncode == 0, result.stderr
    assert rtrain.statuses("faults") == statuses
    assert said in run.stderr
    assert warned in run.warnings()
    run.assert_no_report_is_lost()


# fault: a node does not come back
def test_a_node_that_stays_away_ends_the_run_and_a_later_job_brings_its_reports(rtrain, job, hosts):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "3"
    text = reporting(node_timeout=2)
    run = Run(rtrain, job, hosts, text, "--resume", "auto")
    run.wait_for_steps(5, workers=4)
    hosts[1].set_link("down")
    first, second = run.job.wait()
    assert (first.returncode, second.returncode) == (4, 5), first.stderr + second.stderr
    assert "node 1 (n1) has not come" in first.stderr
    assert "the controller has not been heard of" in second.stderr
    assert rtrain.statuses("faults") == ["ERRORED"]
    assert MISSING in run.warnings()
    shown = rtrain("show", "faults").stdout
    assert "but for the last second if the node itself went down" in " ".join(shown.split())

    hosts[1].set_link("up")
    for number in (0, 1):
        run.job.start_again(number)
    run.wait_for_steps(5, workers=4)
    run.let_go()
    assert [result.returncode for result in run.job.wait()] == [0, 0]
    assert SPOOLED in run.stderr
    run.assert_no_report_is_lost()


# fault: the disk of one node is full
def test_a_full_disk_of_one_node_does_not_end_the_run(rtrain, job, hosts):
    disk = hosts[1].command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/srv/disk")
    assert os.spawnvp(os.P_WAIT, disk[0], disk) == 0
    text = reporting()
    run = Run(rtrain, job, hosts, text, runtimes={1: "/srv/disk/runtime"})
    run.wait_for_steps(5, workers=4)
    fill = hosts[1].command("sh", "-c", "cat /dev/zero > /srv/disk/full 2>/srv/disk/error; true")
    assert os.spawnvp(os.P_WAIT, fill[0], fill) == 0
    # Each rank still writes to a page of its file that exists already.
    wait_until(
        lambda: "reports do not outlive this node's agent for now" in run.stderr, message="a line about the disk"
    )
    run.wait_for_steps(20)
    run.let_go()
    for result in run.job.wait():
        assert result.returncode == 0, result.stderr
    assert "No space left on device" in run.stderr
    assert rtrain.statuses("faults") == ["FINISHED"]
    run.assert_no_report_is_lost()


# fault: clocks of nodes that differ by hours
def test_clocks_that_differ_by_hours(rtrain, job, hosts):
    hosts[1].clock_ahead_s = 36000
    text = reporting()
    run = Run(rtrain, job, hosts, text)
    run.wait_for_steps(5, workers=4)
    rtrain.env["RTRAIN_RUNTIME_DIR"] = run.job.runtimes[0]
    stacks = rtrain("stack", "faults")
    assert all(f"rank {rank} (pid" in stacks.stdout for rank in range(4)), stacks.stdout + stacks.stderr
    run.let_go()
    for result in run.job.wait():
        assert result.returncode == 0, result.stderr
    assert "not been heard of" not in run.stderr and "hang" not in run.stderr
    run.assert_no_report_is_lost()


# fault: host names that no name server knows
def test_nodes_need_no_names(rtrain, job, hosts):
    for number in (0, 1):
        found = hosts[number].command("getent", "hosts", hosts[1 - number].name)
        assert os.spawnvp(os.P_WAIT, found[0], found) == 2, "the names do not resolve"
    text = reporting()
    run = Run(rtrain, job, hosts, text)
    run.wait_for_steps(5, workers=4)
    run.let_go()
    assert [result.returncode for result in run.job.wait()] == [0, 0]
