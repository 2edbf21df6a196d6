"""Containers, and modules that hold others."""

import torch
from torch import nn

from cases.lists.inputs import ROWS
from cases.lists.tables import built


class Holder(nn.Module):
    """A module that Lua writes as nn.Module:extend('Holder') with the same fields."""

    def __init__(self, **fields):
        super().__init__()
        for name, value in fields.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.body(x)


HOLDER = (
    "local Holder = nn.Module:extend('Holder') function Holder:forward(x) return self.body(x) end local h = Holder() "
)
SUM = (
    "local x = ... for _, p in ipairs(m:parameters()) do x = x + p:sum() end return x",
    lambda m, x: x + sum(p.sum() for p in m.parameters()),
)


def held(lua, python):
    return "(function() " + HOLDER + lua + " return h end)()", python


def shared():
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.ReLU(), layer)


CONTAINERS = [
    built(
        "Sequential",
        "nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5)))",
        lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))),
        [ROWS],
    ),
    built("Sequential_empty", "nn.Sequential()", lambda: nn.Sequential(), [ROWS]),
    built(
        "Sequential_shared",
        "(function() local layer = nn.Linear(4, 4) return nn.Sequential(layer, nn.ReLU(), layer) end)()",
        shared,
        [ROWS],
    ),
    built(
        "Sequential_insert_pop",
        "(function() local s = nn.Sequential(nn.Linear(4, 3), nn.Tanh()) s:insert(2, nn.ReLU()) "
        "s:append(nn.Linear(3, 1)) s:pop(1) s:insert(1, nn.Linear(4, 3)) return s end)()",
        lambda: (
            lambda s: (s.insert(1, nn.ReLU()), s.append(nn.Linear(3, 1)), s.pop(0), s.insert(0, nn.Linear(4, 3)), s)[-1]
        )(nn.Sequential(nn.Linear(4, 3), nn.Tanh())),
        [ROWS],
    ),
    built(
        "Sequential_sum",
        "nn.Sequential(nn.Linear(4, 4)) + nn.Sequential(nn.Tanh()) * 2",
        lambda: nn.Sequential(nn.Linear(4, 4)) + nn.Sequential(nn.Tanh()) * 2,
        [ROWS],
    ),
    built(
        "Sequential_slice",
        "nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)):slice(1, 2)",
        lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))[0:2],
        [ROWS],
    ),
    built(
        "ModuleList",
        *held(
            "h.layers = nn.ModuleList{nn.Linear(4, 4), nn.Linear(4, 4), nn.Sequential(nn.ReLU())} h.body = nn.ReLU()",
            lambda: Holder(
                layers=nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4), nn.Sequential(nn.ReLU())]), body=nn.ReLU()
            ),
        ),
        [ROWS],
        call=SUM,
    ),
    built(
        "ModuleDict",
        *held(
            "h.heads = nn.ModuleDict{{'b', nn.Linear(4, 2)}, {'a', nn.PReLU()}} h.none = nn.ModuleDict() "
            "h.list = nn.ModuleList()",
            lambda: Holder(
                heads=nn.ModuleDict({"b": nn.Linear(4, 2), "a": nn.PReLU()}), none=nn.ModuleDict(), list=nn.ModuleList()
            ),
        ),
        [ROWS],
        call=SUM,
    ),
    built(
        "ParameterList",
        *held(
            "h.scales = nn.ParameterList{torch.ones(2, 3), nn.Parameter(torch.zeros(4)), 'text', "
            "3} h.one = nn.ParameterList{torch.ones(1)}",
            lambda: Holder(
                scales=nn.ParameterList([torch.ones(2, 3), nn.Parameter(torch.zeros(4)), "text", 3]),
                one=nn.ParameterList([torch.ones(1)]),
            ),
        ),
        [ROWS],
        call=SUM,
    ),
    built(
        "ParameterDict",
        *held(
            "h.p = nn.ParameterDict{{'left', torch.ones(2)}, {'a', nn.Parameter(torch.zeros(4, 1))}}",
            lambda: Holder(p=nn.ParameterDict([("left", torch.ones(2)), ("a", nn.Parameter(torch.zeros(4, 1)))])),
        ),
        [ROWS],
        call=SUM,
    ),
    built(
        "Buffers",
        *held(
            "h.body = nn.Linear(4, 2) h:register_buffer('kept', torch.ones(3)) h:register_buffer('cache', "
            "torch.ones(2), {persistent = false}) h.made = nn.Buffer(torch.zeros(1)) "
            "h:register_parameter('absent', nil) h:register_module('nothing', nil)",
            lambda: (
                lambda h: (
                    h.register_buffer("kept", torch.ones(3)),
                    h.register_buffer("cache", torch.ones(2), persistent=False),
                    setattr(h, "made", nn.Buffer(torch.zeros(1))),
                    h.register_parameter("absent", None),
                    h.register_module("nothing", None),
                    h,
                )[-1]
            )(Holder(body=nn.Linear(4, 2))),
        ),
        [ROWS],
    ),
]


def written_in_pairs():
    h = Holder(kept=torch.ones(1))
    h.first, h.body = nn.Linear(4, 2), nn.Linear(4, 3)
    h.scale, h.norm, h.shift = nn.Parameter(torch.ones(2)), nn.BatchNorm1d(3), nn.Parameter(torch.zeros(3))
    return h


CONTAINERS += [
    built(
        "fields_of_one_assignment",
        *held(
            "h.kept = torch.ones(1) h.first, h.body = nn.Linear(4, 2), nn.Linear(4, 3) "
            "h.scale, h.norm, h.shift = nn.Parameter(torch.ones(2)), nn.BatchNorm1d(3), nn.Parameter(torch.zeros(3))",
            written_in_pairs,
        ),
        [ROWS],
        call=SUM,
    )
]
