"""One run over two nodes: the places of its ranks, their computations, and the end of the run on both nodes."""

import contextlib
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess

import pytest

from conftest import RTRAIN, processes_of, wait_until
from fake_driver import simulate_driver, use_libtorch
from hosts import process_state
from launchers import Task

TRAIN = """
local files, train = require 'files', require 'rtrain'
local trainer = train.TorchTrainer{
  train_loop_per_worker = function()
    local torch = require 'torch'
    local context = train.get_context()
    BODY
  end,
  scaling_config = train.ScalingConfig{num_workers = 4}, TORCH
  run_config = train.RunConfig{name = 'nodes', failure_config = train.FailureConfig{FAILURES}},
}
trainer:fit()
"""
# The parameters after some steps, as bit patterns.
TRAINING = """
    torch.manual_seed(0)
    local nn = torch.nn
    local model = train.torch.prepare_model(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)))
    local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01})
    torch.manual_seed(context:get_world_rank())
    for step = 1, 20 do
      local x = torch.randn(32, 8)
      local loss = ((model(x) - x:sum(1, true)):pow(2)):mean()
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
    end
    local bits = {}
    for _, parameter in ipairs(model:parameters()) do
      bits[#bits + 1] = ('%.0f'):format(parameter:detach():view(-1):view(torch.int32):to(torch.float64):sum():item())
    end
    train.report{parameters = table.concat(bits, ' ')}
"""
# Shared memory, the default on one node, adds in another order.
GLOO = "torch_config = train.TorchConfig{backend = 'gloo'},"
# Makes steps until the file `go` exists.
WAITING = """
    local step = 0
    while not files.exists 'go' do
      step = step + 1
      train.report{step = step}
      os.execute('sleep 0.05')
    end
"""


def script(rtrain, body, failures="", torch=""):
    return rtrain.script(TRAIN.replace("BODY", body).replace("FAILURES", failures).replace("TORCH", torch))


def run_on(host, rtrain, *args):
    """Runs rtrain on the node, with another runtime folder than the controller's."""
    return subprocess.run(
        host.command(RTRAIN, *args, folder=rtrain.folder),
        env=rtrain.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def workers_of(rtrain, attempt=-1):
    return rtrain.json("show", "nodes")["attempts"][attempt]["workers"]


def wait_for_reports(rtrain, job, count=1, ranks=4):
    """Waits until all ranks have made at least `count` reports."""

    def has_reports():
        assert job.processes[0].running, job.processes[0].stderr
        found = rtrain("metrics", "nodes", "--ranks", "--json")
        rows = json.loads(found.stdout) if found.returncode == 0 else []
        return sum(len(row["ranks"]) == ranks and all(row["ranks"]) for row in rows) >= count

    wait_until(has_reports, message=f"{count} reports")


def test_ranks_are_dense_by_host(rtrain, job):
    body = """
    local sum = torch.full({2}, context:get_world_rank() + 1)
    torch.distributed.all_reduce(sum)
    print(('rank %d of %d: %d of %d on node %d, %d'):format(context:get_world_rank(), context:get_world_size(),
      context:get_local_rank(), context:get_local_world_size(), context:get_node_rank(), sum:sum():item()))
    train.report{sum = sum:sum():item()}
"""
    first, second = job("run", script(rtrain, body)).wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    lines = sorted(line.split("] ")[1] for line in first.stdout.splitlines())
    assert lines == [f"rank {rank} of 4: {rank % 2} of 2 on node {rank // 2}, 20" for rank in range(4)]
    assert [worker["host"] for worker in workers_of(rtrain)] == ["n0", "n0", "n1", "n1"]
    assert second.stdout == "", "what its workers print is shown once, by node 0"


def test_processes_and_hosts_are_series_under_their_own_ranks(rtrain, job):
    rtrain.env["RTRAIN_HOST_SAMPLE_S"] = "0.1"
    running = job("run", script(rtrain, WAITING))

    def ranks_of(key):
        found = rtrain("metrics", "nodes", "--series", key, "--json")
        return {row["rank"] for row in json.loads(found.stdout)} if found.returncode == 0 else set()

    wait_until(lambda: ranks_of("process/cpu_percent") == {0, 1, 2, 3}, message="samples of every rank's process")
    wait_until(
        lambda: ranks_of("host/cpu_percent") == {0, 2}, message="samples of both hosts, each under its first rank"
    )
    (rtrain.folder / "go").touch()
    assert [result.returncode for result in running.wait()] == [0, 0]


def test_the_parameters_are_those_of_one_machine(rtrain, job):
    path = script(rtrain, TRAINING, torch=GLOO)
    for result in job("run", path, "--name", "two").wait():
        assert result.returncode == 0, result.stderr
    assert rtrain("run", path, "--name", "one", "--oversubscribe").returncode == 0
    assert rtrain.reports("two") == rtrain.reports("one")


@pytest.mark.parametrize("torch, is_shared", [("", "yes"), (GLOO, "no")])
def test_ranks_of_a_host_share_memory_and_all_ranks_have_the_same_bits(rtrain, job, torch, is_shared):
    body = TRAINING.replace(
        "train.report{",
        """
        local maps = io.open('/proc/self/maps'):read('*a')
        train.report{shared = maps:find('memfd:rtrain-group', 1, true) and 'yes' or 'no', """,
    )
    for result in job("run", script(rtrain, body, torch=torch)).wait():
        assert result.returncode == 0, result.stderr
    ranks = rtrain.json("metrics", "nodes", "--ranks")[0]["ranks"]
    assert len(ranks) == 4 and all(rank == ranks[0] for rank in ranks)
    assert ranks[0]["shared"] == is_shared


BACKEND = """
local train = require 'rtrain'
local Mine = train.Backend:extend 'Mine'
function Mine:on_start(group)
  local hosts = group:execute(function() return io.popen('hostname'):read() end)
  group:execute(function(text) _G.HOSTS = text end, table.concat(hosts, ' '))
end
function Mine:on_shutdown(group)
  print('at the end: ' .. table.concat(group:execute(function() return train.get_context():get_node_rank() end), ' '))
end
local Config = train.BackendConfig:extend 'Config'
function Config:backend_cls() return Mine end
train.DataParallelTrainer({
  train_loop_per_worker = function() train.report{hosts = HOSTS} end,
  backend_config = Config(),
  scaling_config = train.ScalingConfig{num_workers = 4},
  run_config = train.RunConfig{name = 'nodes'},
}):fit()
"""


def test_a_backend_has_its_functions_executed_on_all_hosts(rtrain, job):
    first, second = job("run", rtrain.script(BACKEND)).wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "at the end: 0 0 1 1" in first.stdout
    assert [rank["hosts"] for rank in rtrain.json("metrics", "nodes", "--ranks")[0]["ranks"]] == ["n0 n0 n1 n1"] * 4


def test_a_hook_of_gradients_over_two_hosts(rtrain, job):
    body = TRAINING.replace(
        "local optimizer",
        """
    local hooks = torch.distributed.algorithms.ddp_comm_hooks
    model:register_comm_hook(hooks.powerSGD_hook.PowerSGDState(nil, {start_powerSGD_iter = 2, min_compression_rate = 1}),
      hooks.powerSGD_hook.powerSGD_hook)
    local optimizer""",
    )
    for result in job("run", script(rtrain, body)).wait():
        assert result.returncode == 0, result.stderr
    ranks = rtrain.json("metrics", "nodes", "--ranks")[0]["ranks"]
    assert len(ranks) == 4 and all(rank == ranks[0] for rank in ranks)


def test_what_a_process_of_the_job_starts_trains_on_its_host_alone(rtrain, job):
    inner = """
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function() train.report{world_size = train.get_context():get_world_size()} end,
  scaling_config = train.ScalingConfig{num_workers = 1},
  run_config = train.RunConfig{name = arg[1]},
}:fit()
"""
    command = f"os.execute('{RTRAIN} run {rtrain.script(inner, 'inner.lua')} --oversubscribe -- ' .. NAME)"
    body = f"{command.replace('NAME', 'context:get_world_rank()')} train.report{{step = 1}}"
    path = script(rtrain, body)
    path.write_text(command.replace("NAME", "'script'") + path.read_text())
    first, second = job("run", path).wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    for name in ("script", "0", "1", "2", "3"):
        assert rtrain.reports(name)[0]["world_size"] == 1, first.stdout + first.stderr
    assert rtrain.json("show", "nodes")["status"] == "FINISHED"


@pytest.mark.parametrize(
    "strategy, workers, hosts_of_ranks",
    [
        ("SPREAD", 3, ["n0", "n0", "n1"]),
        ("PACK", 3, ["n0", "n0", "n1"]),
        ("PACK", 2, ["n0", "n0"]),
        ("STRICT_PACK", 2, ["n0", "n0"]),
        ("STRICT_SPREAD", 2, ["n0", "n1"]),
    ],
)
def test_placement(rtrain, job, strategy, workers, hosts_of_ranks):
    path = script(rtrain, "train.report{step = 1}")
    path.write_text(
        path.read_text().replace("num_workers = 4", f"num_workers = {workers}, placement_strategy = '{strategy}'")
    )
    for result in job("run", path, env={"SLURM_CPUS_ON_NODE": "2"}).wait():
        assert result.returncode == 0, result.stderr
    assert [worker["host"] for worker in workers_of(rtrain)] == hosts_of_ranks


def test_a_placement_that_the_hosts_cannot_have_is_refused(rtrain, job):
    path = script(rtrain, "train.report{step = 1}")
    path.write_text(
        path.read_text().replace("num_workers = 4", "num_workers = 3, placement_strategy = 'STRICT_SPREAD'")
    )
    first, second = job("run", path).wait()
    assert (first.returncode, second.returncode) == (4, 4), first.stderr
    assert "placement_strategy = 'STRICT_SPREAD': 3 workers need as many hosts; there are 2" in first.stderr
    alone = rtrain("run", path)
    assert alone.returncode == 4 and "3 workers need as many hosts; there is 1" in alone.stderr


def test_auto_is_as_many_as_fit_the_hosts(rtrain, job):
    path = script(rtrain, "train.report{step = 1}")
    path.write_text(path.read_text().replace("num_workers = 4", "num_workers = 'auto'"))
    for result in job("run", path, env_of={0: {"SLURM_CPUS_ON_NODE": "2"}, 1: {"SLURM_CPUS_ON_NODE": "1"}}).wait():
        assert result.returncode == 0, result.stderr
    assert [worker["host"] for worker in workers_of(rtrain)] == ["n0", "n0", "n1"]


# The context that each worker sees.
DEVICES = "train.report{devices = table.concat(train.torch.get_devices(), ' '), device = train.torch.get_device()}"


def devices_of(rtrain):
    return [(worker["host"], worker["device"]) for worker in workers_of(rtrain)]


@pytest.fixture
def gpus(rtrain):
    """Simulates two GPUs on each node, of two types; see tests/fake_nvidia."""
    simulate_driver(rtrain, 2)
    use_libtorch(rtrain, "is not loaded")
    return {0: {"FAKE_CUDA_NAME": "NVIDIA A100-SXM4-80GB"}, 1: {}}


def test_devices_of_all_hosts(rtrain, job, gpus):
    path = script(rtrain, DEVICES)
    path.write_text(path.read_text().replace("num_workers = 4", "num_workers = 'auto', use_gpu = true"))
    for result in job("run", path, env_of=gpus).wait():
        assert result.returncode == 0, result.stderr
    assert devices_of(rtrain) == [(host, device) for host in ("n0", "n1") for device in ("cuda:0", "cuda:1")]


def test_devices_have_to_be_of_the_type(rtrain, job, gpus):
    path = script(rtrain, DEVICES)
    text = path.read_text()
    path.write_text(text.replace("num_workers = 4", "num_workers = 2, use_gpu = true, accelerator_type = 'H100'"))
    for result in job("run", path, env_of=gpus).wait():
        assert result.returncode == 0, result.stderr
    assert devices_of(rtrain) == [("n1", "cuda:0"), ("n1", "cuda:1")]
    path.write_text(text.replace("num_workers = 4", "num_workers = 3, use_gpu = true, accelerator_type = 'H100'"))
    refused = job("run", path, "--name", "refused", env_of=gpus).wait()[0]
    assert refused.returncode == 4
    assert "3 workers do not fit on the job's hosts; their cores or devices are for n0: 0, n1: 2" in refused.stderr
    assert (
        "accelerator_type = 'H100', and their devices are n0: NVIDIA A100-SXM4-80GB, n1: NVIDIA H100" in refused.stderr
    )


def test_a_script_that_fails_before_fit_ends_every_host(rtrain, job):
    first, second = job("run", rtrain.script("error('before fit')")).wait(30)
    assert (first.returncode, second.returncode) == (1, 1), second.stderr
    assert "before fit" in first.stderr


def test_every_host_ends_with_the_code_of_the_script(rtrain, job):
    assert [result.returncode for result in job("run", rtrain.script("os.exit(7)")).wait(30)] == [7, 7]


def test_an_error_of_a_rank_elsewhere_shows_the_users_line(rtrain, job):
    first, second = job("run", script(rtrain, "if context:get_world_rank() == 3 then error('no luck') end")).wait()
    assert (first.returncode, second.returncode) == (1, 1)
    assert "rank 3 raised an error" in first.stderr and "no luck" in first.stderr and "train.lua" in first.stderr


def test_two_runs_of_one_script(rtrain, job):
    path = script(rtrain, "train.report{rank = context:get_world_rank()}")
    path.write_text(path.read_text() + "trainer.run_config = train.RunConfig{name = 'again'}\ntrainer:fit()\n")
    for result in job("run", path).wait():
        assert result.returncode == 0, result.stderr
    assert [worker["host"] for worker in rtrain.json("show", "again")["attempts"][0]["workers"]] == [
        "n0",
        "n0",
        "n1",
        "n1",
    ]


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
    assert "host n1 has not been heard of for 2 s (node_timeout_s)" in result.stderr
    assert workers_of(rtrain)[3]["host"] == "n1"
    assert not processes_of(rtrain.storage)


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


def test_a_storage_that_hosts_do_not_share_is_refused(rtrain, job):
    path = script(rtrain, "train.report{step = 1}")
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "3"
    first, second = job("run", path, "--storage", "/srv/disk/results").wait()
    assert (first.returncode, second.returncode) == (4, 4), first.stderr
    assert "host n1 does not see /srv/disk/results/nodes of host n0" in first.stderr


def test_a_disk_that_is_full_for_a_moment_does_not_keep_hosts_out(rtrain, job):
    rtrain.fail_calls("write:1:ENOSPC:path=/.hosts-:controller")
    for result in job("run", script(rtrain, "train.report{step = 1}")).wait():
        assert result.returncode == 0, result.stderr


def test_a_full_disk_is_named_and_not_the_host_that_sees_nothing(rtrain, job):
    rtrain.fail_calls("write:1+:ENOSPC:path=/.hosts-:controller", RTRAIN_JOIN_TIMEOUT_S="3")
    first, _ = job("run", script(rtrain, "train.report{step = 1}")).wait()
    assert first.returncode == 4, first.stderr
    assert "host n1 cannot be asked whether it sees" in first.stderr and "No space left on device" in first.stderr
    assert not list((rtrain.storage / "nodes").glob(".hosts-*"))


def test_a_run_goes_on_without_a_file_for_commands_of_other_hosts(rtrain, job):
    rtrain.fail_calls("open:1+:ENOSPC:path=/.controller:controller")
    first, second = job("run", script(rtrain, "train.report{step = 1}")).wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "do not reach this run from other hosts: cannot write" in first.stderr


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
    assert "reports are not safe from a crash of this host" in first.stderr


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
    assert "host n1 cannot read its spool of reports: cannot open" in first.stderr, first.stderr


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
        "worker_runtime_env: its variables are too large for workers on other hosts" in rtrain("show", "nodes").stdout
    )


def test_a_host_that_does_not_come_is_named(rtrain, job):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "1"
    result = job("run", script(rtrain, "train.report{step = 1}"), nodes=[0]).wait(30)[0]
    assert result.returncode == 4, result.stderr
    assert "after 1 s (RTRAIN_JOIN_TIMEOUT_S): node 1 (n1) has not come" in result.stderr


def test_a_host_whose_controller_does_not_come_says_where_it_looked(rtrain, job):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "1"
    running = job("run", script(rtrain, "train.report{step = 1}"), nodes=[1])
    result = running.wait(30)[0]
    assert result.returncode == 6, result.stderr
    assert f"on host n1 the file {running.rendezvous} is not there" in result.stderr


def test_an_elastic_run_goes_on_without_a_host(rtrain, job):
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


def test_an_elastic_run_takes_a_returning_host_in(rtrain, job):
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


def test_a_host_with_another_libtorch_is_refused(rtrain, job, tmp_path):
    installed = pathlib.Path(rtrain.json("env")["libtorch"]["path"])
    other = tmp_path / "torch"
    (other / "lib").mkdir(parents=True)
    (other / "lib" / "libtorch_cpu.so").symlink_to(installed / "libtorch_cpu.so")
    minor = rtrain.json("env")["libtorch"]["engine"]
    (other / "version.py").write_text(f"__version__ = '{minor}.9+cpu'\ngit_version = '0123456789abcdef'\n")
    env = {"RTRAIN_LIBTORCH": str(other)}
    first, second = job("run", script(rtrain, "train.report{step = 1}"), env_of={1: env}).wait()
    assert (first.returncode, second.returncode) == (4, 4), first.stderr
    assert f"host n1 has LibTorch {minor}.9+cpu, commit 0123456, and host n0 has {minor}." in first.stderr


def test_a_slow_host_is_named(rtrain, job):
    body = """
    for step = 1, 150 do
      os.execute(context:get_node_rank() == 1 and 'sleep 0.08' or 'sleep 0.02')
      torch.distributed.all_reduce(torch.ones({1}))
    end
    train.report{step = 150}
"""
    path = script(rtrain, body)
    path.write_text(path.read_text().replace("num_workers = 4", "num_workers = 2"))
    for result in job("run", path).wait():
        assert result.returncode == 0, result.stderr
    shown = rtrain("show", "nodes").stdout
    assert shown.count("rank 1 on host n1 holds the others up") == 1 and "rank 0 on" not in shown, shown


def test_stacks_of_all_hosts(rtrain, job, hosts):
    running = job("run", script(rtrain, WAITING))
    wait_for_reports(rtrain, running)
    runtime = rtrain.temporary[0]
    rtrain.env["RTRAIN_RUNTIME_DIR"] = runtime
    result = rtrain("stack", "nodes")
    (rtrain.folder / "go").touch()
    assert [each.returncode for each in running.wait()] == [0, 0]
    assert all(f"rank {rank} (pid" in result.stdout for rank in range(4)), result.stdout + result.stderr


def test_commands_from_another_host(rtrain, job, hosts):
    running = job(
        "run",
        script(rtrain, "torch.ones({1})" + WAITING.replace("not files.exists 'go'", "not train.stop_requested()")),
    )
    wait_for_reports(rtrain, running)
    contact = rtrain.storage / "nodes" / ".controller"
    assert contact.stat().st_mode & 0o777 == 0o600
    stacks = run_on(hosts[1], rtrain, "stack", "nodes")
    assert all(f"rank {rank} (pid" in stacks.stdout for rank in range(4)), stacks.stdout + stacks.stderr
    profile = run_on(hosts[1], rtrain, "profile", "nodes", "--rank", "3", "--seconds", "0.5")
    assert profile.returncode == 0 and "rank3.json" in profile.stdout, profile.stdout + profile.stderr
    stopped = run_on(hosts[1], rtrain, "stop", "nodes")
    assert (stopped.returncode, stopped.stdout) == (0, "run nodes ABORTED\n"), stopped.stderr
    assert [result.returncode for result in running.wait()] == [130, 130]
    assert not contact.exists()
    assert "is over" in run_on(hosts[1], rtrain, "stop", "nodes").stderr


def test_a_command_with_another_secret_is_refused(rtrain, job, hosts):
    running = job("run", script(rtrain, WAITING))
    wait_for_reports(rtrain, running)
    contact = rtrain.storage / "nodes" / ".controller"
    lines = contact.read_text()
    secret = max(re.findall("[0-9a-f]{64}", lines), key=len)
    contact.write_text(lines.replace(secret, "0" * len(secret)))
    refused = run_on(hosts[1], rtrain, "stop", "nodes")
    assert refused.returncode == 4 and "secret" in refused.stderr, refused.stderr
    (rtrain.folder / "go").touch()
    assert [result.returncode for result in running.wait()] == [0, 0]


@pytest.mark.parametrize("whom", [0, 1], ids=["the controller", "an agent"])
def test_a_signal_ends_the_run_in_order(rtrain, job, whom):
    body = "repeat train.report{step = 1} os.execute('sleep 0.05') until train.stop_requested()"
    running = job("run", script(rtrain, body))
    wait_for_reports(rtrain, running)
    running.processes[whom].send(signal.SIGTERM)
    first, second = running.wait()
    assert (first.returncode, second.returncode) == (143, 143), first.stderr + second.stderr
    assert rtrain.json("show", "nodes")["status"] == "ABORTED"


# fault: a rank of another host stays away from a collective
def test_the_time_out_of_a_collective_names_who_is_absent_on_another_host(rtrain, job):
    body = """
    local mine = torch.ones(4)
    torch.distributed.all_reduce(mine)
    if context:get_world_rank() == 1 then
      while not files.exists 'go' do os.execute 'sleep 0.05' end
    end
    torch.distributed.all_reduce(mine)
"""
    path = script(rtrain, body, torch="torch_config = train.TorchConfig{timeout_s = 3},")
    path.write_text(path.read_text().replace("num_workers = 4", "num_workers = 2"))
    result, other = job("run", path).wait()
    (rtrain.folder / "go").touch()
    assert (result.returncode, other.returncode) == (6, 6), result.stderr
    text = " ".join(result.stderr.split())
    assert re.search(
        r"rank 1 on host n1 has not come to collective \d+, its last one is collective \d+, all_reduce", text
    ), text
