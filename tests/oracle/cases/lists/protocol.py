"""The protocol of modules: state_dict, named lists, hooks."""

import torch
from torch import nn

from cases.lists.calls import plain
from cases.lists.inputs import ROWS

NET = "nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Sequential(nn.Linear(3, 1, {bias = false}), nn.ReLU()))"


def net():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Sequential(nn.Linear(3, 1, bias=False), nn.ReLU()))


def loading(name, lua, change, strict=True):
    """Returns the case of the error message for a changed state_dict."""

    def python():
        m = net()
        state = m.state_dict()
        change(state)
        try:
            m.load_state_dict(state, strict=strict)
        except RuntimeError as e:
            return str(e)

    return plain(
        name,
        f"local m = {NET} local s = m:state_dict() {lua} local ok, e = pcall(m.load_state_dict, m, s, "
        f"{{strict = {str(strict).lower()}}}) return e.message",
        python,
    )


def listed(name, call, python):
    """Returns the case of the names that an iterator yields, in order."""
    return plain(
        name,
        f"local names = {{}} for name in {NET}:{call} do names[#names + 1] = name end return table.concat(names, ' ')",
        lambda: " ".join(name for name, *_ in python(net())),
    )


def ones(*shape):
    return torch.ones(shape)


def hooked(x):
    seen, layer = [], nn.Linear(4, 2)
    with torch.no_grad():
        layer.weight.fill_(0.5)
    layer.register_full_backward_pre_hook(lambda m, g: (g[0] * 2,))
    layer.register_full_backward_hook(lambda m, i, o: (seen.extend([i[0].clone(), o[0].clone()]), (i[0] + 1,))[1])
    layer.register_forward_hook(lambda m, i, y: y * 3)
    layer.register_forward_pre_hook(lambda m, i: (i[0] * 2,))
    x.requires_grad_()
    layer(x).sum().backward()
    return [*seen, x.grad, layer.weight.grad, layer.bias.grad]


PROTOCOL = [
    loading(
        "load_everything_wrong",
        "s['0.weight'] = torch.ones(7) s['1.bias'] = nil s['2.0.weight'] = torch.ones(1) s.extra = torch.ones(1) "
        "s['2.1.x'] = torch.ones(1) s['1.a.b'] = torch.ones(1)",
        lambda s: (
            s.update({"0.weight": ones(7), "2.0.weight": ones(1)}),
            s.pop("1.bias"),
            s.update({"extra": ones(1), "2.1.x": ones(1), "1.a.b": ones(1)}),
        ),
    ),
    loading(
        "load_missing",
        "s['0.weight'] = nil s['1.running_var'] = nil",
        lambda s: (s.pop("0.weight"), s.pop("1.running_var")),
    ),
    loading(
        "load_unexpected",
        "s['2.0.bias'] = torch.ones(1) s['3.weight'] = torch.ones(1)",
        lambda s: s.update({"2.0.bias": ones(1), "3.weight": ones(1)}),
    ),
    loading(
        "load_not_strict",
        "s['1.running_mean'] = torch.ones(3, 1) s['0.bias'] = nil",
        lambda s: (s.update({"1.running_mean": ones(3, 1)}), s.pop("0.bias")),
        strict=False,
    ),
    listed("named_parameters", "named_parameters()", lambda m: m.named_parameters()),
    listed("named_parameters_prefix", "named_parameters{prefix = 'net'}", lambda m: m.named_parameters(prefix="net")),
    listed("named_buffers", "named_buffers{prefix = 'a.b'}", lambda m: m.named_buffers(prefix="a.b")),
    listed("named_modules", "named_modules{prefix = 'm'}", lambda m: m.named_modules(prefix="m")),
    listed("named_children", "named_children()", lambda m: m.named_children()),
    plain(
        "state_dict_prefix",
        f"table.concat(require('base.ordered').keys({NET}:state_dict{{prefix = 'net.'}}), ' ')",
        lambda: " ".join(net().state_dict(prefix="net.")),
    ),
    plain(
        "hooks",
        "local x = ... local seen, layer = {}, nn.Linear(4, 2) torch.no_grad(function() layer.weight:fill_(0.5) end) "
        "layer:register_full_backward_pre_hook(function(_, g) return {g[1] * 2} end) "
        "layer:register_full_backward_hook(function(_, i, o) seen = {i[1]:clone(), o[1]:clone()} return {i[1] + 1} end) "
        "layer:register_forward_hook(function(_, _, y) return y * 3 end) "
        "layer:register_forward_pre_hook(function(_, i) return i[1] * 2 end) "
        "x:requires_grad_() layer(x):sum():backward() "
        "return seen[1], seen[2], x.grad, layer.weight.grad, layer.bias.grad",
        hooked,
        x=ROWS,
    ),
]
