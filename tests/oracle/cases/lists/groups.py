"""Products of groups of matrices, and attention within torch.nn.attention.sdpa_kernel."""

import torch
import torch.nn.functional as F

from harness import T, code


def with_gradients(name, lua, python, **inputs):
    return code(name, lua, python, {"grad": True}, **inputs)


# The number of a group, from 0.
ENDS = T(3, dtype="int32", fill="order")


def ends(order, step):
    return ((order + 1) * step).to(torch.int32)


GROUPED = [
    with_gradients(
        "grouped_mm",
        "F.grouped_mm(a, b, {offs = ((o + 1) * 2):to 'int32'})",
        lambda a, b, o: F.grouped_mm(a, b, offs=ends(o, 2)),
        a=T(6, 8),
        b=T(3, 8, 4),
        o=ENDS,
    ),
    with_gradients(
        "grouped_mm",
        "F.grouped_mm(a, b, {offs = ((o + 1) * 4):to 'int32'})",
        lambda a, b, o: F.grouped_mm(a, b, offs=ends(o, 4)),
        a=T(3, 8, 4),
        b=T(4, 12),
        o=ENDS,
    ),
    with_gradients(
        "grouped_mm",
        "F.grouped_mm(a, b, {offs = ((o + 1) * 4):to 'int32'})",
        lambda a, b, o: F.grouped_mm(a, b, offs=ends(o, 4)),
        a=T(8, 12),
        b=T(12, 4),
        o=ENDS,
    ),
    with_gradients("grouped_mm", "F.grouped_mm(a, b)", lambda a, b: F.grouped_mm(a, b), a=T(2, 3, 4), b=T(2, 4, 8)),
    with_gradients(
        "grouped_mm_bfloat16",
        "F.grouped_mm(a, b):float()",
        lambda a, b: F.grouped_mm(a, b).float(),
        a=T(2, 3, 8, dtype="bfloat16"),
        b=T(2, 8, 8, dtype="bfloat16"),
    ),
]


def within(backend, q, k):
    with torch.nn.attention.sdpa_kernel(getattr(torch.nn.attention.SDPBackend, backend)):
        return F.scaled_dot_product_attention(q, k, k, is_causal=True)


SDPA = [
    with_gradients(
        f"sdpa_kernel_{backend.lower()}",
        f"return torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.{backend}, function() "
        "return F.scaled_dot_product_attention(q, k, k, {is_causal = true}) end)",
        lambda q, k, backend=backend: within(backend, q, k),
        q=T(1, 2, 3, 8),
        k=T(1, 2, 3, 8),
    )
    for backend in ("MATH", "FLASH_ATTENTION")
]
