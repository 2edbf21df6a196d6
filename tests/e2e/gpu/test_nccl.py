"""Process groups over NCCL on GPUs that tests/fake_nvidia simulates: collectives really reduce there, and can be made
to hang. Simulated kernels compute garbage, so all values here are copied ones."""

import json
import os
import signal

import pytest

from fake_driver import simulate_driver, simulate_gpus, use_libtorch
from test_torchrun import Job

TRAIN = """
local torch, train = require 'torch', require 'rtrain'
local dist = torch.distributed
local function on_device(...) return torch.tensor({...}, {dtype = torch.float32}):to('cuda') end
local function values(x) return table.concat(x:to('cpu'):tolist(), ' ') end
local function step()
  local rank = train.get_context():get_world_rank()
  %s
end
train.TorchTrainer{
  train_loop_per_worker = step,
  scaling_config = train.ScalingConfig{%s},
  torch_config = train.TorchConfig{%s},
  run_config = train.RunConfig{name = 'run', failure_config = train.FailureConfig{%s}},
}:fit()
"""

TWO = "num_workers = 2, use_gpu = true"
SHARED = TWO + ", resources_per_worker = {GPU = 0.5}"


def script(body, scaling=TWO, torch="timeout_s = 60", failure="max_failures = 0"):
    return TRAIN % (body, scaling, torch, failure)


@pytest.fixture
def gpus(rtrain):
    simulate_gpus(rtrain, 2)
    return rtrain


ALL_COLLECTIVES = """
  local x = on_device(rank + 1, 10 * rank)
  dist.all_reduce(x)
  local least = on_device(5 - rank)
  dist.all_reduce(least, 'min')
  local from_1 = on_device(rank)
  dist.broadcast(from_1, 1)
  local all = dist.all_gather(on_device(rank + 0.5))
  local on_cpu = torch.tensor{rank + 1}
  dist.all_reduce(on_cpu)
  dist.barrier()
  train.report{sum = values(x), least = values(least), from_1 = values(from_1), all = values(all[1]) .. ' ' .. values(all[2]),
               on_cpu = on_cpu:item(), backend = dist.get_backend(), device = x.device, nccl = dist.is_nccl_available()}
"""


def test_collectives_of_device_tensors_travel_over_nccl_and_those_of_the_cpu_over_shared_memory(gpus):
    result = gpus.run_ok(script(ALL_COLLECTIVES))
    assert "CUDA tensors travel over NCCL" in result.stderr
    reported = gpus.reports("run", "--ranks")[0]
    assert {key: reported[key] for key in ("sum", "least", "from_1", "all", "on_cpu", "backend", "nccl")} == {
        "sum": "3 10",
        "least": "4",
        "from_1": "1",
        "all": "0.5 1.5",
        "on_cpu": 3,
        "backend": "nccl",
        "nccl": True,
    }
    workers = gpus.json("show", "last")["attempts"][0]["workers"]
    assert [worker["device"] for worker in workers] == ["cuda:0", "cuda:1"]


def test_workers_that_share_a_device_use_gloo_and_are_told(gpus):
    result = gpus.run_ok(script("train.report{backend = dist.get_backend()}", scaling=SHARED))
    assert gpus.reports("run")[0]["backend"] == "gloo"
    assert "workers share a device, which NCCL refuses: CUDA tensors travel over Gloo" in result.stderr


@pytest.mark.parametrize(
    "scaling, reason",
    [
        ("num_workers = 2", "the run has no GPUs: set ScalingConfig.use_gpu = true"),
        (SHARED, "several workers share a device (resources_per_worker.GPU = 0.5), which NCCL refuses"),
    ],
)
def test_nccl_where_it_is_impossible_is_refused_before_anything_starts(rtrain, scaling, reason):
    simulate_driver(rtrain, 2)
    use_libtorch(rtrain, "is not loaded")
    result = rtrain.run(script("train.report{}", scaling=scaling, torch="backend = 'nccl'"))
    assert result.returncode == 3 and reason in result.stderr and "or leave the backend out" in result.stderr
    assert not (rtrain.storage / "rtrain.db").exists()


def test_the_ranks_of_torchrun_see_by_themselves_whether_they_share_a_device(gpus):
    text = script(
        "dist.barrier() train.report{backend = dist.get_backend()}", scaling="num_workers = 0, use_gpu = true"
    )
    for devices, backend in ((2, "nccl"), (1, "gloo")):
        gpus.env["FAKE_CUDA_DEVICES"] = str(devices)
        results = Job(gpus, gpus.script(text), args=("--name", backend)).wait()
        assert [result.returncode for result in results] == [0, 0], [result.stderr for result in results]
        assert gpus.reports(backend)[0]["backend"] == backend
        workers = gpus.json("show", backend)["attempts"][0]["workers"]
        assert [worker["device"] for worker in workers] == ["cuda:0", "cuda:1" if devices == 2 else "cuda:0"]
    assert "CUDA tensors travel over Gloo: ranks 0 and 1 share one device, which NCCL refuses" in results[0].stderr


@pytest.mark.parametrize(
    "hook", ["'bf16_compress'", "nil, dist.algorithms.ddp_comm_hooks.default_hooks.fp16_compress_hook"]
)
def test_a_model_on_a_device_trains_and_its_gradients_travel_over_nccl(gpus, hook):
    gpus.run_ok(
        script(
            """
      local model = train.torch.prepare_model(torch.nn.Linear(2, 1))
      model:register_comm_hook(HOOK)
      for _ = 1, 3 do model(on_device(1, 2):reshape(1, 2)):sum():backward() end
      local weight = train.torch.unwrap(model).weight
      train.report{device = weight.device, weight = values(weight:detach():reshape(-1))}""".replace("HOOK", hook)
        )
    )
    reports = gpus.json("metrics", "run", "--ranks")[0]["ranks"]
    assert [report["device"] for report in reports] == ["cuda:0", "cuda:1"]
    assert reports[0]["weight"] == reports[1]["weight"]  # rank 0's weight, which is broadcast at the start


LATE = """
  dist.all_reduce(on_device(rank))
  if rank == 1 then train.busy('another thing', 60) os.execute 'sleep 60' end
  local x = on_device(rank)
  dist.all_reduce(x)
  train.report{x = x:item()}
"""


# behaviour: time-out of a collective
def test_a_time_out_over_nccl_names_the_first_cause_and_saves_what_the_devices_were_given(gpus):
    result = gpus.run(script(LATE, torch="timeout_s = 2"))
    assert result.returncode == 6, result.stderr
    assert (
        "all_reduce(float32 [1]) on rank 0 of 2 (collective 2, NCCL's number 2) waited 2 s on the device: "
        "rank 1 has not called it, its last one is collective 1, all_reduce(float32 [1]) at"
    ) in result.stderr
    assert "torch_config = {timeout_s = …}" in result.stderr
    [folder] = (gpus.run_folder("run") / "diag").iterdir()
    trace = json.loads((folder / "nccl-rank-0.json").read_text())
    assert [entry["state"] for entry in trace["entries"]] == ["completed", "scheduled"]
    assert (folder / "nccl-rank-1.json").exists() and "rank 1" in (folder / "stacks.txt").read_text()


def test_waiting_on_the_host_which_the_user_may_choose_ends_with_the_same_cause(gpus):
    gpus.env["TORCH_NCCL_BLOCKING_WAIT"] = "1"
    result = gpus.run(script(LATE, torch="timeout_s = 2"))
    assert result.returncode == 6, result.stderr
    assert "all_reduce on rank 0 of 2 waited 2 s for the other ranks (rank 1 has not called it" in result.stderr


def test_a_collective_that_a_returned_rank_will_never_join_ends_the_run_at_once(gpus):
    result = gpus.run(
        script("""
      dist.all_reduce(on_device(rank))
      if rank == 0 then
        local x = on_device(rank)
        dist.all_reduce(x)
        x:item()
      else
        os.execute 'sleep 0.5'
      end""")
    )
    assert result.returncode == 6, result.stderr
    assert "has returned from the train function after 1 collectives, while rank 0 waits on its device" in result.stderr


def test_an_error_that_nccl_reports_ends_the_worker_with_nccls_words(gpus):
    gpus.env["FAKE_NCCL_ASYNC_ERROR"] = "3"
    gpus.env["FAKE_NCCL_HANG"] = "broadcast"
    result = gpus.run(
        script("""
      dist.all_reduce(on_device(rank))
      local x = on_device(rank)
      dist.broadcast(x, 0)
      x:item()""")
    )
    assert result.returncode == 1, result.stderr
    assert "failed over NCCL" in result.stderr and "internal error" in result.stderr
    assert "terminate called" not in result.stderr


def test_the_death_of_a_rank_is_the_first_cause_and_not_what_nccl_makes_of_it(gpus):
    running = gpus.start(
        "run",
        gpus.script(
            script("""
      dist.all_reduce(on_device(rank))
      train.report{}
      if rank == 1 then os.execute 'sleep 60' end
      local x = on_device(rank)
      dist.all_reduce(x)
      x:item()""")
        ),
    )
    gpus.wait_for_reports(running, 1)
    os.kill(gpus.pids("run")[1], signal.SIGKILL)
    assert running.wait().returncode == 5, running.stderr
    assert "rank 1" in running.stderr and "signal 9" in running.stderr


def test_local_mode_comes_back_from_a_device_that_does_not(gpus):
    gpus.env["FAKE_NCCL_HANG"] = "all_reduce"
    result = gpus.run(
        script(
            "local x = on_device(1) dist.all_reduce(x) x:item()",
            torch="timeout_s = 2",
            scaling="num_workers = 0, use_gpu = true",
        )
    )
    assert result.returncode == 6, result.stderr
    assert "all_reduce(float32 [1]) on rank 0 of 1" in result.stderr and "the device does not go on" in result.stderr


def test_a_rank_of_torchrun_that_waits_on_its_device_comes_back_when_another_one_fails(gpus):
    text = script(
        """
      dist.all_reduce(on_device(rank))
      if rank == 1 then error('rank one is broken') end
      local x = on_device(rank)
      dist.all_reduce(x)
      x:item()""",
        scaling="num_workers = 0, use_gpu = true",
        torch="timeout_s = 600",
    )
    results = Job(gpus, gpus.script(text)).wait(60)
    assert [result.returncode for result in results] == [1, 1], [result.stderr for result in results]
    assert "rank one is broken" in results[0].stderr


def test_what_the_device_has_not_done_when_the_function_returns_still_counts(gpus):
    gpus.env["FAKE_NCCL_HANG"] = "broadcast"
    result = gpus.run(
        script("dist.all_reduce(on_device(rank)) dist.broadcast(on_device(rank), 0)", torch="timeout_s = 2")
    )
    assert result.returncode == 6, result.stderr
    assert "broadcast from 0(float32 [1]) on rank" in result.stderr and "on the device" in result.stderr


# behaviour: CUDA touched early
def test_cuda_touched_before_the_context_goes_to_the_ranks_device(gpus):
    text = script("""
      local first = torch.zeros(1, {device = 'cuda'}).device
      local model = train.torch.prepare_model(torch.nn.Linear(1, 1))
      train.report{first = first, module = train.torch.unwrap(model).weight.device, own = train.torch.get_device()}""")
    # The script itself may use CUDA too: the controller runs it, so CUDA is initialized there before any worker starts.
    gpus.run_ok("require('torch').zeros(1, {device = 'cuda'})\n" + text)
    reports = gpus.json("metrics", "run", "--ranks")[0]["ranks"]
    assert [(each["first"], each["module"], each["own"]) for each in reports] == [
        (f"cuda:{rank}",) * 3 for rank in range(2)
    ]


def test_the_settings_of_nccl_are_the_users_or_rtrains_and_shown(rtrain):
    simulate_driver(rtrain, 1, NCCL_SOCKET_IFNAME="eth0")
    use_libtorch(rtrain, "is not loaded")
    settings = {each["name"]: each for each in rtrain.json("env")["nccl"]}
    assert settings["NCCL_SOCKET_IFNAME"]["value"] == "eth0"
    assert settings["NCCL_SOCKET_IFNAME"]["set_by"] == "environment"
    assert settings["TORCH_NCCL_ASYNC_ERROR_HANDLING"]["set_by"] == "rtrain"
    shown = rtrain("env").stdout
    assert "NCCL_SOCKET_IFNAME=eth0  (set by environment)" in shown
    assert "TORCH_NCCL_ASYNC_ERROR_HANDLING=0  (set by rtrain: " in shown


def test_groups_that_begin_and_end_again_and_again(gpus):
    """In one process each group leaves NCCL in order, and nothing of it remains for the exit."""
    text = """
      local torch = require 'torch'
      local dist = torch.distributed
      for i = 1, 20 do
        dist.init_process_group('nccl', {rank = 0, world_size = 1})
        local x = torch.tensor{i}:to('cuda')
        dist.all_reduce(x)
        assert(x:item() == i)
        dist.destroy_process_group()
      end
    """
    result = gpus("exec", gpus.script(text))
    assert result.returncode == 0, result.stderr
