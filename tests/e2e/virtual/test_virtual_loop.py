"""train.loop with virtual workers: the same bits, means and callbacks on any number of processes."""

import pytest

from conftest import needs_avx512, sample

SCRIPT = """
local nets = require 'virtual_nets'
local torch, train = require 'torch', require 'rtrain'
local data = torch.utils.data

local function number(value) return value > 0 and value or nil end

local function train_func(config)
  torch.manual_seed(3)
  local x, y = torch.randn(203, 16), torch.randint(0, 4, {203})
  local seen, optimizer, module = {}, nil, nets[config.net]()
  local Watch = train.loop.Callback:extend 'Watch'
  function Watch:on_train_batch_start(_, batch, i) seen[#seen + 1] = ('start %d %a'):format(i, batch[1]:sum():item()) end
  function Watch:on_train_batch_end(loop, outputs, _, i)
    seen[#seen + 1] = ('end %d %d %d %a'):format(i, loop.batch_idx, loop.global_step, outputs.loss:item())
  end
  local done = train.loop {
    model = module,
    optimizer = function(model)
      optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01})
      return optimizer
    end,
    training_step = function(model, batch)
      return {loss = torch.nn.functional.cross_entropy(model(batch[1]), batch[2]), drawn = torch.rand({})}
    end,
    validation_step = function(model, batch)
      local out = model(batch[1])
      return {val_loss = torch.nn.functional.cross_entropy(out, batch[2]), correct = out:argmax(1):eq(batch[2]):double():mean()}
    end,
    train_dataloader = data.DataLoader(data.TensorDataset(x, y), {batch_size = 5, shuffle = true}),
    val_dataloader = data.DataLoader(data.TensorDataset(x, y), {batch_size = 4}),
    max_epochs = 3, accumulate_grad_batches = config.accumulate, gradient_clip_val = 0.5, log_every_n_steps = 1,
    max_steps = number(config.max_steps), limit_train_batches = number(config.train_batches),
    limit_val_batches = number(config.val_batches),
    callbacks = {Watch(), train.loop.ModelCheckpoint {every_n_train_steps = number(config.save_every)}},
    lr_scheduler = function(of) return torch.optim.lr_scheduler.StepLR(of, 3, {gamma = 0.9}) end,
    lr_scheduler_interval = 'step', precision = config.precision,
  }
  if train.get_context():get_world_rank() == 0 then
    nets.write('out', {model = module, optimizer = optimizer})
    local file = io.open('seen', 'w')
    file:write(table.concat(seen, '\\n'))
    file:close()
  end
  return done.steps
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {net = 'conv', accumulate = 1, precision = '32-true', max_steps = 0, train_batches = 0, val_batches = 0,
    save_every = 0},
  scaling_config = train.ScalingConfig {num_workers = 1, virtual_workers = 4},
  run_config = train.RunConfig {name = NAME},
}:fit()
"""


def ended(rtrain, workers, settings, name=None):
    set_args = [arg for setting in settings for arg in ("--set", setting)]
    script = SCRIPT.replace("NAME", f"'{name}'" if name else "nil")
    resume = ["--resume", "must"] if name else []
    rtrain.run_ok(script, "-n", str(workers), "--oversubscribe", *set_args, *resume)
    return (rtrain.folder / "out").read_text(), rtrain.reports(), (rtrain.folder / "seen").read_text()


CASES = {
    "plain": [],
    "accumulated": ["accumulate=2"],
    "16-mixed": ["precision=16-mixed"],
    "limited": ["train_batches=7", "val_batches=3"],
    "steps": ["max_steps=15", "save_every=4"],
    "lstm": ["net=lstm", "precision=bf16-mixed"],
}


# oneDNN has an LSTM of bfloat16 for processors with AVX-512 alone, also in Python.
@pytest.mark.parametrize("case", [*list(CASES)[:-1], pytest.param("lstm", marks=needs_avx512)])
def test_any_number_of_processes_has_the_same_bits_means_and_callbacks(rtrain, case):
    first = ended(rtrain, 1, CASES[case])
    assert len(first[1]) >= 3 and len(first[2].splitlines()) > 20
    for workers in sample(2, 4, 3):
        assert ended(rtrain, workers, CASES[case]) == first, workers


@pytest.mark.parametrize("before, after", [(1, 4), (3, 2)])
def test_a_checkpoint_goes_on_with_another_number(rtrain, before, after):
    """In the middle of an epoch, whose means are of all its batches."""
    settings = ["save_every=4"]
    straight = ended(rtrain, 2, settings)
    script = SCRIPT.replace("NAME", "'cut'").replace(
        "seen[#seen + 1] = ('start", "assert(loop.global_step < 18, 'cut') seen[#seen + 1] = ('start"
    )
    script = script.replace("on_train_batch_start(_,", "on_train_batch_start(loop,")
    cut = rtrain.run(script, "-n", before, "--oversubscribe", "--set", "save_every=4")
    assert cut.returncode != 0 and "cut" in cut.stderr
    resumed = ended(rtrain, after, settings, name="cut")
    assert resumed[0] == straight[0] and resumed[1][-2:] == straight[1][-2:]
    assert resumed[2].splitlines()[-20:] == straight[2].splitlines()[-20:]
