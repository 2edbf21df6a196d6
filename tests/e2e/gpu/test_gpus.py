"""GPUs of a run: which worker gets which device, which runs wait, which requests are refused. The driver is simulated.

No worker uses a tensor: computation is tested on machines with a real device.
"""

import contextlib

import pytest

from conftest import wait_until
from fake_driver import simulate_driver, use_libtorch, uuid
from test_torchrun import Job

# Prints the devices of each worker, and continues once the file exists.
TRAIN = """
local train = require 'rtrain'
local function step()
  local context = train.get_context()
  train.report{rank = context:get_world_rank(), visible = os.getenv 'CUDA_VISIBLE_DEVICES' or 'all',
               devices = table.concat(train.torch.get_devices(), ' '), device = train.torch.get_device()}
  while CONFIG.wait and not io.open(CONFIG.wait) do os.execute('sleep 0.02') end
end
CONFIG = {wait = %s}
train.TorchTrainer{
  train_loop_per_worker = step,
  scaling_config = train.ScalingConfig{%s},
  run_config = train.RunConfig{name = '%s'},
}:fit()
"""


@pytest.fixture
def host(rtrain):
    """A node with that many devices. An empty CUDA library in its LibTorch is enough, as it is not loaded."""

    def make(devices, **env):
        simulate_driver(rtrain, devices, **env)
        use_libtorch(rtrain, "is not loaded")
        return rtrain

    return make


def script(scaling, name="run", wait="nil"):
    return TRAIN % (wait, scaling, name)


def told(rtrain, name="run"):
    """Returns (devices, CUDA_VISIBLE_DEVICES) that the ranks reported, by rank."""
    with rtrain.database() as db:
        rows = db.execute(
            "SELECT rank, metrics ->> 'devices', metrics ->> 'visible' FROM reports JOIN runs USING (run_id) "
            "WHERE name = ? ORDER BY rank",
            [name],
        )
        return [row[1:] for row in rows]


@pytest.mark.parametrize(
    "scaling, expected",
    [
        ("num_workers = 2, use_gpu = true", [("cuda:0", "all"), ("cuda:1", "all")]),
        ("num_workers = 1, use_gpu = true", [("cuda:0", uuid(0))]),
        ("num_workers = 1, use_gpu = true, resources_per_worker = {GPU = 2}", [("cuda:0 cuda:1", "all")]),
        (
            "num_workers = 3, use_gpu = true, resources_per_worker = {GPU = 0.5}",
            [("cuda:0", "all"), ("cuda:0", "all"), ("cuda:1", "all")],
        ),
        ("num_workers = 1", [("cpu", "")]),
    ],
)
# behaviour: devices for fractions of a GPU
def test_workers_get_devices_of_their_own_or_parts(host, scaling, expected):
    rtrain = host(2)
    rtrain.run_ok(script(scaling))
    assert told(rtrain) == expected
    workers = rtrain.json("show", "last")["attempts"][0]["workers"]
    assert [worker["device"] for worker in workers] == [devices.replace(" ", ",") for devices, _ in expected]


def test_devices_that_the_command_may_not_see_are_not_given(host):
    rtrain = host(4, CUDA_VISIBLE_DEVICES="3,1,2")
    rtrain.run_ok(script("num_workers = 2, use_gpu = true"))
    assert told(rtrain) == [("cuda:0", f"{uuid(3)},{uuid(1)}"), ("cuda:1", f"{uuid(3)},{uuid(1)}")]


@pytest.mark.parametrize(
    "flags, expected",
    [
        (["--gpus", "all"], ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]),
        (["--gpus", "2"], ["cuda:0", "cuda:1"]),
        (["-n", "2", "--gpus", "all"], ["cuda:0", "cuda:1"]),
        (["-n", "2", "--gpus", "4"], ["cuda:0 cuda:1", "cuda:2 cuda:3"]),
        (["-n", "2", "--gpus", "1"], ["cuda:0", "cuda:0"]),
        (["--gpus", "0"], ["cpu"]),
    ],
)
def test_the_flag_overrides_the_script(host, flags, expected):
    rtrain = host(4)
    rtrain.run_ok(script("use_gpu = true, accelerator_type = 'H100'"), *flags)
    assert [devices for devices, _ in told(rtrain)] == expected


# behaviour: a request that can never be met
def test_more_than_there_is_is_refused_at_once_with_what_was_found(host):
    rtrain = host(2)
    result = rtrain.run(script("num_workers = 1"), "-n", "3", "--gpus", "all")
    assert result.returncode == 4
    assert "3 workers of 1 GPU cannot be had: this process sees 2 x NVIDIA H100 80GB HBM3" in result.stderr
    result = rtrain.run(script("use_gpu = true, accelerator_type = 'A100'"))
    assert result.returncode == 4
    assert "accelerator_type = 'A100', and the devices here are NVIDIA H100 80GB HBM3" in result.stderr
    assert not (rtrain.storage / "rtrain.db").exists()


def test_without_a_driver_the_refusal_says_what_is_missing_and_what_to_do(rtrain):
    simulate_driver(rtrain, 0)
    result = rtrain.run(script("num_workers = 1"), "-n", "2", "--gpus", "all")
    assert result.returncode == 4
    assert (
        "2 workers of 1 GPU cannot be had: there is no CUDA device: the NVIDIA driver shows no device" in result.stderr
    )
    assert "--gpus 0" in result.stderr
    result = rtrain.run(script("num_workers = 1"), "--gpus", "some")
    assert result.returncode == 2 and "'some': expected all or a number" in result.stderr


def test_visible_devices_of_the_workers_are_not_the_scripts_matter(host):
    rtrain = host(1)
    text = script("use_gpu = true").replace("name = 'run'", "name = 'run', worker_env = {CUDA_VISIBLE_DEVICES = '0'}")
    result = rtrain.run(text)
    assert result.returncode == 3 and "CUDA_VISIBLE_DEVICES" in result.stderr


@contextlib.contextmanager
def holding(rtrain, scaling, name):
    """A run that continues until the `with` block ends."""
    go = rtrain.folder / f"{name}.go"
    running = rtrain.started("run", rtrain.script(script(scaling, name, f"'{go}'"), f"{name}.lua"))
    try:
        yield running
    finally:
        go.touch()
        assert running.wait().returncode == 0, running.stderr


def test_runs_side_by_side_share_the_devices_and_wait_for_them(host):
    rtrain = host(2)
    rtrain("resources", "--set", "cpus=8")
    with holding(rtrain, "use_gpu = true, resources_per_worker = {GPU = 0.5}", "half") as half:
        resources = rtrain.json("resources")
        assert [gpu["free"] for gpu in resources["gpus"]] == [0.5, 1.0]
        assert resources["leases"] == [
            {"run": "half", "pid": half.pid, "cores": [0], "gpus": [{"uuid": uuid(0), "share": 0.5}]}
        ]
        assert (
            "GPU 0  NVIDIA H100 80GB HBM3, 0.5 free; 97 % busy, 21.5 GB in use, 700 W, 71 °C, slowed by power limit"
            in rtrain("resources").stdout
        )
        assert resources["gpus"][0]["state"]["processes"] == [{"pid": 4711, "memory_bytes": 19 << 30}]
        # The request for a whole device gets the second GPU; the remaining part of the first serves fractions.
        rtrain.run_ok(script("use_gpu = true", "whole"))
        assert told(rtrain, "whole") == [("cuda:0", uuid(1))]
        waiting = rtrain.start("run", rtrain.script(script("num_workers = 2, use_gpu = true", "both"), "both.lua"))
        wait_until(lambda: "waiting for 2 cores and 2 GPUs" in waiting.stderr, message="the notice")
        assert "1.5 of 2 GPUs are free; in use by 'half'" in waiting.stderr
        rtrain.run_ok(script("num_workers = 1", "plain"))  # needs no device, so it does not wait for a lease
    assert waiting.wait().returncode == 0
    assert [devices for devices, _ in told(rtrain, "both")] == ["cuda:0", "cuda:1"]
    assert rtrain.json("resources")["leases"] == []


def test_an_elastic_run_is_as_large_as_its_devices_allow(host):
    rtrain = host(3)
    rtrain("resources", "--set", "cpus=8")
    with holding(rtrain, "use_gpu = true", "one"):
        rtrain.run_ok(script("num_workers = {1, 8}, use_gpu = true", "elastic"))
    assert [devices for devices, _ in told(rtrain, "elastic")] == ["cuda:0", "cuda:1"]


def test_a_worker_whose_cuda_does_not_load_says_why(host):
    rtrain = host(1)
    text = script("use_gpu = true").replace("train.report{", "require('torch').zeros(1)\n  train.report{")
    result = rtrain.run(text)
    assert result.returncode == 4, result.stderr
    assert "no CUDA device: cannot load" in result.stderr and "libtorch_cuda.so: file too short" in result.stderr


def test_local_mode_uses_the_devices_of_the_process(host):
    rtrain = host(2)
    rtrain.run_ok(script("num_workers = 0, use_gpu = true"))
    assert told(rtrain) == [("cuda:0", "all")]


@pytest.mark.parametrize(
    "visible, expected",
    [
        (None, ["cuda:0", "cuda:1"]),
        (["1", "0"], ["cuda:0", "cuda:0"]),  # each process sees one device
    ],
)
def test_processes_of_a_launcher_use_the_device_of_their_rank_or_the_only_one(host, visible, expected):
    rtrain = host(2)
    job = Job(
        rtrain,
        rtrain.script(script("num_workers = 0, use_gpu = true")),
        each=lambda rank: {"CUDA_VISIBLE_DEVICES": visible[rank]} if visible else {},
    )
    assert [rank.returncode for rank in job.wait()] == [0, 0]
    assert [devices for devices, _ in told(rtrain)] == expected


def test_a_process_without_a_device_of_its_own_says_so(host):
    rtrain = host(0, CUDA_VISIBLE_DEVICES="")
    job = Job(rtrain, rtrain.script(script("num_workers = 0, use_gpu = true")))
    for rank in job.wait():
        assert rank.returncode == 4, rank.stderr
    assert "use_gpu: local rank 1 sees no CUDA device: the NVIDIA driver shows no device" in job.ranks[1].stderr
