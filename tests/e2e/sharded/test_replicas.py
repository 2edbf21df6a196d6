"""train.elastic with a sharded model: a lost rank's rows come from the rank that keeps a copy of them."""

import pytest

from conftest import ALL, set_cpus
from grown import check_grown, larger
from test_heal import check_random_kills, ends, statuses
from test_heal_smaller import LOSE as LOSE_LAST
from test_heal_smaller import NO_FOURTH, check_lost_and_left_out, end_of_reference, reference, smaller

TRAINING = """
local files = require 'files'
local torch, train = require 'torch', require 'rtrain'
local data, nn = torch.utils.data, torch.nn

local function train_func()
  local rank = train.get_context():get_world_rank()
  torch.manual_seed(5)
  local net = nn.Sequential(nn.Linear(4, 9), nn.BatchNorm1d(9), nn.Dropout(0.2), nn.Linear(9, 7), nn.ReLU(), nn.Linear(7, 1))
  torch.manual_seed(5 + rank)
  local x = torch.randn({72, 4}, {generator = torch.Generator(1)})
  @PREPARE@
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.01})
  local scheduler = torch.optim.lr_scheduler.StepLR(optimizer, {step_size = 5, gamma = 0.5})
  local loader = train.torch.prepare_data_loader(data.DataLoader(data.TensorDataset(x), {batch_size = 4, shuffle = true}))
  local state = train.state{model = model, optimizer = optimizer, scheduler = scheduler, loader = loader, epoch = 0, step = 0}
  state:load(train.get_checkpoint())
  train.elastic(state, function()
    while state.epoch < 3 do
      loader.sampler:set_epoch(state.epoch)
      for batch in loader do
        optimizer:zero_grad()
        local loss = model(batch):pow(2):mean()
        @AT_STEP@
        loss:backward()
        nn.utils.clip_grad_norm_(model:parameters(), 1.0)
        optimizer:step()
        scheduler:step()
        state.step = state.step + 1
        train.report{step = state.step}
        @AFTER_STEP@
        state:commit()
      end
      state.epoch = state.epoch + 1
    end
  end)
  local sum = 0
  for _, param in ipairs(model:parameters()) do sum = sum + param:full_tensor():double():abs():sum():item() end
  for _, buffer in ipairs(model:buffers()) do sum = sum + buffer:double():abs():sum():item() end
  print(('END %d steps %.17g'):format(state.step, sum))
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig{num_workers = @WORKERS@},
  run_config = train.RunConfig{name = 'healed', failure_config = train.FailureConfig{max_failures = 1}},
  torch_config = train.TorchConfig{backend = @BACKEND@},
}:fit()
"""
FSDP = """local model = train.torch.prepare_model(net, {parallel_strategy = 'fsdp',
    parallel_strategy_kwargs = {wrap = nn.Linear, replicas = 1}})"""
LOSE = (
    "if rank == {rank} and state.step == {step} and files.once 'lost-{rank}-{step}' then os.execute 'kill -9 $PPID' end"
)


def training(prepare=FSDP, workers=2, backend="nil", at_step="", after_step=""):
    text = TRAINING
    for name, value in {
        "PREPARE": prepare,
        "WORKERS": str(workers),
        "BACKEND": backend,
        "AT_STEP": at_step,
        "AFTER_STEP": after_step,
    }.items():
        text = text.replace(f"@{name}@", value)
    return text


def lose(*losses):
    return "\n".join(LOSE.format(rank=rank, step=step) for rank, step in losses)


CASES = {
    "fsdp, 2 ranks": dict(),
    "fsdp, 3 ranks": dict(workers=3),
    "fsdp, 2 ranks, Gloo": dict(backend="'gloo'"),
    "zero 1": dict(prepare=FSDP.replace("fsdp", "ddp").replace("wrap = nn.Linear", "zero = 1")),
}


@pytest.mark.parametrize("case", CASES)
def test_a_lost_ranks_rows_come_from_the_rank_that_keeps_them(rtrain, case):
    wanted = ends(rtrain.run_ok(training(**CASES[case]), "--name", "calm"))
    assert len(wanted) == CASES[case].get("workers", 2)
    result = rtrain.run_ok(training(**CASES[case], at_step=lose((1, 5), (0, 11), (1, 12))))
    assert statuses(rtrain) == ["HEALED", "HEALED", "HEALED", "FINISHED"]
    assert ends(result) == wanted


LOSE_TWO = """if state.step == 5 then
          require('ffi').cdef 'int getpid(void);'
          local pids = {{}}
          torch.distributed.all_gather_object(pids, require('ffi').C.getpid())
          if rank == {killer} and files.once 'two' then
            os.execute(('kill -9 %d %d'):format(pids[{first} + 1], pids[{second} + 1]))
          end
        end"""


def test_two_ranks_at_once(rtrain):
    """Where another rank has the rows of both they are replaced; else the group begins again."""
    wanted = ends(rtrain.run_ok(training(workers=4), "--name", "calm"))
    result = rtrain.run_ok(training(workers=4, at_step=LOSE_TWO.format(killer=1, first=0, second=2)))
    assert statuses(rtrain)[-2:] == ["HEALED", "FINISHED"]
    assert ends(result) == wanted
    neighbors = LOSE_TWO.format(killer=0, first=1, second=2).replace("'two'", "'neighbors'")
    result = rtrain.run_ok(training(workers=4, at_step=neighbors), "--name", "neighbors")
    assert statuses(rtrain, "neighbors")[-2:] == ["ERRORED", "FINISHED"]
    assert "a lost rank and the one that kept its rows were lost together" in result.stderr
    assert ends(result) == wanted


@pytest.mark.parametrize("point", ["elastic.prepare:9", "elastic.commit:9"])
def test_a_rank_that_is_killed_in_a_commit(rtrain, point):
    wanted = ends(rtrain.run_ok(training(workers=3), "--name", "calm"))
    rtrain.env["RTRAIN_FAULT"] = f"{point}:kill:rank=1:attempt=1"
    result = rtrain.run_ok(training(workers=3))
    del rtrain.env["RTRAIN_FAULT"]
    assert statuses(rtrain) == ["HEALED", "FINISHED"]
    assert ends(result) == wanted


SAVE = """if state.step == 7 then
          train.tempdir(function(dir)
            state:save(dir)
            train.report({step = 7}, {checkpoint = train.Checkpoint.from_directory(dir)})
          end)
        end
"""


def test_a_loss_after_a_resume(rtrain):
    """The kept rows and their optimizer's state are those of the checkpoint, too."""
    wanted = ends(rtrain.run_ok(training(after_step=SAVE), "--name", "calm"))
    end_of_group = "if state.step == 9 and files.once 'group' then error 'the group begins again' end"
    result = rtrain.run_ok(training(at_step=end_of_group + "\n" + lose((1, 10)), after_step=SAVE))
    assert statuses(rtrain) == ["ERRORED", "HEALED", "FINISHED"]
    assert ends(result) == wanted


def test_a_change_of_the_rows_between_two_steps(rtrain):
    """What something else than a step has changed is sent before the next step."""
    change = """if state.step == 4 then
          torch.no_grad(function() for _, param in ipairs(model:parameters()) do param:mul_(0.5) end end)
        end"""
    wanted = ends(rtrain.run_ok(training(at_step=""), "--name", "other"))
    calm = ends(rtrain.run_ok(training(after_step="state:commit()\n" + change), "--name", "calm"))
    assert calm != wanted
    result = rtrain.run_ok(training(at_step=lose((0, 6)), after_step="state:commit()\n" + change))
    assert statuses(rtrain) == ["HEALED", "FINISHED"]
    assert ends(result) == calm


# Rank 1 ends in its sixth forward. Until it is back each further layer of the other one takes 0.1 s.
SLOW_LAYERS = """
  for _ = 1, 60 do net:append(nn.Linear(1, 1)) end
  local calls = 0
  net[1]:register_forward_pre_hook(function()
    calls = calls + 1
    if rank == 1 and calls == 6 and files.once 'lost' then os.execute 'kill -9 $PPID' end
    if rank == 1 and files.exists 'lost' then files.write('back', '') end
    if rank == 0 and calls == 6 then files.wait_for 'lost' end
  end)
  for i = 7, #net do
    net[i]:register_forward_pre_hook(function()
      if rank == 1 or not files.exists 'lost' or files.exists 'back' then return end
      files.write('layer-' .. i, '')
      os.execute 'sleep 0.1'
    end)
  end
  """


def test_a_forward_pass_ends_with_the_loss(rtrain, tmp_path):
    """A rank does not compute the rest of a forward pass whose other half is lost."""
    calm = SLOW_LAYERS.replace("calls == 6", "false")
    wanted = ends(rtrain.run_ok(training(calm + FSDP), "--name", "calm"))
    result = rtrain.run_ok(training(SLOW_LAYERS + FSDP))
    assert statuses(rtrain) == ["HEALED", "FINISHED"]
    assert ends(result) == wanted
    assert not (tmp_path / "layer-66").exists()


def test_what_is_not_healed_is_said(rtrain):
    muon = training().replace(
        "torch.optim.AdamW(model:parameters(), {lr = 0.01})", "torch.optim.Muon({model[1].weight})"
    )
    result = rtrain.run_ok(muon)
    assert "restarts the group: 'optimizer' is of class Muon, which computes with whole parameters" in result.stderr
    closure = training().replace("optimizer:step()", "optimizer:step(function() return loss end)")
    result = rtrain.run(closure, "--name", "closure")
    assert result.returncode == 3
    assert "computes gradients after the ranks have exchanged theirs" in result.stderr
    result = rtrain.run(training(prepare=FSDP.replace("replicas = 1", "replicas = 2")), "--name", "two")
    assert result.returncode == 1
    assert "prepare_model: replicas: 0, or 1" in result.stderr
    mesh = "replicas = 1, mesh = torch.distributed.init_device_mesh('cpu', {2})"
    result = rtrain.run(training(prepare=FSDP.replace("replicas = 1", mesh)), "--name", "mesh")
    assert result.returncode == 1
    assert "replicas: train.elastic does not heal a model with a mesh" in result.stderr


def sharded(text):
    """Returns a script of test_heal with a sharded model."""
    text = text.replace(
        "train.torch.prepare_model(net)", FSDP.split("= ", 1)[1].replace("nn.Linear", "torch.nn.Linear")
    )
    return text.replace("param:double()", "param:full_tensor():double()")


@pytest.mark.parametrize("torch", ["", "torch_config = train.TorchConfig {backend = 'gloo'},"], ids=["shm", "gloo"])
def test_a_smaller_group_divides_the_rows_again(rtrain, torch):
    set_cpus(rtrain, 3)
    wanted = end_of_reference(rtrain.run_ok(sharded(reference(torch=torch))))
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    result = rtrain.run_ok(sharded(smaller(torch=torch)))
    check_lost_and_left_out(rtrain, result)
    assert ends(result) == wanted


def test_a_smaller_group_grows_again(rtrain):
    set_cpus(rtrain, 3)
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    slow = "if train.get_context():get_world_size() == 2 then os.execute 'sleep 0.2' end"
    result = rtrain.run_ok(sharded(larger("{1, 3}", 2, at_step=LOSE_LAST.replace("@RANK@", "2") + "\n" + slow)))
    check_grown(rtrain, result, [3, 3, 2, 3])
    assert statuses(rtrain) == ["HEALED", "HEALED", "FINISHED", "FINISHED"]
    assert len(ends(result)) == 3


def test_workers_killed_at_random_moments_leave_the_bits_alone(tmp_path):
    check_random_kills(tmp_path, 15 if ALL else 4, "--sharded")
