"""Virtual workers in train.elastic: losses, and groups that become smaller and larger, end with the bits of a calm run."""

from random import Random

import pytest

from conftest import no_process, sample, set_cpus

NO_FOURTH = no_process(4)
SCRIPT = """
local files, nets = require 'files', require 'virtual_nets'
local torch, train = require 'torch', require 'rtrain'
local data = torch.utils.data

local function train_func()
  torch.manual_seed(3)
  local x, y = torch.randn(150, 16), torch.randint(0, 4, {150})
  local model = train.torch.prepare_model(nets.conv())
  local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01})
  local loader = train.torch.prepare_data_loader(data.DataLoader(data.TensorDataset(x, y), {batch_size = 4, shuffle = true}))
  local state = train.state {model = model, optimizer = optimizer, loader = loader, step = 0, epoch = 0}
  state:load(train.get_checkpoint())
  train.elastic(state, function()
    local context = train.get_context()
    local rank, size = context:get_world_rank(), context:get_world_size()
    while state.epoch < 3 do
      loader.sampler:set_epoch(state.epoch)
      for bx, by in loader do
        state.step = state.step + 1
        optimizer:zero_grad()
        local loss = torch.nn.functional.cross_entropy(model(bx), by)
        @BEFORE_BACKWARD@
        loss:backward()
        @AFTER_BACKWARD@
        optimizer:step()
        train.report {loss = loss, step = state.step, drawn = torch.rand({}), size = size}
        @AFTER_STEP@
        state:commit()
      end
      state.epoch = state.epoch + 1
    end
  end)
  if train.get_context():get_world_rank() == 0 then nets.write('out-' .. train.get_context():get_experiment_name(), {
    model = model.module, optimizer = optimizer}) end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  @BACKEND@
  scaling_config = train.ScalingConfig {num_workers = @WORKERS@, virtual_workers = 5, @SCALING@},
  run_config = train.RunConfig {name = '@NAME@'},
}:fit()
"""
LOSE = (
    "if rank == {rank} and state.step == {step} and files.once 'lost-{rank}-{step}' then os.execute 'kill -9 $PPID' end"
)


def text(name, workers, scaling="resources_per_worker = {CPU = 1}", backend="", **places):
    out = SCRIPT.replace("@NAME@", name).replace("@WORKERS@", str(workers)).replace("@SCALING@", scaling)
    out = out.replace("@BACKEND@", backend)
    for place in ("BEFORE_BACKWARD", "AFTER_BACKWARD", "AFTER_STEP"):
        out = out.replace(f"@{place}@", places.get(place.lower(), ""))
    return out


def ended(rtrain, name):
    """Returns what the run ended with, and its reports, which are of one virtual rank, whatever the number of processes."""
    rows = [row for row in rtrain.json("metrics", name, "--ranks", "--superseded") if not row["superseded"]]
    reports = [{key: row["ranks"][0][key] for key in ("loss", "step", "drawn")} for row in rows]
    return (rtrain.folder / f"out-{name}").read_text(), reports


def sizes(rtrain, name):
    return [
        size
        for (size,) in rtrain.query(
            "SELECT attempts.num_workers FROM attempts JOIN runs USING(run_id) WHERE name = ? ORDER BY attempt", name
        )
    ]


def statuses(rtrain, name):
    return [attempt["status"] for attempt in rtrain.json("show", name)["attempts"]]


def calm(rtrain, workers=1):
    set_cpus(rtrain, 3)
    rtrain.run_ok(text("calm", workers))
    out, reports = ended(rtrain, "calm")
    assert [report["step"] for report in reports] == list(range(1, 25))
    return out, reports


def schedule(seed):
    """Returns what loses ranks: each at a step, a place in it and one of its batches."""
    random = Random(seed)
    places = dict.fromkeys(PLACES, "")
    for number in range(random.randint(2, 4)):
        rank, step, batch = random.randrange(3), random.randint(1, 22), random.randint(1, 2)
        is_batch = f"files.once 'seen-{number}-1'" if batch == 1 else f"not files.once 'first-{number}'"
        places[random.choice(PLACES)] += (
            f"if rank == {rank} and state.step == {step} and {is_batch} and files.once 'lost-{number}' then "
            "os.execute 'kill -9 $PPID' end "
        )
    return places


PLACES = ["before_backward", "after_backward", "after_step"]


@pytest.mark.parametrize("place", PLACES)
def test_a_lost_rank_is_replaced(rtrain, place):
    """Rank 0, with the first two virtual ranks, and rank 1, with three of them; in the second batch of its step."""
    wanted = calm(rtrain)
    second_batch = "if rank == 1 and state.step == 15 and not files.once 'first' and files.once 'second' then "
    lose = f"{LOSE.format(rank=0, step=4)} {second_batch} os.execute 'kill -9 $PPID' end"
    rtrain.run_ok(text("healed", 2, **{place: lose}))
    assert statuses(rtrain, "healed") == ["HEALED", "HEALED", "FINISHED"]
    assert ended(rtrain, "healed") == wanted


@pytest.mark.parametrize("lost", [0, 1, 2])
@pytest.mark.parametrize("backend", ["", "torch_config = train.TorchConfig {backend = 'gloo'},"], ids=["shm", "gloo"])
def test_a_smaller_group(rtrain, lost, backend):
    wanted = calm(rtrain)
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    rtrain.run_ok(text("smaller", "{1, 3}", backend=backend, before_backward=LOSE.format(rank=lost, step=6)))
    assert sizes(rtrain, "smaller") == [3, 3, 2]
    assert ended(rtrain, "smaller") == wanted


def test_a_smaller_group_that_grows_again(rtrain):
    wanted = calm(rtrain)
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    slow = "if size == 2 then os.execute 'sleep 0.1' end "
    scaling = "elastic_resize_monitor_interval_s = 0.1, resources_per_worker = {CPU = 1}"
    result = rtrain.run_ok(
        text("grown", "{1, 3}", scaling, before_backward=LOSE.format(rank=1, step=6), after_step=slow)
    )
    assert sizes(rtrain, "grown") == [3, 3, 2, 3], result.stderr
    assert ended(rtrain, "grown") == wanted


@pytest.mark.parametrize("seed", sample(*range(40)))
def test_random_losses_of_a_group_whose_size_changes(rtrain, seed):
    """Where no fourth process starts, a lost rank is left out; the group grows again when it can."""
    wanted = calm(rtrain, workers=1 + seed % 3)
    if seed % 2:
        rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    scaling = "elastic_resize_monitor_interval_s = 0.1, resources_per_worker = {CPU = 1}"
    places = schedule(seed)
    places["after_step"] += "if size == 2 then os.execute 'sleep 0.05' end"
    rtrain.run_ok(text("random", "{1, 3}", scaling, **places))
    assert statuses(rtrain, "random")[-1] == "FINISHED"
    assert ended(rtrain, "random") == wanted


def of_a_dataset(script):
    """Returns the script with the same samples out of a dataset's shard."""
    script = script.replace("loader.sampler:set_epoch(state.epoch)", "")
    first = script.index("local loader = ")
    script = script[:first] + "local loader = train.get_dataset_shard 'rows'" + script[script.index("\n", first) :]
    script = script.replace(
        "for bx, by in loader do",
        "for batch in loader:iter_torch_batches {batch_size = 4} do\n"
        "local bx, by = x:index_select(0, batch.id), y:index_select(0, batch.id)",
    )
    rows = "rtrain_data.range(150):filter(function(row) return row.id % 10 > 0 end)"
    script = script.replace("scaling_config =", f"datasets = {{rows = {rows}}},\n  scaling_config =")
    return "local rtrain_data = require 'rtrain.data'\n" + script


def test_a_group_that_loops_over_a_dataset_becomes_smaller_and_grows(rtrain):
    """Nobody knows the number of rows: the processes agree on it in rounds."""
    set_cpus(rtrain, 3)
    rtrain.run_ok(of_a_dataset(text("calm", 1)))
    rtrain.run_ok(of_a_dataset(text("calm-3", 3)))
    wanted = ended(rtrain, "calm")
    assert len(wanted[1]) == 21 and ended(rtrain, "calm-3") == wanted
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    scaling = "elastic_resize_monitor_interval_s = 0.1, resources_per_worker = {CPU = 1}"
    slow = "if size == 2 then os.execute 'sleep 0.1' end "
    rtrain.run_ok(
        of_a_dataset(text("rows", "{1, 3}", scaling, after_backward=LOSE.format(rank=0, step=10), after_step=slow))
    )
    assert sizes(rtrain, "rows") == [3, 3, 2, 3]
    assert ended(rtrain, "rows") == wanted
