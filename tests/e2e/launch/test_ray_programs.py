"""Scripts of Ray Train and of Horovod under rtrain launch have the losses of their Lua twins."""

import importlib.util
import json

import pytest

from conftest import nightly, refused
from python_programs import launched, lines_of, python  # noqa: F401  (a fixture)

pytestmark = nightly

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="Python's torch is missing (RTRAIN_TEST_PYTHON)"
)

DDP = """
    import sys
    import torch
    MODULE
    from torch.utils.data import DataLoader, TensorDataset
    def train_func(config):
        torch.manual_seed(0)
        x = torch.randn(64, 4)
        loader = prepare_data_loader(DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8))
        model = prepare_model(torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
        for epoch in range(3):
            for a, b in loader:
                loss = torch.nn.functional.mse_loss(model(a), b)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            train.report({"epoch": epoch, "loss": loss})
    TorchTrainer(
        train_func, train_loop_config={"lr": 0.05}, scaling_config=train.ScalingConfig(num_workers=2),
        run_config=train.RunConfig(
            name="digits", storage_path="s3://bucket/runs", failure_config=train.FailureConfig(max_failures=3),
            checkpoint_config=train.CheckpointConfig(
                num_to_keep=3, checkpoint_score_attribute="loss", checkpoint_score_order="min"),
            callbacks=[print])).fit()
"""
# Settings that have no effect under the command → the option of the command that replaces them.
WITHOUT_EFFECT = {
    "RunConfig(name='digits')": "--name digits",
    "RunConfig(storage_path='s3://bucket/runs')": "--storage s3://bucket/runs",
    "FailureConfig(max_failures=3)": "--max-failures 3",
    "CheckpointConfig(num_to_keep=3)": "--num-to-keep 3",
    "CheckpointConfig(checkpoint_score_order='min')": "--checkpoint-score-order min",
    "RunConfig(callbacks=": "has no option for it",
}
LUA = """
    local torch, train = require 'torch', require 'rtrain'
    train.TorchTrainer({
      train_loop_per_worker = function(config)
        torch.manual_seed(0)
        local x = torch.randn(64, 4)
        local data = torch.utils.data
        local loader = train.torch.prepare_data_loader(data.DataLoader(data.TensorDataset(x, x:sum(1, true)), {batch_size = 8}))
        local model = train.torch.prepare_model(torch.nn.Linear(4, 1))
        local optimizer = torch.optim.SGD(model:parameters(), {lr = config.lr})
        for epoch = 0, 2 do
          local loss
          for a, b in loader do
            loss = torch.nn.functional.mse_loss(model(a), b)
            optimizer:zero_grad()
            loss:backward()
            optimizer:step()
          end
          train.report {epoch = epoch, loss = loss}
        end
      end,
      train_loop_config = {lr = 0.05},
      scaling_config = train.ScalingConfig {num_workers = 2},
      torch_config = train.TorchConfig {backend = 'gloo'},
      run_config = train.RunConfig {name = 'lua'},
    }):fit()
"""


@needs_torch
def test_a_script_of_ray_train_has_the_losses_of_its_lua_twin(rtrain, python):
    rtrain.env["TORCHINDUCTOR_CACHE_DIR"] = str(rtrain.folder)  # a folder that Python's torch creates
    imports = (
        "import rtrain.train as train\n    from rtrain.train.torch import TorchTrainer, prepare_data_loader, "
        "prepare_model"
    )
    result = launched(
        rtrain,
        "-n",
        "2",
        "--name",
        "python",
        "--max-failures",
        "2",
        "--checkpoint-score-attribute",
        "loss",
        "--num-to-keep",
        "2",
        python(DDP.replace("MODULE", imports)),
    )
    said = [line for line in result.stderr.splitlines() if "has no effect" in line]
    assert len(said) == len(WITHOUT_EFFECT), result.stderr
    for line, (what, option) in zip(said, WITHOUT_EFFECT.items()):
        assert what in line and option in line
    ((kept,),) = rtrain.query("SELECT checkpoint_config FROM runs WHERE name = 'python'")
    kept = json.loads(kept)
    assert kept["num_to_keep"] == 2 and kept["checkpoint_score_attribute"] == "loss"
    rtrain.run_ok(LUA)
    assert [row["loss"] for row in rtrain.reports("python")] == pytest.approx(
        [row["loss"] for row in rtrain.reports("lua")], rel=1e-6
    )


def test_ray_trainers_that_cannot_work_say_so(rtrain, python):
    result = rtrain(
        "launch", python("from rtrain.train.torch import TorchTrainer\nTorchTrainer(print, datasets={'train': 1})")
    )
    assert result.returncode == 1 and "ray.data is not in rtrain" in result.stderr
    refused(rtrain("launch", "--num-workers", "-1", "true"), "-1")


HOROVOD = """
import torch, horovod.torch as hvd
hvd.init()
torch.manual_seed(hvd.rank())
model = torch.nn.Linear(2, 1)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), op=hvd.Average)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
x = torch.arange(16.).reshape(8, 2)[hvd.rank()::hvd.size()] / 16
for _ in range(3):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    scheduler.step()
mean = hvd.allreduce(torch.tensor(float(hvd.rank())), name="mean").item()
rows = hvd.allgather(torch.full((hvd.rank() + 1, 1), hvd.rank())).flatten().tolist()
print([round(value, 5) for value in model.weight.flatten().tolist()], mean, rows)
"""

RAY = """
import torch
from rtrain.train.torch import prepare_model

def train_func():
    model = prepare_model(torch.nn.Linear(2, 1))
    torch.optim.SGD(model.parameters(), lr=0.2)
    torch.distributed.all_reduce(torch.ones(2))

train_func()
"""

THREADS_AT_EXIT = """
import atexit, os

@atexit.register  # called after the functions that are registered later
def count():
    names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
    print("threads of Gloo at exit:", sum("gloo" in name for name in names))
"""
NO_THREADS = "threads of Gloo at exit: 0"


# behaviour: a script of Horovod
@needs_torch
def test_a_script_of_horovod_trains_as_one_process_would(rtrain, python):
    script = python(THREADS_AT_EXIT + HOROVOD)
    rtrain.env["TORCHINDUCTOR_CACHE_DIR"] = str(rtrain.folder)
    alone, at_exit = lines_of(launched(rtrain, "-n", "1", "--backend", "horovod", script))
    assert at_exit == NO_THREADS
    lines = lines_of(launched(rtrain, "-n", "2", "--backend", "horovod", script))
    assert lines.count(NO_THREADS) == 2, "the process group ends before the interpreter"
    lines = [line for line in lines if line != NO_THREADS]
    assert lines == [lines[0]] * 2 and lines[0].endswith(" 0.5 [0, 1, 1]") and alone.endswith(" 0.0 [0]")
    assert lines[0].split("]")[0] == alone.split("]")[0]  # each rank trains on a half of the same batch


ELASTIC = """
import os, signal, sys
import torch, horovod.torch as hvd
hvd.init()
torch.manual_seed(hvd.rank())
model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
state = hvd.elastic.TorchState(model=model, optimizer=optimizer, step=0, names=[])
resets = []
state.register_reset_callbacks([lambda: resets.append(state.step)])

@hvd.elastic.run
def train(state, last):
    begun = state.step
    while state.step < last:
        optimizer.zero_grad()
        x = torch.arange(8.).reshape(4, 2)[hvd.rank()::2] * (state.step + 1) / 16
        model(x).square().mean().backward()
        optimizer.step()
        state.step += 1
        state.names = [*state.names, f"step {state.step}"]
        if state.step % 3 == 0:
            state.commit()
        else:
            state.check_host_updates()
        if state.step == int(sys.argv[1]) and hvd.rank() == 1 and begun == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return begun

begun = train(state, 10)
print([p.tolist() for p in model.parameters()], len(state.names), state.names[-1])
print("begun at", begun, "resets", resets)
"""


# behaviour: a script of hvd.elastic goes on from its last commit when a rank is lost
@needs_torch
def test_a_script_of_elastic_horovod_goes_on_from_its_last_commit(rtrain, python):
    script = python(ELASTIC)
    rtrain.env["TORCHINDUCTOR_CACHE_DIR"] = str(rtrain.folder)
    options = ["-n", "2", "--backend", "horovod", "--max-failures", "1"]
    calm = lines_of(launched(rtrain, *options, script, "0"))
    assert calm[2:] == ["begun at 0 resets []"] * 2
    lost = lines_of(launched(rtrain, *options, "--name", "lost", script, "8"))
    assert lost[:2] == calm[:2] and calm[0] == calm[1]
    assert lost[2:] == ["begun at 6 resets [6]"] * 2
    assert rtrain.statuses("lost") == ["ERRORED", "FINISHED"]
    assert list(rtrain.run_folder("lost").glob("horovod*")) == []


@needs_torch
def test_the_process_group_ends_before_the_interpreter(rtrain, python):
    rtrain.env["TORCHINDUCTOR_CACHE_DIR"] = str(rtrain.folder)
    lines = lines_of(launched(rtrain, "-n", "2", "--backend", "torch", python(THREADS_AT_EXIT + RAY)))
    assert lines.count(NO_THREADS) == 2
