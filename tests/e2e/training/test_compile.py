"""train.compile inside a TorchTrainer: a run whose steps are plans is the run whose steps are eager."""

import pytest

from conftest import needs_avx512

SCRIPT = """
local torch, train = require 'torch', require 'rtrain'
local nn, F = torch.nn, torch.nn.functional

local function write_parameters(model, path)
  local file = assert(io.open(path, 'w'))
  for name, p in train.torch.unwrap(model):named_parameters() do
    for _, value in ipairs(p:detach():flatten():tolist()) do file:write(string.format('%s %a\\n', name, value)) end
  end
  file:close()
end

local function train_func(config)
  torch.manual_seed(7)
  local model = train.torch.prepare_model(nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Dropout(0.2), nn.LayerNorm(16),
    nn.SiLU(), nn.Linear(16, 16), nn.GELU('tanh'), nn.Linear(16, 3)))
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.01})
  local scheduler = torch.optim.lr_scheduler.StepLR(optimizer, {step_size = 4, gamma = 0.5})
  local function step(x, y)
    optimizer:zero_grad()
    local loss = F.cross_entropy(model(x), y)
    loss:backward()
    optimizer:step()
    return loss
  end
  local compiled = train.compile(step)
  local call = config.compile == 1 and compiled or step
  for i = 1, 20 do
    local x = torch.randn(8, 6)
    if i == config.broken_at then x:fill_(math.huge) end
    local loss = call(x, torch.randint(0, 3, {8}))
    scheduler:step()
    train.report {loss = loss:item(), state = compiled.state, reason = compiled.reason}
  end
  write_parameters(model, 'parameters-' .. config.compile)
end

local result = train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {compile = 1, broken_at = 0},
  scaling_config = train.ScalingConfig{num_workers = 1},
  run_config = train.RunConfig{failure_config = train.FailureConfig{on_nan = 'error'}},
}:fit()
print('loss', ('%a'):format(result.metrics.loss), 'state', result.metrics.state, 'reason', result.metrics.reason)
"""


def last_line(result):
    return [line for line in result.stdout.splitlines() if line.startswith("loss")][-1]


@pytest.mark.parametrize("capability", [pytest.param("avx512", marks=needs_avx512), "avx2", "default"])
def test_a_compiled_run_is_the_eager_run(rtrain, capability):
    rtrain.env["ATEN_CPU_CAPABILITY"] = capability
    compiled = rtrain.run_ok(SCRIPT)
    eager = rtrain.run_ok(SCRIPT, "--set", "compile=0")
    assert "state\tcompiled" in last_line(compiled)
    assert last_line(compiled).split("\tstate")[0] == last_line(eager).split("\tstate")[0]
    assert (rtrain.folder / "parameters-1").read_text() == (rtrain.folder / "parameters-0").read_text()


@pytest.mark.parametrize(
    "variable, state, reason",
    [("RTRAIN_COMPILE=0", "eager", "RTRAIN_COMPILE=0"), ("RTRAIN_COMPILE_CHECK=1", "compiled", "nil")],
)
def test_the_switches_of_the_environment_leave_the_numbers_alone(rtrain, variable, state, reason):
    plain = rtrain.run_ok(SCRIPT)
    name, value = variable.split("=")
    rtrain.env[name] = value
    switched = rtrain.run_ok(SCRIPT)
    assert f"state\t{state}\treason\t{reason}" in last_line(switched)
    assert last_line(switched).split("\tstate")[0] == last_line(plain).split("\tstate")[0]


def test_a_loss_that_is_not_finite_is_found_in_a_plan(rtrain):
    result = rtrain.run(SCRIPT, "--set", "broken_at=12")
    assert result.returncode != 0
    assert "the loss is nan in step 12: all 8 parameters are not finite" in result.stdout + result.stderr
