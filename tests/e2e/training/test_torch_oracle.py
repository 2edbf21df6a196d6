"""Layers, losses, optimizers, schedules, samplers and files compared with Python's torch, with the same seeds."""

import copy
import json
import math

import pytest

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
nn = torch.nn
F = torch.nn.functional


def run_lua(rtrain, text):
    """Runs the text with rtrain exec; returns the folder in which it writes files."""
    path = rtrain.script(text, "oracle.lua")
    result = rtrain("exec", path)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def assert_equal(actual, expected, tolerance=0.0):
    actual, expected = torch.as_tensor(actual), torch.as_tensor(expected)
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    if tolerance == 0:
        assert torch.equal(actual, expected)
    else:
        assert torch.allclose(actual, expected, rtol=tolerance, atol=tolerance)


# name, Lua, Python, shape of the input
LAYERS = [
    ("linear", "nn.Linear(5, 3)", lambda: nn.Linear(5, 3), (4, 5)),
    ("linear_plain", "nn.Linear(5, 3, {bias = false})", lambda: nn.Linear(5, 3, bias=False), (4, 5)),
    ("conv1d", "nn.Conv1d(2, 4, 3, {padding = 1})", lambda: nn.Conv1d(2, 4, 3, padding=1), (2, 2, 9)),
    ("conv2d", "nn.Conv2d(3, 8, 3, 2)", lambda: nn.Conv2d(3, 8, 3, 2), (2, 3, 9, 9)),
    (
        "conv2d_groups",
        "nn.Conv2d(4, 8, {3, 5}, {groups = 2, dilation = 2, bias = false})",
        lambda: nn.Conv2d(4, 8, (3, 5), groups=2, dilation=2, bias=False),
        (2, 4, 12, 12),
    ),
    (
        "conv2d_same",
        "nn.Conv2d(1, 2, 4, {padding = 'same', padding_mode = 'circular'})",
        lambda: nn.Conv2d(1, 2, 4, padding="same", padding_mode="circular"),
        (1, 1, 6, 6),
    ),
    ("conv3d", "nn.Conv3d(1, 2, 2)", lambda: nn.Conv3d(1, 2, 2), (1, 1, 4, 4, 4)),
    (
        "conv_transpose2d",
        "nn.ConvTranspose2d(3, 2, 3, {stride = 2, output_padding = 1})",
        lambda: nn.ConvTranspose2d(3, 2, 3, stride=2, output_padding=1),
        (1, 3, 4, 4),
    ),
    ("max_pool2d", "nn.MaxPool2d(3, 2, {padding = 1})", lambda: nn.MaxPool2d(3, 2, padding=1), (1, 2, 8, 8)),
    (
        "avg_pool2d",
        "nn.AvgPool2d(2, {count_include_pad = false, padding = 1})",
        lambda: nn.AvgPool2d(2, count_include_pad=False, padding=1),
        (1, 2, 8, 8),
    ),
    ("adaptive", "nn.AdaptiveAvgPool2d{3, 2}", lambda: nn.AdaptiveAvgPool2d((3, 2)), (1, 2, 8, 8)),
    ("dropout", "nn.Dropout(0.3)", lambda: nn.Dropout(0.3), (50,)),
    ("dropout2d", "nn.Dropout2d(0.5)", lambda: nn.Dropout2d(0.5), (4, 6, 2, 2)),
    ("batch_norm1d", "nn.BatchNorm1d(3)", lambda: nn.BatchNorm1d(3), (6, 3)),
    (
        "batch_norm2d",
        "nn.BatchNorm2d(3, {momentum = 0.3, affine = false})",
        lambda: nn.BatchNorm2d(3, momentum=0.3, affine=False),
        (4, 3, 2, 2),
    ),
    ("layer_norm", "nn.LayerNorm({2, 4})", lambda: nn.LayerNorm((2, 4)), (3, 2, 4)),
    ("group_norm", "nn.GroupNorm(2, 4)", lambda: nn.GroupNorm(2, 4), (3, 4, 5)),
    (
        "bilinear_free",
        "nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))",
        lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)),
        (5, 4),
    ),
    ("gelu", "nn.GELU{approximate = 'tanh'}", lambda: nn.GELU(approximate="tanh"), (7,)),
    ("silu", "nn.SiLU()", lambda: nn.SiLU(), (7,)),
    ("leaky_relu", "nn.LeakyReLU(0.2)", lambda: nn.LeakyReLU(0.2), (7,)),
    ("elu", "nn.ELU()", lambda: nn.ELU(), (7,)),
    ("softmax", "nn.Softmax(1)", lambda: nn.Softmax(1), (3, 4)),
    ("log_softmax", "nn.LogSoftmax{dim = 1}", lambda: nn.LogSoftmax(dim=1), (3, 4)),
    (
        "encoder_layer",
        "nn.TransformerEncoderLayer(8, 2, {dim_feedforward = 16, dropout = 0, batch_first = true})",
        lambda: nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0, batch_first=True),
        (2, 5, 8),
    ),
]


def test_layers_begin_with_the_same_numbers_and_compute_the_same(rtrain):
    lines = "\n".join(
        f"add('{name}', function() return {lua} end, {{{', '.join(map(str, shape))}}})"
        for name, lua, _, shape in LAYERS
    )
    run_lua(
        rtrain,
        f"""
local torch = require 'torch'
local nn = require 'torch.nn'
local out = {{}}
local function add(name, make, shape)
  torch.manual_seed(7)
  local layer = make()
  local x = torch.randn(shape, {{requires_grad = true}})
  local y = layer(x)
  local loss = torch.sum(y * y)
  loss:backward()
  out[name] = {{state = layer:state_dict(), y = y:detach(), grad = x.grad, text = tostring(layer)}}
end
{lines}
torch.save(out, 'layers.pt')
""",
    )
    results = torch.load(rtrain.folder / "layers.pt", weights_only=True)
    for name, _, make, shape in LAYERS:
        torch.manual_seed(7)
        layer = make()
        x = torch.randn(shape, requires_grad=True)
        y = layer(x)
        (y * y).sum().backward()
        ours = results[name]
        assert list(ours["state"]) == list(layer.state_dict()), name
        for key, value in layer.state_dict().items():
            assert_equal(ours["state"][key], value, 1e-6 if "running" in key else 0)
        assert_equal(ours["y"], y.detach(), 1e-5)
        assert_equal(ours["grad"], x.grad, 1e-4)
        if name != "encoder_layer":  # Python prints its inner projection as NonDynamicallyQuantizableLinear
            assert ours["text"] == repr(layer), name


LOSSES = [
    (
        "cross_entropy",
        "F.cross_entropy(x, c, {label_smoothing = 0.1})",
        lambda x, c, y: F.cross_entropy(x, c, label_smoothing=0.1),
    ),
    (
        "cross_entropy_weight",
        "nn.CrossEntropyLoss{weight = torch.arange(1, 5):float()}(x, c)",
        lambda x, c, y: nn.CrossEntropyLoss(weight=torch.arange(1, 5).float())(x, c),
    ),
    (
        "nll",
        "nn.NLLLoss{ignore_index = 1}(F.log_softmax(x, 1), c)",
        lambda x, c, y: nn.NLLLoss(ignore_index=1)(F.log_softmax(x, 1), c),
    ),
    ("mse", "nn.MSELoss()(x, y)", lambda x, c, y: nn.MSELoss()(x, y)),
    ("l1", "nn.L1Loss{reduction = 'sum'}(x, y)", lambda x, c, y: nn.L1Loss(reduction="sum")(x, y)),
    ("smooth_l1", "nn.SmoothL1Loss{beta = 0.5}(x, y)", lambda x, c, y: nn.SmoothL1Loss(beta=0.5)(x, y)),
    ("huber", "nn.HuberLoss()(x, y)", lambda x, c, y: nn.HuberLoss()(x, y)),
    (
        "bce",
        "nn.BCELoss()(torch.sigmoid(x), torch.sigmoid(y))",
        lambda x, c, y: nn.BCELoss()(torch.sigmoid(x), torch.sigmoid(y)),
    ),
    (
        "bce_logits",
        "nn.BCEWithLogitsLoss{pos_weight = torch.full({4}, 2)}(x, torch.sigmoid(y))",
        lambda x, c, y: nn.BCEWithLogitsLoss(pos_weight=torch.full((4,), 2.0))(x, torch.sigmoid(y)),
    ),
    (
        "kl",
        "nn.KLDivLoss{reduction = 'batchmean'}(F.log_softmax(x, 1), F.softmax(y, 1))",
        lambda x, c, y: nn.KLDivLoss(reduction="batchmean")(F.log_softmax(x, 1), F.softmax(y, 1)),
    ),
]


def test_losses(rtrain):
    lines = "\n".join(f"out['{name}'] = {lua}" for name, lua, _ in LOSSES)
    run_lua(
        rtrain,
        f"""
local torch = require 'torch'
local nn, F = torch.nn, torch.nn.functional
torch.manual_seed(3)
local x, y, c = torch.randn(6, 4), torch.randn(6, 4), torch.randint(0, 4, {{6}})
local out = {{}}
{lines}
torch.save(out, 'losses.pt')
""",
    )
    ours = torch.load(rtrain.folder / "losses.pt", weights_only=True)
    torch.manual_seed(3)
    x, y, c = torch.randn(6, 4), torch.randn(6, 4), torch.randint(0, 4, (6,))
    for name, _, make in LOSSES:
        assert_equal(ours[name], make(x, c, y), 1e-6)


OPTIMIZERS = [
    (
        "sgd",
        "optim.SGD(p, {lr = 0.1, momentum = 0.9, weight_decay = 0.01, nesterov = true})",
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    ),
    (
        "sgd_dampening",
        "optim.SGD(p, {lr = 0.1, momentum = 0.9, dampening = 0.5, maximize = true})",
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5, maximize=True),
    ),
    (
        "adam",
        "optim.Adam(p, {lr = 0.01, weight_decay = 0.1, amsgrad = true})",
        lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.1, amsgrad=True),
    ),
    ("adamw", "optim.AdamW(p, {lr = 0.01})", lambda p: torch.optim.AdamW(p, lr=0.01)),
    (
        "adadelta",
        "optim.Adadelta(p, {lr = 1, weight_decay = 0.01})",
        lambda p: torch.optim.Adadelta(p, lr=1.0, weight_decay=0.01),
    ),
    (
        "adagrad",
        "optim.Adagrad(p, {lr = 0.1, lr_decay = 0.01})",
        lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.01),
    ),
    ("adamax", "optim.Adamax(p, {lr = 0.02})", lambda p: torch.optim.Adamax(p, lr=0.02)),
    (
        "nadam",
        "optim.NAdam(p, {lr = 0.02, weight_decay = 0.01})",
        lambda p: torch.optim.NAdam(p, lr=0.02, weight_decay=0.01),
    ),
    ("radam", "optim.RAdam(p, {lr = 0.02})", lambda p: torch.optim.RAdam(p, lr=0.02)),
    (
        "rmsprop",
        "optim.RMSprop(p, {momentum = 0.5, centered = true})",
        lambda p: torch.optim.RMSprop(p, momentum=0.5, centered=True),
    ),
    ("rprop", "optim.Rprop(p)", lambda p: torch.optim.Rprop(p)),
    ("asgd", "optim.ASGD(p, {t0 = 2})", lambda p: torch.optim.ASGD(p, t0=2)),
    ("adafactor", "optim.Adafactor(p)", lambda p: torch.optim.Adafactor(p)),
    (
        "lbfgs",
        "optim.LBFGS(p, {max_iter = 3, history_size = 4, line_search_fn = 'strong_wolfe'})",
        lambda p: torch.optim.LBFGS(p, max_iter=3, history_size=4, line_search_fn="strong_wolfe"),
    ),
]

STEPS = """
local function steps(net, optimizer, count)
  for _ = 1, count do
    optimizer:step(function()
      optimizer:zero_grad()
      local loss = torch.nn.functional.mse_loss(net(x), y)
      loss:backward()
      return loss
    end)
  end
end
"""


def python_steps(net, optimizer, x, y, count):
    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        return loss

    for _ in range(count):
        optimizer.step(closure)


def python_net():
    torch.manual_seed(11)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    return net, torch.randn(16, 4), torch.randn(16, 1)


@pytest.mark.parametrize("name, lua, make", OPTIMIZERS, ids=[entry[0] for entry in OPTIMIZERS])
def test_optimizers_and_their_files_both_ways(rtrain, name, lua, make):
    net, x, y = python_net()
    optimizer = make(net.parameters())
    python_steps(net, optimizer, x, y, 3)
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, rtrain.folder / "python.pt")
    python_steps(net, optimizer, x, y, 3)
    run_lua(
        rtrain,
        f"""
local torch = require 'torch'
local nn, optim = torch.nn, torch.optim
torch.manual_seed(11)
local net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
local x, y = torch.randn(16, 4), torch.randn(16, 1)
{STEPS}
local function make(p) return {lua} end
local optimizer = make(net:parameters())
steps(net, optimizer, 3)
torch.save({{net = net:state_dict(), optimizer = optimizer:state_dict()}}, 'ours.pt')
steps(net, optimizer, 3)
torch.save(net:state_dict(), 'straight.pt')

local saved = torch.load('python.pt')
net:load_state_dict(saved.net)
local resumed = make(net:parameters())
resumed:load_state_dict(saved.optimizer)
steps(net, resumed, 3)
torch.save(net:state_dict(), 'resumed.pt')
""",
    )
    straight, resumed = (
        torch.load(rtrain.folder / f"{kind}.pt", weights_only=True) for kind in ("straight", "resumed")
    )
    for key, value in net.state_dict().items():
        assert_equal(straight[key], value, 1e-5)
        assert_equal(resumed[key], value, 1e-5)

    ours = torch.load(rtrain.folder / "ours.pt", weights_only=True)
    other, x, y = python_net()
    other.load_state_dict(ours["net"])
    optimizer = make(other.parameters())
    optimizer.load_state_dict(ours["optimizer"])
    python_steps(other, optimizer, x, y, 3)
    for key, value in net.state_dict().items():
        assert_equal(other.state_dict()[key], value, 1e-5)


SCHEDULES = [
    ("StepLR(o, 3, {gamma = 0.5})", lambda o, s: s.StepLR(o, 3, gamma=0.5)),
    ("MultiStepLR(o, {2, 5, 5})", lambda o, s: s.MultiStepLR(o, [2, 5, 5])),
    ("ExponentialLR(o, 0.9)", lambda o, s: s.ExponentialLR(o, 0.9)),
    ("CosineAnnealingLR(o, 4, {eta_min = 0.01})", lambda o, s: s.CosineAnnealingLR(o, 4, eta_min=0.01)),
    ("ConstantLR(o, {factor = 0.5, total_iters = 3})", lambda o, s: s.ConstantLR(o, factor=0.5, total_iters=3)),
    ("LinearLR(o, {start_factor = 0.1, total_iters = 4})", lambda o, s: s.LinearLR(o, start_factor=0.1, total_iters=4)),
    ("PolynomialLR(o, {total_iters = 6, power = 2})", lambda o, s: s.PolynomialLR(o, total_iters=6, power=2.0)),
    ("LambdaLR(o, function(e) return 0.95 ^ e end)", lambda o, s: s.LambdaLR(o, lambda e: 0.95**e)),
    ("MultiplicativeLR(o, function() return 0.8 end)", lambda o, s: s.MultiplicativeLR(o, lambda e: 0.8)),
]


def test_schedules(rtrain):
    lines = "\n".join(f"rates(function(o) return s.{lua} end)" for lua, _ in SCHEDULES)
    printed = run_lua(
        rtrain,
        f"""
local torch = require 'torch'
local s = torch.optim.lr_scheduler
local function rates(make)
  local o = torch.optim.SGD({{torch.ones(1, {{requires_grad = true}})}}, {{lr = 0.4}})
  local scheduler, out = make(o), {{}}
  for i = 1, 12 do
    out[i] = ('%.17g'):format(o.param_groups[1].lr)
    o:step()
    scheduler:step()
  end
  print('[' .. table.concat(out, ', ') .. ']')
end
{lines}
""",
    )
    for (lua, make), line in zip(SCHEDULES, printed.splitlines(), strict=True):
        optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.4)
        scheduler = make(optimizer, torch.optim.lr_scheduler)
        for rate in json.loads(line):
            assert math.isclose(rate, optimizer.param_groups[0]["lr"], rel_tol=1e-12, abs_tol=1e-15), lua
            optimizer.step()
            scheduler.step()


STATEFUL = [
    ("multi", "s.MultiStepLR(o, {2, 2, 5})", lambda o, s: s.MultiStepLR(o, [2, 2, 5])),
    ("one", "s.OneCycleLR(o, 1, {total_steps = 30})", lambda o, s: s.OneCycleLR(o, 1.0, total_steps=30)),
    ("cyclic", "s.CyclicLR(o, 0.1, 1, {step_size_up = 4})", lambda o, s: s.CyclicLR(o, 0.1, 1.0, step_size_up=4)),
    ("lambda", "s.LambdaLR(o, function(e) return 0.9 ^ e end)", lambda o, s: s.LambdaLR(o, lambda e: 0.9**e)),
    (
        "sequential",
        "s.SequentialLR(o, {s.ConstantLR(o), s.ExponentialLR(o, 0.9)}, {4})",
        lambda o, s: s.SequentialLR(o, [s.ConstantLR(o), s.ExponentialLR(o, 0.9)], [4]),
    ),
    ("swa", "torch.optim.swa_utils.SWALR(o, 0.05)", lambda o, s: torch.optim.swa_utils.SWALR(o, 0.05)),
]


def test_files_of_schedules_both_ways(rtrain):
    def make_optimizer():
        return torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.4, momentum=0.9)

    def steps(optimizer, scheduler, count):
        for _ in range(count):
            optimizer.step()
            scheduler.step()
        return optimizer.param_groups[0]["lr"]

    python, wanted = {}, {}
    for name, _, make in STATEFUL:
        optimizer = make_optimizer()
        scheduler = make(optimizer, torch.optim.lr_scheduler)
        steps(optimizer, scheduler, 3)
        python[name] = {
            "optimizer": copy.deepcopy(optimizer.state_dict()),
            "scheduler": copy.deepcopy(scheduler.state_dict()),
        }
        wanted[name] = steps(optimizer, scheduler, 3)
    torch.save(python, rtrain.folder / "python.pt")
    lines = "\n".join(f"go('{name}', function(o, s) return {lua} end)" for name, lua, _ in STATEFUL)
    printed = run_lua(
        rtrain,
        f"""
local torch = require 'torch'
local python, ours, rates = torch.load('python.pt'), {{}}, {{}}
local function go(name, make)
  local function new()
    local o = torch.optim.SGD({{torch.ones(1, {{requires_grad = true}})}}, {{lr = 0.4, momentum = 0.9}})
    return o, make(o, torch.optim.lr_scheduler)
  end
  local function steps(o, s)
    for _ = 1, 3 do
      o:step()
      s:step()
    end
  end
  local optimizer, scheduler = new()
  steps(optimizer, scheduler)
  ours[name] = {{optimizer = optimizer:state_dict(), scheduler = scheduler:state_dict()}}
  optimizer, scheduler = new()
  scheduler:load_state_dict(python[name].scheduler)
  optimizer:load_state_dict(python[name].optimizer)
  steps(optimizer, scheduler)
  rates[#rates + 1] = ('%q: %.17g'):format(name, optimizer.param_groups[1].lr)
end
{lines}
torch.save(ours, 'ours.pt')
print('{{' .. table.concat(rates, ', ') .. '}}')
""",
    )
    resumed, ours = json.loads(printed), torch.load(rtrain.folder / "ours.pt", weights_only=True)
    for name, _, make in STATEFUL:
        assert math.isclose(resumed[name], wanted[name], rel_tol=1e-12), name
        optimizer = make_optimizer()
        scheduler = make(optimizer, torch.optim.lr_scheduler)
        scheduler.load_state_dict(ours[name]["scheduler"])
        optimizer.load_state_dict(ours[name]["optimizer"])
        assert math.isclose(steps(optimizer, scheduler, 3), wanted[name], rel_tol=1e-12), name


def test_orders_of_samples(rtrain):
    run_lua(
        rtrain,
        """
local torch = require 'torch'
local data = torch.utils.data
local set = data.TensorDataset(torch.arange(101))
local out = {distributed = {}}
for rank = 0, 2 do
  local sampler = data.DistributedSampler(set, {num_replicas = 3, rank = rank, seed = 5})
  sampler:set_epoch(4)
  out.distributed[rank + 1] = sampler:indices()
end
torch.manual_seed(8)
out.random = data.RandomSampler(set):indices()
torch.manual_seed(9)
local loader, seen = data.DataLoader(set, {batch_size = 101, shuffle = true}), {}
for epoch = 1, 2 do
  for x in loader do seen[epoch] = x end
end
out.loaded, out.after = seen[1], torch.rand(3)
out.weighted = data.WeightedRandomSampler({1, 5, 0.5}, 20, {generator = torch.Generator(2)}):indices()
out.split = data.random_split(set, {0.5, 0.3, 0.2}, {generator = torch.Generator(3)})[2].indices
torch.save(out, 'orders.pt')
""",
    )
    from torch.utils import data

    dataset = data.TensorDataset(torch.arange(101))
    ours = torch.load(rtrain.folder / "orders.pt", weights_only=True)
    for rank in range(3):
        sampler = data.DistributedSampler(dataset, num_replicas=3, rank=rank, seed=5)
        sampler.set_epoch(4)
        assert ours["distributed"][rank].tolist() == list(sampler)
    torch.manual_seed(8)
    assert ours["random"].tolist() == list(data.RandomSampler(dataset))
    torch.manual_seed(9)
    loaded = [batch for _ in range(2) for (batch,) in data.DataLoader(dataset, batch_size=101, shuffle=True)]
    assert ours["loaded"].tolist() == loaded[0].tolist()
    assert torch.equal(ours["after"], torch.rand(3)), "loaders draw as much from the generator as Python's"
    generator = torch.Generator().manual_seed(2)
    assert ours["weighted"].tolist() == list(data.WeightedRandomSampler([1, 5, 0.5], 20, generator=generator))
    parts = data.random_split(dataset, [0.5, 0.3, 0.2], generator=torch.Generator().manual_seed(3))
    assert ours["split"].tolist() == list(parts[1].indices)
