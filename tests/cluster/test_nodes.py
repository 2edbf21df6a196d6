"""One run over two nodes: the places of its ranks, their computations, and the end of the run on both nodes."""

import json
import pathlib
import re
import signal
import subprocess

import pytest

from conftest import RTRAIN, wait_until
from fake_driver import simulate_driver, use_libtorch
from node_scripts import GLOO, TRAINING, WAITING, script, wait_for_reports, workers_of


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


def test_ranks_are_dense_by_node(rtrain, job):
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


def test_processes_and_nodes_are_series_under_their_own_ranks(rtrain, job):
    rtrain.env["RTRAIN_HOST_SAMPLE_S"] = "0.1"
    running = job("run", script(rtrain, WAITING))

    def ranks_of(key):
        found = rtrain("metrics", "nodes", "--series", key, "--json")
        return {row["rank"] for row in json.loads(found.stdout)} if found.returncode == 0 else set()

    wait_until(lambda: ranks_of("process/cpu_percent") == {0, 1, 2, 3}, message="samples of every rank's process")
    wait_until(
        lambda: ranks_of("host/cpu_percent") == {0, 2}, message="samples of both nodes, each under its first rank"
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
def test_ranks_of_a_node_share_memory_and_all_ranks_have_the_same_bits(rtrain, job, torch, is_shared):
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


def test_a_backend_has_its_functions_executed_on_all_nodes(rtrain, job):
    first, second = job("run", rtrain.script(BACKEND)).wait()
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "at the end: 0 0 1 1" in first.stdout
    assert [rank["hosts"] for rank in rtrain.json("metrics", "nodes", "--ranks")[0]["ranks"]] == ["n0 n0 n1 n1"] * 4


def test_a_hook_of_gradients_over_two_nodes(rtrain, job):
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


def test_what_a_process_of_the_job_starts_trains_on_its_node_alone(rtrain, job):
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
    "strategy, workers, nodes_of_ranks",
    [
        ("SPREAD", 3, ["n0", "n0", "n1"]),
        ("PACK", 3, ["n0", "n0", "n1"]),
        ("PACK", 2, ["n0", "n0"]),
        ("STRICT_PACK", 2, ["n0", "n0"]),
        ("STRICT_SPREAD", 2, ["n0", "n1"]),
    ],
)
def test_placement(rtrain, job, strategy, workers, nodes_of_ranks):
    path = script(rtrain, "train.report{step = 1}")
    path.write_text(
        path.read_text().replace("num_workers = 4", f"num_workers = {workers}, placement_strategy = '{strategy}'")
    )
    for result in job("run", path, env={"SLURM_CPUS_ON_NODE": "2"}).wait():
        assert result.returncode == 0, result.stderr
    assert [worker["host"] for worker in workers_of(rtrain)] == nodes_of_ranks


def test_a_placement_that_the_nodes_cannot_have_is_refused(rtrain, job):
    path = script(rtrain, "train.report{step = 1}")
    path.write_text(
        path.read_text().replace("num_workers = 4", "num_workers = 3, placement_strategy = 'STRICT_SPREAD'")
    )
    first, second = job("run", path).wait()
    assert (first.returncode, second.returncode) == (4, 4), first.stderr
    assert "placement_strategy = 'STRICT_SPREAD': 3 workers need as many nodes; there are 2" in first.stderr
    alone = rtrain("run", path)
    assert alone.returncode == 4 and "3 workers need as many nodes; there is 1" in alone.stderr


def test_auto_is_as_many_as_fit_the_nodes(rtrain, job):
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


def test_devices_of_all_nodes(rtrain, job, gpus):
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
    assert "3 workers do not fit on the job's nodes; their cores or devices are for n0: 0, n1: 2" in refused.stderr
    assert (
        "accelerator_type = 'H100', and their devices are n0: NVIDIA A100-SXM4-80GB, n1: NVIDIA H100" in refused.stderr
    )


def test_a_script_that_fails_before_fit_ends_every_node(rtrain, job):
    first, second = job("run", rtrain.script("error('before fit')")).wait(30)
    assert (first.returncode, second.returncode) == (1, 1), second.stderr
    assert "before fit" in first.stderr


def test_every_node_ends_with_the_code_of_the_script(rtrain, job):
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


def test_a_node_with_another_libtorch_is_refused(rtrain, job, tmp_path):
    installed = pathlib.Path(rtrain.json("env")["libtorch"]["path"])
    other = tmp_path / "torch"
    (other / "lib").mkdir(parents=True)
    (other / "lib" / "libtorch_cpu.so").symlink_to(installed / "libtorch_cpu.so")
    minor = rtrain.json("env")["libtorch"]["engine"]
    (other / "version.py").write_text(f"__version__ = '{minor}.9+cpu'\ngit_version = '0123456789abcdef'\n")
    env = {"RTRAIN_LIBTORCH": str(other)}
    first, second = job("run", script(rtrain, "train.report{step = 1}"), env_of={1: env}).wait()
    assert (first.returncode, second.returncode) == (4, 4), first.stderr
    assert f"node n1 has LibTorch {minor}.9+cpu, commit 0123456, and node n0 has {minor}." in first.stderr


def test_a_slow_node_is_named(rtrain, job):
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
    assert shown.count("warning: rank 1 on node n1 spends ") == 1 and "warning: rank 0 on" not in shown, shown


def test_stacks_of_all_nodes(rtrain, job, hosts):
    running = job("run", script(rtrain, WAITING))
    wait_for_reports(rtrain, running)
    runtime = rtrain.temporary[0]
    rtrain.env["RTRAIN_RUNTIME_DIR"] = runtime
    result = rtrain("stack", "nodes")
    (rtrain.folder / "go").touch()
    assert [each.returncode for each in running.wait()] == [0, 0]
    assert all(f"rank {rank} (pid" in result.stdout for rank in range(4)), result.stdout + result.stderr


def test_commands_from_another_node(rtrain, job, hosts):
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


# fault: a rank of another node stays away from a collective
def test_the_time_out_of_a_collective_names_who_is_absent_on_another_node(rtrain, job):
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
        r"rank 1 on node n1 has not come to collective \d+, its last one is collective \d+, all_reduce", text
    ), text


@pytest.mark.parametrize("torch", ["", GLOO], ids=["memory of each node", "gloo"])
def test_values_meshes_and_a_barrier_over_nodes(rtrain, job, torch):
    body = """
    local dist, rank = torch.distributed, context:get_world_rank()
    local mesh = dist.init_device_mesh('cpu', {2, 2}, {mesh_dim_names = {'replicate', 'shard'}})
    local shard = dist.all_gather_object({}, 'r' .. rank, mesh.shard:get_group())
    local replicate = dist.broadcast_object_list({rank}, {group = mesh.replicate:get_group(), group_src = 1})
    print(table.concat(shard, '+'), replicate[1], #dist.all_gather_object({}, rank))
    dist.monitored_barrier{timeout_s = 30}
    if rank == 3 then
      while not files.exists 'go' do os.execute 'sleep 0.05' end
    end
    dist.monitored_barrier{timeout_s = 2}
"""
    first, second = job("run", script(rtrain, body, torch=torch)).wait()
    (rtrain.folder / "go").touch()
    assert (first.returncode, second.returncode) == (6, 6), first.stderr
    lines = sorted(line.split("] ")[1] for line in first.stdout.splitlines())
    assert lines == ["r0+r1\t2\t4", "r0+r1\t3\t4", "r2+r3\t2\t4", "r2+r3\t3\t4"]
    text = " ".join(first.stderr.split())
    assert "monitored_barrier" in text and "timeout_s of monitored_barrier" in text, text
    assert re.search(r"rank 3 (has not called it|on node n1 has not come to collective)", text), text
