"""train.compile and train.graph with virtual workers: the bits are those of the step, on any number of processes."""

import pytest

SCRIPT = """
local nets = require 'virtual_nets'
local torch, train = require 'torch', require 'rtrain'
local data, F = torch.utils.data, torch.nn.functional

local function train_func()
  torch.manual_seed(3)
  local x, y = torch.randn(160, 16), torch.randint(0, 4, {160})
  local model = train.torch.prepare_model(nets.@NET@())
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.01})
  local scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, {gamma = 0.9})
  local loader = train.torch.prepare_data_loader(data.DataLoader(data.TensorDataset(x, y), {batch_size = 4, shuffle = true}))
  local function step_of(bx, by, is_step)
    @STEP@
  end
  @WRAP@
  for epoch = 0, 1 do
    loader.sampler:set_epoch(epoch)
    for i, bx, by in loader:enumerate() do
      local loss, norm = step_of(bx, by, i % 2 == 1)
      scheduler:step()
      train.report {loss = loss, norm = norm, i = i, drawn = torch.rand({})}
    end
  end
  if train.get_context():get_world_rank() == 0 then nets.write('out', {model = model.module, optimizer = optimizer}) end
  @END@
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig {num_workers = 1, virtual_workers = 4},
}:fit()
"""
LOSS = "local loss = F.cross_entropy(model(bx), by)"
STEPS = {
    "plain": f"optimizer:zero_grad() {LOSS} loss:backward() optimizer:step() return loss",
    "clipped": f"""optimizer:zero_grad() {LOSS} loss:backward()
      local norm = torch.nn.utils.clip_grad_norm_(model:parameters(), 0.5)
      optimizer:step()
      return loss, norm""",
    "accumulated": f"{LOSS} loss:backward() if is_step then optimizer:step() optimizer:zero_grad() end return loss",
    "no_sync": f"""optimizer:zero_grad()
      model:no_sync(function() model(bx):pow(2):mean():backward() end)
      {LOSS} loss:backward() optimizer:step() return loss""",
}
COMPILED = ("step_of = train.compile(step_of)", "assert(step_of.state == 'compiled', step_of.reason or step_of.state)")
GRAPH = ("step_of = train.graph(step_of)", "assert(step_of.reason:find 'virtual_workers', step_of.reason)")


def ended(rtrain, net, step, workers, wrapped=("", "")):
    script = SCRIPT.replace("@NET@", net).replace("@STEP@", STEPS[step])
    script = script.replace("@WRAP@", wrapped[0]).replace("@END@", wrapped[1])
    rtrain.run_ok(script, "-n", str(workers), "--oversubscribe")
    return (rtrain.folder / "out").read_text(), rtrain.reports()


@pytest.mark.parametrize(
    "net, step", [("conv", step) for step in STEPS] + [("transformer", "clipped"), ("mlp", "plain")]
)
def test_a_compiled_step_has_the_bits_of_the_step(rtrain, net, step):
    first = ended(rtrain, net, step, 2)
    assert len(first[1]) == 20
    for workers in (1, 2, 3, 4):
        assert ended(rtrain, net, step, workers, COMPILED) == first, workers


def test_a_step_under_graph_runs_as_it_is(rtrain):
    first = ended(rtrain, "conv", "clipped", 2)
    for workers in (1, 3):
        assert ended(rtrain, "conv", "clipped", workers, GRAPH) == first, workers
