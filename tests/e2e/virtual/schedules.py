"""Trainings over virtual workers whose ranks are lost, left out and added as a schedule of random numbers says."""

from dataclasses import dataclass
from random import Random

VIRTUAL = 5
SCRIPT = """
local files, nets = require 'files', require 'virtual_nets'
local torch, train, rtrain_data = require 'torch', require 'rtrain', require 'rtrain.data'
local data = torch.utils.data
local task = nets.tasks['@NET@']

-- What is lost: {rank, step, place, batch of the step, name, of how many that are lost at once}
local LOSSES = {@LOSSES@}
local SLOW = @SLOW@

-- Called at each place of a step, with the number of the step.
local function pass(place, step)
  local context = train.get_context()
  local rank, size = context:get_world_rank(), context:get_world_size()
  for _, loss in ipairs(LOSSES) do
    if rank == loss.rank and step == loss.step and place == loss.place and size > loss.among then
      local is_batch = files.once('seen-' .. loss.name) == (loss.batch == 1)
      if is_batch and files.once('lost-' .. loss.name) then os.execute 'kill -9 $PPID' end
    end
  end
  if SLOW and place == 'after' and size < @WORKERS@ then os.execute 'sleep 0.05' end
end

local function loss_of(model, batch) return task.loss(model, batch) end

local function batches_of(source)
  if '@SOURCE@' == 'loader' then return source end
  return source:iter_torch_batches {batch_size = task.batch_size}
end

local function source_of()
  if '@SOURCE@' ~= 'loader' then return train.get_dataset_shard 'rows' end
  return train.torch.prepare_data_loader(data.DataLoader(task.set(), {batch_size = task.batch_size, shuffle = true}))
end

local function train_plainly()
  local model = train.torch.prepare_model(task.net())
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.005})
  local source = source_of()
  local state = train.state {model = model, optimizer = optimizer, source = source, step = 0, epoch = 0}
  local function step_of(batch)
    optimizer:zero_grad()
    local loss = loss_of(model, batch)
    loss:backward()
    local norm = torch.nn.utils.clip_grad_norm_(model:parameters(), 0.5)
    optimizer:step()
    return loss, norm
  end
  if @COMPILED@ then step_of = train.compile(step_of) end
  state:load(train.get_checkpoint())
  train.elastic(state, function()
    while state.epoch < task.epochs do
      if '@SOURCE@' == 'loader' then source.sampler:set_epoch(state.epoch) end
      for first, second in batches_of(source) do
        state.step = state.step + 1
        pass('before', state.step)
        local loss, norm = step_of(second and {first, second} or first)
        -- A rank that is lost behind the optimizer's step has made it: what it has not reported by then is missing.
        train.report {loss = loss, norm = norm, step = state.step, drawn = torch.rand({})}
        pass('after', state.step)
        state:commit()
      end
      state.epoch = state.epoch + 1
    end
  end)
  -- A model of packed tokens reads where documents begin.
  local is_asserted = @COMPILED@ and #LOSSES == 0 and '@NET@' ~= 'packed'
  assert(not is_asserted or step_of.state == 'compiled', is_asserted and step_of.reason)
  return model.module, optimizer
end

local function train_in_loop()
  local Losing = train.loop.Callback:extend 'Losing'
  function Losing:on_before_optimizer_step(loop) pass('middle', loop.global_step + 1) end
  function Losing:on_train_batch_end(loop) pass('after', loop.global_step) end
  local module, optimizer, step = task.net(), nil, nil
  local Steps = train.loop.Callback:extend 'Steps'
  function Steps:on_train_batch_start(loop) step = loop.global_step + 1 end
  train.loop {
    model = module,
    optimizer = function(model)
      optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.005})
      return optimizer
    end,
    training_step = function(model, batch)
      pass('before', step)
      return {loss = loss_of(model, batch), drawn = torch.rand({})}
    end,
    train_dataloader = batches_of(source_of()), max_epochs = task.epochs, gradient_clip_val = 0.5,
    enable_checkpointing = false, callbacks = {Steps(), Losing()},
  }
  return module, optimizer
end

local function train_func()
  torch.manual_seed(3)
  local module, optimizer = (@LOOP@ and train_in_loop or train_plainly)()
  if train.get_context():get_world_rank() == 0 then
    nets.write('out-' .. train.get_context():get_experiment_name(), {model = module, optimizer = optimizer})
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  datasets = '@SOURCE@' ~= 'loader' and {rows = task.dataset()} or nil,
  scaling_config = train.ScalingConfig {num_workers = @NUM_WORKERS@, virtual_workers = @VIRTUAL@,
    resources_per_worker = {CPU = 1}, elastic_resize_monitor_interval_s = 0.1},
  run_config = train.RunConfig {name = '@NAME@'},
}:fit()
"""

STEPS = {"conv": 21, "resnet18": 6, "packed": 12}  # of virtual_nets.tasks
PLACES = {"plain": ["before", "after"], "loop": ["before", "middle", "after"]}


@dataclass
class Schedule:
    net: str
    source: str
    is_loop: bool = False
    is_compiled: bool = False
    workers: int = 1
    losses: tuple = ()
    fault: str = ""  # processes that do not start, so that a lost rank is left out

    def training(self):
        """What ends with the same bits: a compiled step has those of the step."""
        return self.net, self.source, self.is_loop

    def text(self, name):
        losses = ", ".join(
            f"{{rank = {rank}, step = {step}, place = '{place}', batch = {batch}, among = {among}, "
            f"name = '{name}-{number}'}}"
            for number, (rank, step, place, batch, among) in enumerate(self.losses)
        )
        workers = f"{{1, {self.workers}}}" if self.losses else str(self.workers)
        values = {
            "NET": self.net,
            "LOSSES": losses,
            "SLOW": str(bool(self.fault)).lower(),
            "WORKERS": self.workers,
            "SOURCE": self.source,
            "COMPILED": str(self.is_compiled).lower(),
            "LOOP": str(self.is_loop).lower(),
            "NUM_WORKERS": workers,
            "VIRTUAL": VIRTUAL,
            "NAME": name,
        }
        out = SCRIPT
        for key, value in values.items():
            out = out.replace(f"@{key}@", str(value))
        return out

    def calm(self):
        return Schedule(self.net, self.source, self.is_loop)


def drawn_losses(random, net, kind, workers):
    """One rank that holds the state is always left: between two losses is a whole step. In the first step there is none."""
    losses, step = [], 2
    while len(losses) < 4 and (step := step + random.randint(0, STEPS[net] // 2)) <= STEPS[net]:
        among = random.randint(1, min(2, workers - 1))
        for rank in random.sample(range(workers), among):
            losses.append((rank, step, random.choice(PLACES[kind]), random.randint(1, 2), among))
        step += 2
    return tuple(losses)


def drawn(seed, net=None):
    random = Random(seed)
    net = net or random.choice(["conv", "conv", "packed", "packed", "resnet18"])
    source = random.choice(["loader", "dataset"])
    kind = random.choice(["plain", "plain", "loop"])
    is_compiled = kind == "plain" and random.random() < 0.4
    workers = random.randint(2, 4)
    losses = drawn_losses(random, net, kind, workers)
    # The first, second or third process that takes a lost one's place does not start. A larger group must start.
    fault = f"group.spawn:{workers + random.randint(1, 3)}:errno=EAGAIN:controller" if random.random() < 0.7 else ""
    return Schedule(net, source, kind == "loop", is_compiled, workers, losses, fault)
