"""torch.func."""

import torch
import torch.nn.functional as F

from cases.lists.calls import both
from harness import T, code


def ensemble(x):
    models = [torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)]
    params, buffers = torch.func.stack_module_state(models)

    def run(p, b, v):
        return torch.func.functional_call(models[0], (p, b), (v,))

    y = torch.func.vmap(run, in_dims=(0, 0, None))(params, buffers, x)
    return y, params["weight"], params["bias"].requires_grad


FUNC = [
    code("vmap", "torch.func.vmap(torch.dot)(x, y)", torch.func.vmap(torch.dot), x=T(4, 3), y=T(4, 3)),
    code(
        "vmap_dims",
        "torch.func.vmap(torch.matmul, {in_dims = {1, none}, out_dims = 1})(x, y)",
        torch.func.vmap(torch.matmul, in_dims=(1, None), out_dims=1),
        x=T(3, 4),
        y=T(3, 2),
    ),
    both(
        "vmap_of_vmap",
        "torch.func.vmap(torch.func.vmap(torch.mul, {in_dims = {none, 0}}), {in_dims = {0, none}})(x, y)",
        torch.func.vmap(torch.func.vmap(torch.mul, in_dims=(None, 0)), in_dims=(0, None)),
        x=T(3),
        y=T(4),
    ),
    code(
        "vmap_of_tables",
        "local r = torch.func.vmap(function(p, k) return {p.a * k, p.b + 1}, k end, {in_dims = {{a = 0, b = none}, -1}})"
        "({a = x, b = y}, z) return r[1], r[2]",
        lambda x, y, z: torch.func.vmap(lambda p, k: (p["a"] * k, p["b"] + 1), in_dims=({"a": 0, "b": None}, -1))(
            {"a": x, "b": y}, z
        ),
        x=T(4, 2),
        y=T(2),
        z=T(2, 4),
    ),
    code(
        "vmap_chunks",
        "return torch.func.vmap(function(v) return v:sum(), v * 2 end, {out_dims = {0, 1}, chunk_size = 3})(x)",
        torch.func.vmap(lambda v: (v.sum(), v * 2), out_dims=(0, 1), chunk_size=3),
        x=T(8, 3),
    ),
    code(
        "vmap_in_place",
        "return torch.func.vmap(function(v) v = v:clone() v:add_(1):mul_(v) return v end)(x)",
        torch.func.vmap(lambda v: (lambda c: c.add_(1).mul_(c))(v.clone())),
        x=T(4, 3),
    ),
    code(
        "vmap_different",
        "return torch.func.vmap(function(v) return v + torch.rand(2) end, {randomness = 'different'})(x)",
        torch.func.vmap(lambda v: v + torch.rand(2), randomness="different"),
        x=T(3, 2),
    ),
    code(
        "vmap_same",
        "return torch.func.vmap(function(v) return v * torch.randn(2) end, {randomness = 'same'})(x)",
        torch.func.vmap(lambda v: v * torch.randn(2), randomness="same"),
        x=T(3, 2),
    ),
    code(
        "vmap_of_layers",
        "return torch.func.vmap(function(v) return F.conv2d(v[slice(0, 1)], y), F.softmax(v, -1) end)(x)",
        lambda x, y: torch.func.vmap(lambda v: (F.conv2d(v[:1], y), F.softmax(v, -1)))(x),
        x=T(2, 2, 5, 5),
        y=T(1, 1, 3, 3),
    ),
    code(
        "grad_per_sample",
        "return torch.func.vmap(torch.func.grad(function(w, v) return (w * v):sin():sum() end), {in_dims = {none, 0}})(x, y)",
        torch.func.vmap(torch.func.grad(lambda w, v: (w * v).sin().sum()), in_dims=(None, 0)),
        x=T(3),
        y=T(4, 3),
    ),
    code(
        "grad_of_grad",
        "torch.func.grad(torch.func.grad(torch.sin))(x)",
        torch.func.grad(torch.func.grad(torch.sin)),
        x=T(),
    ),
    code(
        "grad_of_a_constant",
        "return torch.func.grad(function(v) return y:sum() end)(x)",
        lambda x, y: torch.func.grad(lambda v: y.sum())(x),
        x=T(3),
        y=T(2),
    ),
    both(
        "grad_with_a_graph",
        "return torch.func.grad(function(v) return (v ^ 3):sum() end)(x)",
        torch.func.grad(lambda v: (v**3).sum()),
        x=T(3),
    ),
    code(
        "vjp_of_two",
        "local y, f, aux = torch.func.vjp(function(a, b) return a * b, a + 1 end, x, y, {has_aux = true}) "
        "local g, h = f(y * 2) return y, g, h, aux",
        lambda x, y: (lambda r: (r[0], *r[1](r[0] * 2), r[2]))(
            torch.func.vjp(lambda a, b: (a * b, a + 1), x, y, has_aux=True)
        ),
        x=T(3),
        y=T(3),
    ),
    code(
        "jvp",
        "return torch.func.jvp(function(a, b) return (a * b):exp() end, {x, y}, {y, x})",
        lambda x, y: torch.func.jvp(lambda a, b: (a * b).exp(), (x, y), (y, x)),
        x=T(3),
        y=T(3),
    ),
    code(
        "jvp_of_jvp",
        "local function slope(v) local _, t = torch.func.jvp(torch.sin, {v}, {y}) return t end "
        "return torch.func.jvp(slope, {x}, {y})",
        lambda x, y: torch.func.jvp(lambda v: torch.func.jvp(torch.sin, (v,), (y,))[1], (x,), (y,)),
        x=T(3),
        y=T(3),
    ),
    code(
        "jacfwd",
        "torch.func.jacfwd(torch.outer, {argnums = 1})(x, y)",
        torch.func.jacfwd(torch.outer, argnums=1),
        x=T(2),
        y=T(3),
    ),
    code(
        "jacfwd_of_two",
        "local J = torch.func.jacfwd(torch.outer, {argnums = {0, 1}})(x, y) return J[1], J[2]",
        torch.func.jacfwd(torch.outer, argnums=(0, 1)),
        x=T(2),
        y=T(3),
    ),
    code(
        "jacfwd_aux",
        "return torch.func.jacfwd(function(v) return v:cumsum(0), v * 2 end, {has_aux = true})(x)",
        torch.func.jacfwd(lambda v: (v.cumsum(0), v * 2), has_aux=True),
        x=T(3),
    ),
    code(
        "jacrev_aux",
        "return torch.func.jacrev(function(v) return v:cumprod(0), v * 2 end, {has_aux = true})(x)",
        torch.func.jacrev(lambda v: (v.cumprod(0), v * 2), has_aux=True),
        x=T(3),
    ),
    code(
        "jacrev_of_tables",
        "local J = torch.func.jacrev(function(p) return {s = p.w:sin(), t = (p.w * p.b):sum()} end)({w = x, b = y}) "
        "return J.s.w, J.s.b, J.t.w, J.t.b",
        lambda x, y: (lambda J: (J["s"]["w"], J["s"]["b"], J["t"]["w"], J["t"]["b"]))(
            torch.func.jacrev(lambda p: {"s": p["w"].sin(), "t": (p["w"] * p["b"]).sum()})({"w": x, "b": y})
        ),
        x=T(2, 3),
        y=T(3),
    ),
    code(
        "hessian",
        "return torch.func.hessian(function(v) return (v ^ 3):sum() * v[0] end)(x)",
        torch.func.hessian(lambda v: (v**3).sum() * v[0]),
        x=T(3),
    ),
    code(
        "hessian_of_two",
        "local H = torch.func.hessian(function(a, b) return (a * b):sin():sum() end, {argnums = {0, 1}})(x, y) "
        "return H[1][1], H[1][2], H[2][1], H[2][2]",
        lambda x, y: [
            h for row in torch.func.hessian(lambda a, b: (a * b).sin().sum(), argnums=(0, 1))(x, y) for h in row
        ],
        x=T(3),
        y=T(3),
    ),
    code(
        "is_grads_batched",
        "local v = x:detach():requires_grad_() return torch.autograd.grad(v:sin(), v, y, {is_grads_batched = true})[1]",
        lambda x, y: (lambda v: torch.autograd.grad(v.sin(), v, y, is_grads_batched=True)[0])(
            x.detach().requires_grad_()
        ),
        x=T(3),
        y=T(4, 3),
    ),
    code(
        "stack_module_state",
        "local models = {nn.Linear(3, 2), nn.Linear(3, 2)} "
        "local params, buffers = torch.func.stack_module_state(models) "
        "local function call(p, b, v) return torch.func.functional_call(models[1], {p, b}, v) end "
        "return torch.func.vmap(call, {in_dims = {0, 0, none}})(params, buffers, x), params.weight, params.bias.requires_grad",
        ensemble,
        x=T(5, 3),
    ),
]
