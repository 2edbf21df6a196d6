"""train.compile over two nodes: a run whose steps are plans is the run whose steps are eager, also when a rank is lost."""

import pytest

SCRIPT = """
local torch, train = require 'torch', require 'rtrain'
local nn = torch.nn

train.TorchTrainer{
  train_loop_per_worker = function(config)
    torch.manual_seed(3)
    local model = train.torch.prepare_model(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4)))
    local optimizer = torch.optim.NAdam(model:parameters(), {lr = 0.01})
    local state = train.state{model = model, optimizer = optimizer, step = 0}
    local step_of = function(x)
      optimizer:zero_grad()
      local loss = model(x):pow(2):mean()
      loss:backward()
      optimizer:step()
      return loss
    end
    if config.compile then step_of = train.compile(step_of) end
    local context = train.get_context()
    state:load(train.get_checkpoint())
    train.elastic(state, function()
      while state.step < 24 do
        state.step = state.step + 1
        torch.manual_seed(100 * state.step + context:get_world_rank())
        local loss = step_of(torch.randn(5, 6))
        if state.step == config.lost and context:get_world_rank() == 1 and not io.open(config.mark) then
          io.open(config.mark, 'w'):close()
          os.execute 'kill -9 $PPID'
        end
        train.report{loss = loss:item(), state = config.compile and step_of.state or 'eager'}
        state:commit()
      end
    end)
  end,
  train_loop_config = {compile = COMPILE, lost = LOST, mark = 'MARK'},
  scaling_config = train.ScalingConfig{num_workers = 2, placement_strategy = 'SPREAD'},
  run_config = train.RunConfig{failure_config = train.FailureConfig{max_failures = 1}},
}:fit()
"""


def losses_of(rtrain, job, name, compiled, lost):
    text = (
        SCRIPT.replace("COMPILE", compiled).replace("LOST", lost).replace("MARK", str(rtrain.folder / f"lost-{name}"))
    )
    path = rtrain.script(text, f"{name}.lua")
    for result in job("run", path, "--name", name).wait():
        assert result.returncode == 0, result.stderr
    hosts = [[worker["host"] for worker in attempt["workers"]] for attempt in rtrain.json("show", name)["attempts"]]
    assert hosts[0] == ["n0", "n1"]
    reports = rtrain.reports(name)
    assert reports[-1]["state"] == ("compiled" if compiled == "true" else "eager")
    return [report["loss"] for report in reports]


@pytest.mark.parametrize("lost", ["0", "12"])
def test_plans_of_two_nodes_are_the_eager_steps(rtrain, job, lost):
    eager = losses_of(rtrain, job, "eager", "false", "0")
    assert len(eager) == 24
    assert losses_of(rtrain, job, "compiled", "true", lost) == eager
