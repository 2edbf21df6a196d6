"""Every optimizer with its options: parameters, state and state_dict after 20 steps."""

import torch
from torch import nn

from harness import T, code
from harness.training import training

F32 = {"dtype": "float32", "tol": (1e-6, 1e-6)}
SEARCH = {"line_search_fn": "strong_wolfe"}

# The options of each optimizer; all of them also run with two groups, with a state_dict loaded halfway and with
# gradients that are sometimes absent.
OPTIONS = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        {"lr": 0.01, "momentum": 0.5, "maximize": True},
        {"lr": 0.1, "momentum": 0.9, "fused": True},
    ],
    "Adam": [
        {},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3},
        {"lr": 0.1, "amsgrad": True},
        {"lr": 0.01, "maximize": True},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        {"lr": 0.1, "fused": True, "amsgrad": True},
        {"lr": 0.1, "foreach": True},
    ],
    "AdamW": [
        {},
        {"lr": 0.1, "weight_decay": 0.5},
        {"lr": 0.1, "amsgrad": True, "betas": (0.8, 0.95)},
        {"lr": 0.01, "maximize": True},
        {"lr": 0.1, "fused": True},
    ],
    "Adamax": [
        {},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3},
        {"lr": 0.01, "maximize": True},
    ],
    "NAdam": [
        {},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        {"lr": 0.1, "momentum_decay": 0.1, "betas": (0.7, 0.9)},
        {"lr": 0.01, "maximize": True},
    ],
    "RAdam": [
        {},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        {"lr": 0.1, "betas": (0.7, 0.8)},
        {"lr": 0.01, "maximize": True},
    ],
    "Adagrad": [
        {},
        {"lr": 0.1, "lr_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-3},
        {"lr": 0.01, "maximize": True},
        {"lr": 0.1, "fused": True},
    ],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.5, "eps": 1e-3}, {"weight_decay": 0.1}, {"maximize": True}],
    "RMSprop": [
        {},
        {"momentum": 0.9},
        {"centered": True},
        {"centered": True, "momentum": 0.5, "weight_decay": 0.1},
        {"alpha": 0.5, "eps": 1e-3},
        {"maximize": True},
    ],
    "Rprop": [{}, {"lr": 0.1, "etas": (0.3, 1.5)}, {"step_sizes": (1e-3, 0.05)}, {"maximize": True}],
    "ASGD": [
        {},
        {"lr": 0.1, "lambd": 0.1, "alpha": 0.5},
        {"lr": 0.1, "t0": 3},
        {"weight_decay": 0.1},
        {"maximize": True, "t0": 5},
    ],
    "Adafactor": [
        {},
        {"lr": 0.1, "beta2_decay": -0.5},
        {"lr": 0.1, "eps": (1e-4, 1e-2), "d": 2, "weight_decay": 0.1},
        {"maximize": True},
    ],
}
SECOND = {"lr": 0.05}

CASES = []
for name, settings in OPTIONS.items():
    CASES += [training(name, **options) for options in settings]
    CASES += [training(name, name=f"{name}_float32", **F32, **options) for options in settings[:3]]
    CASES += [
        training(name, name=f"{name}_groups", second={**SECOND, **settings[1]}, **settings[2]),
        training(name, name=f"{name}_resumed", resume=True, **settings[1]),
        training(name, name=f"{name}_absent", absent=True, **settings[2]),
    ]
    if name not in ("Adafactor",):
        CASES.append(training(name, name=f"{name}_complex", dtype="complex128", **settings[1]))

# For steps that go through bfloat16 or a line search.
LOOSE = (1e-4, 1e-6)
MUON = {"matrices": True, "tol": LOOSE}
CASES += [
    training("Muon", **MUON, **options)
    for options in (
        {},
        {"lr": 0.1, "nesterov": False},
        {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.5},
        {"lr": 0.1, "adjust_lr_fn": "match_rms_adamw"},
        {"lr": 0.1, "ns_coefficients": (2.0, -1.5, 0.5), "ns_steps": 3, "eps": 1e-3},
    )
]
CASES += [
    training("Muon", name="Muon_float32", dtype="float32", **MUON),
    training("Muon", name="Muon_resumed", resume=True, **MUON),
]

CASES += [
    training("LBFGS", tol=LOOSE, **options)
    for options in (
        {"lr": 0.1, "max_iter": 4},
        {"max_iter": 3, "history_size": 2, "lr": 0.5},
        {"max_iter": 4, **SEARCH},
        {"max_iter": 2, "max_eval": 4, "history_size": 3, **SEARCH},
        {"tolerance_grad": 0.1, "max_iter": 2},
        {"tolerance_change": 1e-2, "max_iter": 5, **SEARCH},
    )
]
CASES += [
    training("LBFGS", name="LBFGS_float32", tol=LOOSE, dtype="float32", lr=0.1, max_iter=3),
    training("LBFGS", name="LBFGS_resumed", tol=LOOSE, resume=True, max_iter=2, **SEARCH),
]

CASES += [
    training(name, name=f"{name}_sparse", sparse=True, **options)
    for name, options in (
        ("SparseAdam", {}),
        ("SparseAdam", {"lr": 0.1, "betas": (0.5, 0.9), "maximize": True, "resume": True}),
        ("SGD", {"lr": 0.5}),
        ("SGD", {"lr": 0.5, "momentum": 0.9, "dampening": 0.5}),
        ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    )
]


class Pair(nn.Module):
    """Two layers that are assigned in one statement, with different gradients."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(3), nn.LayerNorm(3)

    def forward(self, x):
        return self.second(self.first(x) * x)


def states_of_a_pair(x):
    torch.manual_seed(0)
    model = Pair()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (model(x) * x).sum().backward()
        optimizer.step()
    return [entry["exp_avg"] for entry in optimizer.state_dict()["state"].values()]


CASES.append(
    code(
        "states_of_one_assignment",
        """
local Pair = nn.Module:extend 'Pair'
function Pair:init() self.first, self.second = nn.LayerNorm(3), nn.LayerNorm(3) end
function Pair:forward(x) return self.second(self.first(x) * x) end
torch.manual_seed(0)
local model = Pair()
local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.1})
for _ = 1, 3 do
  optimizer:zero_grad()
  local loss = (model(x) * x):sum()
  loss:backward()
  optimizer:step()
end
local out = {}
for i = 0, 3 do out[i + 1] = optimizer:state_dict().state[i].exp_avg end
return out""",
        states_of_a_pair,
        {"grad": False, "tol": (1e-4, 1e-6)},
        x=T(5, 3),
    )
)
