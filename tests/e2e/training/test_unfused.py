"""Adam, AdamW, SGD and Adagrad with fused = false equal the default of Python's torch bit by bit."""

import pytest

from conftest import nightly

pytestmark = nightly

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")

STEPS = 40
CASES = [
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True, "betas": (0.8, 0.95)}),
    ("Adam", {"lr": 0.1, "maximize": True, "eps": 1e-3}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3}),
    ("AdamW", {"lr": 0.1, "amsgrad": True, "maximize": True}),
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "dampening": 0.3}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.2, "initial_accumulator_value": 0.5}),
]
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.bfloat16, torch.float16]

SCRIPT = """
local torch = require 'torch'
torch.set_num_threads(1)
local given, cases = torch.load(arg[1]), torch.load(arg[2])
local out = {}
for i, case in ipairs(cases) do
  local params = {}
  for k, start in ipairs(given[case.dtype]) do params[k] = start:clone():requires_grad_() end
  local options = case.options
  options.fused = false
  local optimizer = torch.optim[case.name](params, options)
  for step = 1, case.steps do
    optimizer:zero_grad()
    for k, param in ipairs(params) do
      if not (k == 2 and step % 3 == 0) then param.grad = param:detach() * 0.7 + 0.3 / (step + k) end
    end
    optimizer:step()
  end
  out[i] = torch.list(params)
end
torch.save(torch.list(out), arg[3])
"""


def starts(dtype):
    torch.manual_seed(3)
    return [torch.randn(7, 5, dtype=dtype), torch.randn(33, dtype=dtype), torch.randn((), dtype=dtype)]


def trained(name, options, dtype):
    params = [start.clone().requires_grad_() for start in starts(dtype)]
    optimizer = getattr(torch.optim, name)(params, **options)
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        for k, param in enumerate(params, 1):
            if not (k == 2 and step % 3 == 0):
                param.grad = param.detach() * 0.7 + 0.3 / (step + k)
        optimizer.step()
    return params


def test_the_numbers_are_those_of_pythons_default(rtrain, tmp_path):
    torch.set_num_threads(1)
    cases = [(name, options, dtype) for dtype in DTYPES for name, options in CASES]
    files = [str(tmp_path / name) for name in ("starts.pt", "cases.pt", "out.pt")]
    torch.save({str(dtype)[6:]: starts(dtype) for dtype in DTYPES}, files[0])
    torch.save(
        [
            {
                "name": name,
                "options": {**options, **({"betas": list(options["betas"])} if "betas" in options else {})},
                "dtype": str(dtype)[6:],
                "steps": STEPS,
            }
            for name, options, dtype in cases
        ],
        files[1],
    )
    result = rtrain("exec", rtrain.script(SCRIPT), *files)
    assert result.returncode == 0, result.stderr
    wrong = []
    for (name, options, dtype), got in zip(cases, torch.load(files[2])):
        if not all(torch.equal(a, b) for a, b in zip(got, trained(name, options, dtype))):
            wrong.append((name, options, dtype))
    assert wrong == []
