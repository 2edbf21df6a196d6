"""Runs over two nodes: processes that are killed, nodes that are lost or do not come, disks and links that fail."""

import contextlib
import os
import signal
import sqlite3

from conftest import RTRAIN, processes_of, wait_until
from hosts import process_state
from launchers import Task
from node_scripts import WAITING, script, wait_for_reports, workers_of


def test_a_killed_worker_is_named_and_the_run_goes_on(rtrain, job):
    running = job("run", script(rtrain, WAITING, "max_failures = 1"))
    wait_for_reports(rtrain, running)
    victim = workers_of(rtrain)[3]["pid"]
    os.kill(victim, signal.SIGKILL)  # the nodes share this machine's process ids
    wait_until(lambda: "attempt 2 begins" in running.processes[0].stderr, message="the second attempt")
    (rtrain.folder / "go").touch()
    first, second = running.wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert f"rank 3 (pid {victim}) was killed by signal 9" in first.stderr
    assert rtrain.statuses("nodes") == ["ERRORED", "FINISHED"]


def test_an_agent_that_is_killed_takes_its_workers_along(rtrain, job):
    running = job("run", script(rtrain, WAITING, "node_timeout_s = 2"))
    wait_for_reports(rtrain, running)
    running.processes[1].kill()
    result = running.processes[0].wait()
    assert result.returncode == 5, result.stderr
    assert "node n1 has not been heard of for 2 s (node_timeout_s)" in result.stderr
    assert workers_of(rtrain)[3]["host"] == "n1"
    assert not processes_of(rtrain.storage)


# fault: a host that is cut off while its workers are killed
def test_a_host_that_cannot_kill_its_workers_is_said_to_be_cut_off(rtrain, job, hosts):
    """The disk of a worker's own node is not what keeps it."""
    body = WAITING.replace("step = step + 1", "step = step + 1 assert(not files.exists 'failing', 'enough')")
    running = job("run", script(rtrain, body, "node_timeout_s = 9"))
    wait_for_reports(rtrain, running)
    pids = {worker["rank"]: worker["pid"] for worker in workers_of(rtrain)}
    hosts[1].set_link("down")
    (rtrain.folder / "failing").touch()
    result = running.processes[0].wait()
    for rank in (2, 3):
        assert (
            f"rank {rank} (pid {pids[rank]}) has not ended 5 s after node n1 was to kill it: the node is lost or cut off, "
            "which is known after 9 s (FailureConfig.node_timeout_s), or the process waits in the kernel"
            in result.stderr
        )
    assert "has not ended 5 s after SIGKILL" not in result.stderr
    assert result.returncode == 1 and "enough" in result.stderr, result.stderr


def test_workers_end_without_a_word_of_their_agent(rtrain, job):
    running = job("run", script(rtrain, WAITING, "node_timeout_s = 2"))
    wait_for_reports(rtrain, running)
    pids = [worker["pid"] for worker in workers_of(rtrain)]
    running.processes[1].send(signal.SIGSTOP)
    for pid in pids[2:]:
        wait_until(lambda: process_state(pid) in (None, "Z"), message=f"the end of process {pid}")
    assert process_state(running.processes[1].pid) == "T", "what it has watched has ended by itself"
    running.processes[1].send(signal.SIGCONT)
    assert [result.returncode for result in running.wait()] == [5, 5]


def test_a_controller_that_is_killed_leaves_nothing(rtrain, job):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "3"
    running = job("run", script(rtrain, WAITING, "node_timeout_s = 2"))
    wait_for_reports(rtrain, running)
    running.processes[0].kill()
    result = running.processes[1].wait(30)
    assert result.returncode == 5
    assert "not been heard of for 2 s (node_timeout_s), nor for another 3 s (RTRAIN_JOIN_TIMEOUT_S)" in result.stderr
    wait_until(lambda: not processes_of(rtrain.storage), message="the end of all processes")


def test_a_link_that_is_down_for_a_moment_loses_nothing(rtrain, job, hosts):
    running = job("run", script(rtrain, WAITING, "node_timeout_s = 20"))
    wait_for_reports(rtrain, running, 3)
    hosts[1].set_link("down")
    before = len(rtrain.reports("nodes"))
    wait_until(lambda: len(rtrain.reports("nodes")) > before + 20, message="reports of rank 0 meanwhile")
    hosts[1].set_link("up")
    (rtrain.folder / "go").touch()
    first, second = running.wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    rows = rtrain.json("metrics", "nodes", "--ranks")
    steps = [row["ranks"][3]["step"] for row in rows if len(row["ranks"]) > 3 and row["ranks"][3]]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) > 3, "every report of rank 3, once"
    assert len(rtrain.statuses("nodes")) == 1


def test_a_store_on_a_network_file_system_has_no_wal(rtrain, job):
    rtrain.fail_calls("statfs:1+:nfs")
    running = job("run", script(rtrain, WAITING))
    wait_for_reports(rtrain, running, 3)
    assert not (rtrain.storage / "rtrain.db-wal").exists()
    with contextlib.closing(sqlite3.connect(rtrain.storage / "rtrain.db")) as db:
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
    (rtrain.folder / "go").touch()
    for result in running.wait():
        assert result.returncode == 0, result.stderr
    assert rtrain.json("show", "nodes")["status"] == "FINISHED"


def test_a_storage_that_nodes_do_not_share_is_refused(rtrain, job):
    path = script(rtrain, "train.report{step = 1}")
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "3"
    first, second = job("run", path, "--storage", "/srv/disk/results").wait()
    assert (first.returncode, second.returncode) == (4, 4), first.stderr
    assert "node n1 does not see /srv/disk/results/nodes of node n0" in first.stderr


def test_a_disk_that_is_full_for_a_moment_does_not_keep_nodes_out(rtrain, job):
    rtrain.fail_calls("write:1:ENOSPC:path=/.hosts-:controller")
    for result in job("run", script(rtrain, "train.report{step = 1}")).wait():
        assert result.returncode == 0, result.stderr


def test_a_full_disk_is_named_and_not_the_node_that_sees_nothing(rtrain, job):
    rtrain.fail_calls("write:1+:ENOSPC:path=/.hosts-:controller", RTRAIN_JOIN_TIMEOUT_S="3")
    first, _ = job("run", script(rtrain, "train.report{step = 1}")).wait()
    assert first.returncode == 4, first.stderr
    assert "node n1 cannot be asked whether it sees" in first.stderr and "No space left on device" in first.stderr
    assert not list((rtrain.storage / "nodes").glob(".hosts-*"))


def test_a_run_goes_on_without_a_file_for_commands_of_other_nodes(rtrain, job):
    rtrain.fail_calls("open:1+:ENOSPC:path=/.controller:controller")
    first, second = job("run", script(rtrain, "train.report{step = 1}")).wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "do not reach this run from other nodes: cannot write" in first.stderr


def test_a_path_of_the_rendezvous_that_cannot_be_is_an_error(rtrain, job):
    path = f"/tmp/{'a' * 300}/job"
    first, second = job("run", script(rtrain, "train.report{step = 1}"), env={"RTRAIN_RENDEZVOUS": path}).wait()
    assert first.returncode == 4 and "cannot make the folder" in first.stderr, first.stderr
    assert second.returncode == 6 and "cannot be read: File name too long" in second.stderr, second.stderr


def test_an_agent_outlives_the_reader_of_its_messages(rtrain, job):
    rtrain.fail_calls("fdatasync:1+:EIO:path=/spool/")  # the agent writes a line about each failure
    running = job("run", script(rtrain, WAITING), nodes=[0])
    agent = rtrain.folder / "agent"
    agent.write_text(f"#!/bin/bash\nexec {RTRAIN} agent 2> >(exec true)\n")
    agent.chmod(0o755)
    running.processes.append(running.start(Task(1, 0, running.counts), program=agent))
    wait_for_reports(rtrain, running, 60)
    (rtrain.folder / "go").touch()
    first, second = running.wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert "reports are not safe from a crash of this node" in first.stderr


def test_an_agent_whose_spool_cannot_be_read_serves_the_next_controller(rtrain, job):
    rtrain.fail_calls("open:1+:EIO:path=/spool/:controller")  # for the controller and the agent only
    faults = {name: rtrain.env.pop(name) for name in ("LD_PRELOAD", "RTRAIN_FAULTIO")}
    body = f"local large = torch.ones(100000000)\n{WAITING}"  # freeing this memory delays the end of the process
    running = job("run", script(rtrain, body), "--resume", "auto", env_of={1: faults})
    wait_for_reports(rtrain, running, 3)
    running.processes[0].kill()
    running.start_again(0)  # the workers of n1 are still ending when the new controller asks
    wait_until(lambda: len(rtrain.statuses("nodes")) == 2, message="the second attempt")
    (rtrain.folder / "go").touch()
    first, second = running.wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "node n1 cannot read its spool of reports: cannot open" in first.stderr, first.stderr


def test_variables_that_are_too_large_for_a_message_are_named(rtrain, job):
    path = script(rtrain, "train.report{step = 1}")
    env = "worker_runtime_env = {env_vars = large}"
    path.write_text(
        "local large = {} for i = 1, 12 do large['LARGE' .. i] = ('x'):rep(100000) end\n"
        + path.read_text().replace("name = 'nodes'", f"name = 'nodes', {env}")
    )
    for result in job("run", path).wait():
        assert result.returncode == 3, result.stderr
    assert (
        "worker_runtime_env: its variables are too large for workers on other nodes" in rtrain("show", "nodes").stdout
    )


def test_a_node_that_does_not_come_is_named(rtrain, job):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "1"
    result = job("run", script(rtrain, "train.report{step = 1}"), nodes=[0]).wait(30)[0]
    assert result.returncode == 4, result.stderr
    assert "after 1 s (RTRAIN_JOIN_TIMEOUT_S): node 1 (n1) has not come" in result.stderr


def test_a_node_whose_controller_does_not_come_says_where_it_looked(rtrain, job):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "1"
    running = job("run", script(rtrain, "train.report{step = 1}"), nodes=[1])
    result = running.wait(30)[0]
    assert result.returncode == 6, result.stderr
    assert f"on node n1 the file {running.rendezvous} is not there" in result.stderr


def test_an_elastic_run_goes_on_without_a_node(rtrain, job):
    path = script(rtrain, WAITING, "node_timeout_s = 2, max_failures = 1")
    path.write_text(path.read_text().replace("num_workers = 4", "num_workers = {2, 4}"))
    running = job("run", path, env={"SLURM_CPUS_ON_NODE": "2"})
    wait_for_reports(rtrain, running)
    running.processes[1].kill()
    wait_until(lambda: "attempt 2 begins" in running.processes[0].stderr, message="the second attempt")
    (rtrain.folder / "go").touch()
    result = running.processes[0].wait()
    assert result.returncode == 0, result.stderr
    assert [worker["host"] for worker in workers_of(rtrain)] == ["n0", "n0"]


def test_an_elastic_run_takes_a_returning_node_in(rtrain, job):
    body = WAITING.replace("not files.exists 'go'", "not (files.exists 'go' or train.stop_requested())")
    path = script(rtrain, body, "node_timeout_s = 2, max_failures = 1")
    path.write_text(
        path.read_text().replace("num_workers = 4", "num_workers = {2, 4}, elastic_resize_monitor_interval_s = 1")
    )
    running = job("run", path, env={"SLURM_CPUS_ON_NODE": "2"})
    wait_for_reports(rtrain, running)
    running.processes[1].kill()
    wait_until(lambda: "attempt 2 begins" in running.processes[0].stderr, message="the second attempt")
    running.start_again(1)
    wait_until(lambda: len(rtrain.statuses("nodes")) == 3, message="the third attempt")
    (rtrain.folder / "go").touch()
    first, second = running.wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert [worker["host"] for worker in workers_of(rtrain)] == ["n0", "n0", "n1", "n1"]
