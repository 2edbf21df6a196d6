"""Nodes are checked before they are used and watched while they are used; bad nodes are excluded."""

import shutil
import subprocess
import sys

import pytest

from conftest import RTRAIN, nightly, wait_until
from fake_driver import simulate_driver, use_libtorch
from launchers import Task
from test_port import STRANGER, listening

pytestmark = nightly

# All ranks make steps together until the file `go` exists.
TRAIN = """
local files, train = require 'files', require 'rtrain'
local trainer = train.TorchTrainer{
  train_loop_per_worker = function()
    local torch = require 'torch'
    local context = train.get_context()
    BODY
  end,
  scaling_config = train.ScalingConfig{num_workers = WORKERS},
  run_config = train.RunConfig{name = 'health', HEALTH
    failure_config = train.FailureConfig{node_timeout_s = 20, straggler = 'POLICY'}},
}
trainer:fit()
"""
STEPS = """
    local go = torch.zeros(1)
    local step = 0
    while go:item() == 0 do
      step = step + 1
      if context:get_world_rank() == 0 and files.exists 'go' then go:fill_(1) end
      torch.distributed.all_reduce(go)
      train.report{step = step}
      os.execute 'sleep 0.02'
    end
"""
# The first process that is the last rank takes longer for its forward.
SLOW = """
    local go = torch.zeros(1)
    local x = torch.ones(4):requires_grad_()
    local is_last = context:get_world_rank() == context:get_world_size() - 1
    local is_slow = is_last and files.once 'slow'
    local step = 0
    while go:item() == 0 do
      step = step + 1
      if context:get_world_rank() == 0 and files.exists 'go' then go:fill_(1) end
      local y = x:sum()
      os.execute(is_slow and 'sleep 0.2' or 'sleep 0.02')
      y:backward()
      torch.distributed.all_reduce(go)
      train.report{step = step}
    end
"""
# The worker of the last rank reports about its node, once.
SAYS = """
    if context:get_world_rank() == context:get_world_size() - 1 and not files.exists 'said' then
      io.open('said', 'w'):close()
      train.health.report('its sums are wrong', {is_conclusive = true})
    end
"""


@pytest.fixture
def hosts(three_hosts):
    return three_hosts


@pytest.fixture
def losses():
    """Skips the test without nft, which drops the packets: this machine's kernel may lack netem."""
    if shutil.which("nft") is None:
        pytest.skip("nft is not here: apt-get install nftables")


def start(rtrain, job, body=STEPS, workers="3", health="", policy="warn", **options):
    text = TRAIN.replace("BODY", body).replace("WORKERS", workers).replace("HEALTH", health).replace("POLICY", policy)
    return job("run", rtrain.script(text), nodes=(0, 1, 2), counts=(1, 1, 1), **options)


def wait_for(process, text):
    def is_said():
        assert process.running or text in process.stderr, process.stderr
        return text in process.stderr

    wait_until(is_said, 60, text)


def wait_for_step(rtrain, attempt):
    wait_until(
        lambda: rtrain.query("SELECT 1 FROM reports WHERE attempt = ?", attempt), 60, f"a step of attempt {attempt}"
    )


def finish(rtrain, running, ignore=()):
    (rtrain.folder / "go").touch()
    for number, process in enumerate(running.processes):
        if number not in ignore:
            assert process.wait(60).returncode == 0, process.stderr
    return rtrain.json("show", "health")


def nodes_of(run, attempt):
    return {worker["host"] for worker in run["attempts"][attempt - 1]["workers"]}


def evicted(run):
    return {node["host"]: node["reason"] for node in run["nodes"] if node["evicted_at"]}


def test_every_node_is_checked_before_it_is_used(rtrain, job):
    running = start(rtrain, job)
    wait_for_step(rtrain, 1)
    run = finish(rtrain, running)
    assert [(node["node"], node["host"], node["address"]) for node in run["nodes"]] == [
        (number, f"n{number}", f"10.77.0.{10 + number}") for number in range(3)
    ]
    for node in run["nodes"]:
        checks = {(check["check"], check["peer"]) for check in node["checks"]}
        assert checks == {("storage", None), *(("link", f"n{other}") for other in range(3) if other != node["node"])}
        assert all(check["problem"] is None and check["seconds"] < 2 for check in node["checks"])
    assert evicted(run) == {}
    shown = rtrain("show", "health").stdout
    assert "  1  n1 10.77.0.11  storage " in shown and "link n2 " in shown


# fault: the storage of one node refuses to write
def test_a_node_whose_storage_does_not_write_is_not_used(rtrain, job, hosts):
    rtrain.storage.mkdir(exist_ok=True)
    for command in (["--bind", rtrain.storage], ["-o", "remount,ro,bind"]):
        subprocess.run(hosts[1].command("mount", *command, rtrain.storage), check=True)
    running = start(rtrain, job)
    wait_for_step(rtrain, 1)
    run = finish(rtrain, running)
    assert list(evicted(run)) == ["n1"]
    assert "Read-only file system" in evicted(run)["n1"]
    assert rtrain.statuses("health") == ["FINISHED"] and nodes_of(run, 1) == {"n0", "n2"}
    assert "the run did without these nodes, which should be looked at: n1 (storage: " in running.processes[0].stderr
    assert "evicted" in rtrain("show", "health").stdout


# fault: a link that drops packets, and then all of them
def test_a_node_whose_link_drops_packets_is_evicted(rtrain, job, hosts, losses):
    running = start(rtrain, job)
    wait_for_step(rtrain, 1)
    hosts[2].drop(30)
    wait_for(running.processes[0], "it is evicted")
    wait_for_step(rtrain, 2)
    hosts[2].drop(100)
    run = finish(rtrain, running, ignore=[2])
    assert list(evicted(run)) == ["n2"] and "drops packets: " in evicted(run)["n2"]
    assert rtrain.statuses("health") == ["ERRORED", "FINISHED"] and nodes_of(run, 2) == {"n0", "n1"}


# fault: a node whose rank slows the others down
def test_a_node_that_slows_the_others_down_is_evicted(rtrain, job):
    running = start(rtrain, job, body=SLOW, policy="evict")
    wait_for(running.processes[0], "it is evicted")
    run = finish(rtrain, running)
    assert list(evicted(run)) == ["n2"] and evicted(run)["n2"].startswith("straggler: rank 2 computes "), evicted(run)
    assert rtrain.statuses("health") == ["ERRORED", "FINISHED"] and nodes_of(run, 2) == {"n0", "n1"}
    assert "rank 2 on node n2 computes " in running.processes[0].stderr


# fault: two nodes that do not reach each other any more
def test_of_two_nodes_that_do_not_reach_each_other_one_is_evicted(rtrain, job, hosts, losses):
    running = start(rtrain, job)
    wait_for_step(rtrain, 1)
    hosts[1].drop(100, hosts[2])
    wait_for(running.processes[0], "it is evicted")
    wait_for_step(rtrain, 2)
    run = finish(rtrain, running)
    assert list(evicted(run)) == ["n2"] and "the link to node n1 lets nothing through" in evicted(run)["n2"]
    assert rtrain.statuses("health") == ["ERRORED", "FINISHED"] and nodes_of(run, 2) == {"n0", "n1"}


# fault: a stranger with more connections than a node has descriptors
def test_a_strangers_connections_end_no_agent_and_evict_nobody(rtrain, job, hosts):
    agent = rtrain.folder / "agent"
    agent.write_text(f'#!/bin/bash\nulimit -Sn 128\nexec {RTRAIN} "$@"\n')
    agent.chmod(0o755)
    running = start(rtrain, job, without=[1])
    running.processes.insert(1, running.start(Task(1, 0, running.counts), program=agent))
    wait_for_step(rtrain, 1)
    pid = running.processes[1].pid
    (port,) = (port for _, port, pids in listening(hosts[1]) if pid in pids)
    crowd = subprocess.Popen(
        hosts.switch.command(sys.executable, STRANGER, "crowd", hosts[1].address, port, 400, folder=rtrain.folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert crowd.stdout.readline() == "400\n"
        before = len(rtrain.reports("health"))
        wait_until(lambda: len(rtrain.reports("health")) > before + 100, message="steps of all ranks meanwhile")
        assert crowd.poll() is None
        run = finish(rtrain, running)
    finally:
        crowd.kill()
        crowd.wait()
    assert evicted(run) == {} and rtrain.statuses("health") == ["FINISHED"]
    assert not rtrain.query("SELECT text FROM events WHERE text LIKE 'health: %'")


# fault: an endless loop in the script
def test_an_endless_loop_evicts_nobody(rtrain, job):
    rtrain.env.update(RTRAIN_HANG_THRESHOLD_S="1", RTRAIN_BUSY_THRESHOLD_S="1")
    loop = "while context:get_world_rank() == 1 do end\n    torch.distributed.all_reduce(torch.ones(1))"
    running = start(rtrain, job, loop)
    for process in running.processes:
        assert process.wait(120).returncode == 6, process.stderr
    run = rtrain.json("show", "health")
    assert evicted(run) == {} and len(run["attempts"]) == 1
    assert rtrain.query("SELECT 1 FROM events WHERE text LIKE 'health: node n1, hang: %'")


def test_a_rank_tells_what_speaks_against_its_node(rtrain, job):
    running = start(rtrain, job, SAYS + STEPS)
    wait_for(running.processes[0], "node n2: its sums are wrong: it is evicted")
    wait_for_step(rtrain, 2)
    run = finish(rtrain, running)
    assert evicted(run) == {"n2": "script: its sums are wrong"}
    assert rtrain.statuses("health") == ["ERRORED", "FINISHED"] and nodes_of(run, 2) == {"n0", "n1"}


DECISIONS = {
    "function() return 'NOOP' end": (["FINISHED"], ""),
    "train.health.default_evaluator, function() return 'REATTEMPT' end": (["ERRORED", "FINISHED"], "n2"),
    "function(evidence) return evidence.rank == 2 and 'REATTEMPT' end": (["ERRORED", "FINISHED"], ""),
    "function() return 'DIAGNOSE' end": (["FINISHED"], ""),
    "function() return 'EVIKT' end": (["ERRORED", "FINISHED"], "n2"),
}


@pytest.mark.parametrize("evaluators", DECISIONS)
def test_evaluators_of_the_script_decide(rtrain, job, evaluators):
    statuses, host = DECISIONS[evaluators]
    health = f"health_config = {{evaluators = {{{evaluators}}}}},"
    running = start(rtrain, job, SAYS + STEPS, health=health)
    wait_for_step(rtrain, len(statuses))
    wait_until(
        lambda: rtrain.query("SELECT 1 FROM events WHERE text LIKE 'health: node n2, script: %'"),
        message="the evidence",
    )
    if "DIAGNOSE" in evaluators:
        wait_until(
            lambda: "watchdog: node n2: its sums are wrong (stacks of all ranks" in running.processes[0].stderr,
            60,
            "the stacks",
        )
    run = finish(rtrain, running)
    assert rtrain.statuses("health") == statuses
    assert "".join(evicted(run)) == host
    if "EVIKT" in evaluators:
        said = running.processes[0].stderr
        assert "returned EVIKT" in said and "did you mean" in said and "the default holds, EVICT" in said


@pytest.fixture
def gpus(rtrain):
    """Simulates one device on each node; see tests/fake_nvidia."""
    simulate_driver(rtrain, 1)
    use_libtorch(rtrain, "is not loaded")


WAITS = """
    while not files.exists 'go' do
      train.report{step = 1}
      os.execute 'sleep 0.05'
    end
"""


def start_on_gpus(rtrain, job, **env):
    return start(rtrain, job, WAITS.replace("local torch", ""), "2, use_gpu = true", env_of={1: env})


# fault: a device that does not answer, before the run
def test_a_node_whose_device_does_not_answer_is_not_used(rtrain, job, gpus):
    (rtrain.folder / "hang").touch()
    running = start_on_gpus(rtrain, job, FAKE_NVML_HANG=str(rtrain.folder / "hang"))
    wait_for_step(rtrain, 1)
    run = finish(rtrain, running)
    assert evicted(run) == {"n1": "devices: no answer within 2 s"}
    assert rtrain.statuses("health") == ["FINISHED"] and nodes_of(run, 1) == {"n0", "n2"}


# fault: a device that is lost while the run uses it
def test_a_node_that_loses_its_device_is_evicted(rtrain, job, gpus):
    running = start_on_gpus(rtrain, job, FAKE_NVML_LOST=str(rtrain.folder / "lost"))
    wait_for_step(rtrain, 1)
    (rtrain.folder / "lost").touch()
    wait_for(running.processes[0], "it is evicted")
    wait_for_step(rtrain, 2)
    run = finish(rtrain, running)
    assert list(evicted(run)) == ["n1"] and "the driver has lost it" in evicted(run)["n1"]
    assert nodes_of(run, 1) == {"n0", "n1"} and nodes_of(run, 2) == {"n0", "n2"}


# fault: the driver reports an error of a device
def test_a_node_whose_device_has_an_error_is_evicted(rtrain, job, gpus):
    running = start_on_gpus(rtrain, job, FAKE_NVML_XID="79")
    wait_for(running.processes[0], "it is evicted")
    wait_until(lambda: rtrain.query("SELECT 1 FROM workers WHERE host = 'n2'"), 60, "a worker on n2")
    wait_for_step(rtrain, len(rtrain.json("show", "health")["attempts"]))
    run = finish(rtrain, running)
    assert list(evicted(run)) == ["n1"] and "XID 79" in evicted(run)["n1"]
    assert nodes_of(run, len(run["attempts"])) == {"n0", "n2"}


def test_a_launcher_hears_of_the_node(rtrain, job):
    site = rtrain.folder / "site.lua"
    site.write_text("""
local slurm = require 'rtrain.launch.launchers.slurm'
return {
  detect = slurm.detect,
  allocation = function(getenv, facts)
    slurm.allocation(getenv, facts)
    facts:set('evict_command', 'echo "$host: $reason" >>told; echo not permitted', 'SITE')
  end,
}
""")
    running = start(rtrain, job, SAYS + STEPS, env={"RTRAIN_LAUNCHER": str(site)})
    wait_for_step(rtrain, 2)
    finish(rtrain, running)
    assert (rtrain.folder / "told").read_text() == "n2: rtrain: script: its sums are wrong\n"
    assert "the launcher was not told of node n2: not permitted" in running.processes[0].stderr
    assert (rtrain.folder / "said").exists()
