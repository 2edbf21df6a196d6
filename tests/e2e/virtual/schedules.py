"""Trainings over virtual workers whose ranks and nodes are lost, left out and added as a schedule of random numbers says."""

from dataclasses import dataclass
from random import Random

SCRIPT = """
local files, nets = require 'files', require 'virtual_nets'
local torch, train, rtrain_data = require 'torch', require 'rtrain', require 'rtrain.data'
local data = torch.utils.data
local task = nets.tasks['@NET@']

-- What is lost: {rank or node, step, place, batch of the step, name, of how many ranks that are lost at once}
local LOSSES = {@LOSSES@}

-- The file agent-N has the process of node N, with which its ranks end.
local function lose(loss)
  os.execute(loss.node and 'kill -9 $(cat agent-' .. loss.node .. ')' or 'kill -9 $PPID')
  while true do os.execute 'sleep 0.05' end
end

-- Called at each place of a step, with the number of the step.
local function pass(place, step)
  local context = train.get_context()
  local rank, size, node = context:get_world_rank(), context:get_world_size(), tonumber(os.getenv 'SLURM_NODEID')
  for _, loss in ipairs(LOSSES) do
    local is_mine = rank == loss.rank and size > loss.among or node ~= nil and node == loss.node
    if is_mine and step == loss.step and place == loss.place then
      local is_batch = files.once('seen-' .. loss.name) == (loss.batch == 1)
      if is_batch and files.once('lost-' .. loss.name) then lose(loss) end
    end
  end
  if place == 'after' and size < @WORKERS@ then os.execute 'sleep @PAUSE@' end
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
    placement_strategy = '@PLACEMENT@', resources_per_worker = {CPU = 1}, elastic_resize_monitor_interval_s = 0.1},
  run_config = train.RunConfig {name = '@NAME@', failure_config = train.FailureConfig {node_timeout_s = 4},
    health_config = train.HealthConfig {preflight = false, monitor = false}},
}:fit()
"""

PLACES = {"plain": ["before", "after"], "loop": ["before", "middle", "after"]}
BATCH_SIZE = 2
SAMPLES = {"conv": 66, "resnet18": 80, "packed": 59}  # of virtual_nets.tasks
EPOCHS = {"conv": 3, "resnet18": 1, "packed": 2}


@dataclass
class Loss:
    """Of a rank, or of all that a node has."""

    step: int
    place: str
    batch: int = 1  # of the step, in the process that is lost
    rank: int | None = None
    among: int = 1  # the number of ranks that are lost at once
    node: int | None = None

    def text(self, name):
        who = f"rank = {self.rank}" if self.node is None else f"node = {self.node}"
        return (
            f"{{{who}, step = {self.step}, place = '{self.place}', batch = {self.batch}, among = {self.among}, "
            f"name = '{name}'}}"
        )


@dataclass
class Nodes:
    """The nodes of a job, the first of which is never lost."""

    count: int
    cores: int  # of each
    is_spread: bool = False  # each has workers and room for more; else the first ones are full
    returns_s: float | None = None  # so long after its loss a node is there again; None: never


@dataclass
class Schedule:
    net: str
    source: str
    is_loop: bool = False
    is_compiled: bool = False
    workers: int = 1
    virtual: int = 5
    losses: tuple = ()
    faults: tuple = ()  # RTRAIN_FAULT: processes that do not start, so that a lost rank is left out; further kills
    nodes: Nodes | None = None  # None: this machine alone
    is_fixed: bool = False  # lost workers are never left out

    @property
    def fault(self):
        return ",".join(self.faults)

    def training(self):
        """What ends with the same bits: a compiled step has those of the step."""
        return self.net, self.source, self.is_loop, self.virtual

    def text(self, name):
        values = {
            "NET": self.net,
            "LOSSES": ", ".join(loss.text(f"{name}-{number}") for number, loss in enumerate(self.losses)),
            "PAUSE": 0.2 if self.nodes else 0.05,
            "WORKERS": self.workers,
            "SOURCE": self.source,
            "COMPILED": str(self.is_compiled).lower(),
            "LOOP": str(self.is_loop).lower(),
            "NUM_WORKERS": self.workers if self.is_fixed or not self.losses else f"{{1, {self.workers}}}",
            "VIRTUAL": self.virtual,
            "PLACEMENT": "SPREAD" if self.nodes and self.nodes.is_spread else "PACK",
            "NAME": name,
        }
        out = SCRIPT
        for key, value in values.items():
            out = out.replace(f"@{key}@", str(value))
        return out

    def calm(self):
        return Schedule(self.net, self.source, self.is_loop, virtual=self.virtual)

    def num_batches(self, rank):
        """Returns how many batches of a step a rank has, while no other one is left out."""
        return (rank + 1) * self.virtual // self.workers - rank * self.virtual // self.workers


def lost_ranks(random, schedule, step):
    among = random.randint(1, min(2, schedule.workers - 1))
    for rank in random.sample(range(schedule.workers), among):
        place = random.choice(PLACES["loop" if schedule.is_loop else "plain"])
        yield Loss(step, place, random.randint(1, min(2, schedule.num_batches(rank))), rank, among)


def lost_nodes(random, schedule, step):
    """Without a range of workers each lost node needs another one at once."""
    others = range(1, schedule.nodes.count)
    for node in random.sample(others, random.choice([1, 1, len(others)])):
        yield Loss(step, random.choice(PLACES["loop" if schedule.is_loop else "plain"]), node=node)


def drawn_losses(random, schedule):
    """One rank that holds the state is always left: between two losses is a whole step. In the first step there is none."""
    last = EPOCHS[schedule.net] * -(-SAMPLES[schedule.net] // (BATCH_SIZE * schedule.virtual))
    losses, step = [], 2
    while len(losses) < 4 and (step := step + random.randint(0, last // 2)) <= last:
        is_of_node = schedule.nodes and random.random() < 0.6
        losses += (lost_nodes if is_of_node else lost_ranks)(random, schedule, step)
        step += 2
    return tuple(losses)


def drawn_faults(random, schedule):
    faults, nodes = [], schedule.nodes
    if not nodes and random.random() < 0.6:
        # The first, second or third process that takes a lost one's place does not start. A larger group must start.
        faults.append(f"group.spawn:{schedule.workers + random.randint(1, 3)}:errno=EAGAIN:controller")
    if random.random() < 0.4:
        faults.append("spare.start:1+:errno=EAGAIN:controller")
    if schedule.workers >= 4 and random.random() < 0.4:
        # A further rank is lost in a commit, or on its way back to one. Of four one is left, and one of the first node.
        point = random.choice(
            [f"elastic.prepare:{random.randint(3, 9)}", f"elastic.commit:{random.randint(3, 9)}", "elastic.back:1"]
        )
        rank = random.randrange(1 if nodes else 0, schedule.workers)
        faults.append(f"{point}:kill:rank={rank}:attempt=1")
    return tuple(faults)


def draw_nodes(random, schedule):
    count = random.choice([2, 2, 3, 4])
    cores = random.randint(1, schedule.virtual // count)
    schedule.is_fixed = random.random() < 0.3
    schedule.nodes = Nodes(count, cores, random.random() < 0.3, random.choice([0, 0.5, 2.5]))
    schedule.workers = count * cores
    if schedule.is_fixed and count > 2 and not schedule.nodes.is_spread:
        schedule.workers -= cores  # the last node is in reserve
    if not schedule.is_fixed and random.random() < 0.25:
        schedule.nodes.returns_s = None


def drawn(seed, net=None, is_over_nodes=False):
    random = Random(seed)
    net = net or random.choices(["conv", "packed", "resnet18"], [9, 9, 2])[0]
    out = Schedule(net, random.choice(["loader", "dataset"]), virtual=random.choice([5, 8]))
    out.is_loop = random.random() < 0.33
    out.is_compiled = not out.is_loop and random.random() < 0.4
    out.workers = random.randint(2, out.virtual)
    if is_over_nodes:
        draw_nodes(random, out)
    out.losses = drawn_losses(random, out)
    out.faults = drawn_faults(random, out)
    return out
