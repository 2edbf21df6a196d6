"""`rtrain profile --timeline`: the last steps of all ranks side by side, with their phases; a slow rank is named."""

import json

# Rank 1 takes longer for each batch, as its own counter shows; the other rank waits for it when gradients are reduced.
SLOW = """
local torch = require 'torch'
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    local rank = train.get_context():get_world_rank()
    local model = train.torch.prepare_model(torch.nn.Linear(64, 64))
    local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.01})
    local x = torch.ones(256, 64)
    for step = 1, 40 do
      optimizer:zero_grad()
      local until_s = os.clock() + (rank == 1 and 0.06 or 0)
      local loss = model(x):sum()
      while os.clock() < until_s do x:mm(x:t()) end
      loss:backward()
      optimizer:step()
      train.report{step = step}
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'slow'},
}:fit()
"""


def test_the_slow_rank_is_named(rtrain):
    rtrain.run_ok(SLOW)
    result = rtrain("profile", "slow", "--timeline", "--steps", "20", "-o", rtrain.folder / "trace.json")
    assert result.returncode == 0, result.stderr
    assert "rank 1 is the slowest: the others wait" in result.stdout and "on compute" in result.stdout, result.stdout
    rows = [line for line in result.stdout.splitlines() if line.strip().startswith(("0 ", "1 "))]
    assert len(rows) == 2 and rows[0].count(".") > rows[1].count("."), result.stdout

    document = json.loads(rtrain("profile", "slow", "--timeline", "--json").stdout)
    slow = document["straggler"]
    assert slow["rank"] == 1 and slow["phase"] == "compute" and slow["waited_s"] > 0.03, document
    first, second = document["ranks"]
    assert first["wait_s"] > second["wait_s"] and second["compute_s"] > first["compute_s"]
    for rank in document["ranks"]:
        assert rank["steps"] == document["to_step"] - document["from_step"]
        # The steps of all ranks take the same time.
        assert abs(rank["step_s"] - first["step_s"]) < 0.5 * first["step_s"]
        assert rank["intervals"][-1]["to_step"] == document["to_step"]

    events = json.loads((rtrain.folder / "trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1}
    assert {"compute", "communication"} <= {event["name"] for event in events}


def test_what_has_no_timeline_is_said(rtrain):
    rtrain.run_ok(SLOW.replace("optimizer:step()", "").replace("1, 40", "1, 2"))
    result = rtrain("profile", "slow", "--timeline")
    assert result.returncode == 2 and "has recorded no step of an optimizer" in result.stderr
    assert "leave out --flame" in rtrain("profile", "slow", "--timeline", "--flame").stderr
    assert ".json" in rtrain("profile", "slow", "--timeline", "-o", "x.svg").stderr
