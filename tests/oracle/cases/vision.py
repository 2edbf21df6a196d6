"""Image models: the logits of the models that the examples train, the names in their state_dict; grids, boxes, vision.ops."""

import torch
import torchvision.ops as ops
import torchvision.utils

from harness import T, code
from harness.lua_text import lua
from harness.vision import ConvNet, ResNet18, VisionTransformer, logits, resnet18_gray


def model(name, lua, make, x):
    text = f"local v, models = require 'harness.vision', require 'vision.models' return v.logits({lua}, x)"
    return code(name, text, logits(make), x=x, _={"tol": (0, 1e-5)})


def grid(x, **options):
    keywords = ", ".join(
        f"{name} = {lua(list(value) if isinstance(value, tuple) else value)}" for name, value in options.items()
    )
    return code(
        "make_grid",
        f"return require('vision.utils').make_grid(x, {{{keywords}}})",
        lambda x: torchvision.utils.make_grid(x, **options),
        x=x,
    )


def boxes(x, *rows, **options):
    keywords = ", ".join(
        f"{name} = {lua(list(value) if isinstance(value, tuple) else value)}" for name, value in options.items()
    )
    text = f"return require('vision.utils').draw_bounding_boxes(x, torch.tensor({lua(list(rows))}), {{{keywords}}})"
    return code(
        "draw_bounding_boxes",
        text,
        lambda x: torchvision.utils.draw_bounding_boxes(x, torch.tensor(rows), **options),
        x=x,
    )


def op(lua_call, python, _=None, **inputs):
    """Returns the case of a call of vision.ops, with the gradients of its inputs. `boxes` adds sizes to corners."""
    text = (
        "local ops = require 'vision.ops' "
        "local function boxes(xy, wh) return torch.cat({xy, xy + wh}, 1) end "
        f"return ops.{lua_call}"
    )
    return code(lua_call.split("(")[0], text, python, _={"grad": True, **(_ or {})}, **inputs)


def corners(xy, wh):
    return torch.cat([xy, xy + wh], 1)


def pairs(name):
    """Returns the case of an overlap of all pairs of five and four boxes."""
    function = getattr(ops, name)
    return op(
        f"{name}(boxes(a, s), boxes(b, t))",
        lambda a, s, b, t: function(corners(a, s), corners(b, t)),
        a=T(5, 2),
        s=T(5, 2, fill="positive"),
        b=T(4, 2, seed=5),
        t=T(4, 2, fill="positive", seed=6),
    )


CROWD = {"xy": T(24, 2, grad=False), "wh": T(24, 2, fill="positive", grad=False), "s": T(24, fill="unit", grad=False)}
# Two images of three channels, and boxes in them: corners in 0 … 7.8, sizes to 7.8, some of them reach over the edge.
MAPS = {"x": T(2, 3, 8, 9), "xy": T(4, 2, fill="unit", grad=False), "wh": T(4, 2, fill="positive", grad=False)}


def regions(name, lua_options="", **options):
    function = getattr(ops, name)

    def python(x, xy, wh):
        boxes = corners(xy * 8, wh * 4)
        return function(x, [boxes[:1], boxes[1:]], (3, 2), **options)

    return op(
        f"{name}(x, {{boxes(xy * 8, wh * 4):narrow(0, 0, 1), boxes(xy * 8, wh * 4):narrow(0, 1, 3)}}, {{3, 2}}{lua_options})",
        python,
        **MAPS,
    )


OPS = [
    *[
        op(
            f"box_convert(x, '{one}', '{other}')",
            lambda x, one=one, other=other: ops.box_convert(x, one, other),
            x=T(3, 2, 4),
        )
        for one, other in [("xyxy", "xywh"), ("xywh", "cxcywh"), ("cxcywh", "xyxy"), ("xyxy", "cxcywh")]
    ],
    op("box_area(x)", ops.box_area, x=T(5, 4)),
    *[pairs(name) for name in ("box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou")],
    *[
        op(
            f"nms(boxes(xy, wh), s, {threshold})",
            lambda xy, wh, s, threshold=threshold: ops.nms(corners(xy, wh), s, threshold),
            {"grad": False},
            **CROWD,
        )
        for threshold in (0, 0.2, 0.5)
    ],
    op(
        "batched_nms(boxes(xy, wh), s, c, 0.1)",
        lambda xy, wh, s, c: ops.batched_nms(corners(xy, wh), s, c, 0.1),
        {"grad": False},
        **CROWD,
        c=T(24, dtype="int64", fill="index:3"),
    ),
    op("masks_to_boxes(x)", ops.masks_to_boxes, {"grad": False}, x=T(3, 5, 6, fill="index:2", grad=False)),
    op("clip_boxes_to_image(x, {5, 7})", lambda x: ops.clip_boxes_to_image(x, (5, 7)), x=T(6, 4, fill="wide")),
    op(
        "remove_small_boxes(boxes(xy, wh), 0.7)",
        lambda xy, wh, s: ops.remove_small_boxes(corners(xy, wh), 0.7),
        {"grad": False},
        **CROWD,
    ),
    regions("roi_align"),
    regions("roi_align", ", {spatial_scale = 0.5, sampling_ratio = 2}", spatial_scale=0.5, sampling_ratio=2),
    regions("roi_align", ", {aligned = true}", aligned=True),
    regions("roi_pool"),
    regions("roi_pool", ", {spatial_scale = 0.5}", spatial_scale=0.5),
    *[
        op(
            f"sigmoid_focal_loss(x, y{given})",
            lambda x, y, options=options: ops.sigmoid_focal_loss(x, y, **options),
            x=T(3, 4),
            y=T(3, 4, fill="bool", grad=False),
        )
        for given, options in [
            ("", {}),
            (", {alpha = -1, gamma = 1.5, reduction = 'mean'}", {"alpha": -1, "gamma": 1.5, "reduction": "mean"}),
            (", 0.6, 2, 'sum'", {"alpha": 0.6, "gamma": 2, "reduction": "sum"}),
        ]
    ],
]

BYTES = T(3, 20, 24, dtype="uint8", fill="index:256")

CASES = [
    grid(T(5, 3, 4, 6), nrow=3),
    grid(T(7, 1, 5, 4), nrow=4, padding=1, pad_value=0.5),
    grid(T(4, 3, 4, 4), normalize=True),
    grid(T(4, 3, 4, 4), normalize=True, scale_each=True, nrow=2, padding=0),
    grid(T(4, 2, 3, 3), normalize=True, value_range=(-0.5, 0.25)),
    grid(T(3, 5, 5), padding=3),
    grid(T(1, 5, 5)),
    grid(T(6, 7), normalize=True),
    grid(T(9, 3, 4, 4, dtype="uint8", fill="index:256"), pad_value=255),
    boxes(BYTES, [2, 3, 10, 12], [5, 1, 20, 18]),
    boxes(BYTES, [2, 3, 10, 12], [5, 1, 20, 18], colors=["red", "#1f8"], width=3),
    boxes(BYTES, [2, 3, 10, 12], [5, 1, 20, 18], colors=(10, 200, 30), fill=True, width=2),
    boxes(BYTES, [1, 1, 4, 5], [8, 8, 9, 9], [12, 3, 12, 15], colors="cornflowerblue", width=4, fill=True),
    boxes(BYTES, [-4, -3, 6, 8], [15, 15, 40, 35], [30, 2, 35, 8], colors="#102030", width=2),
    boxes(T(1, 12, 12, fill="unit"), [2.7, 3.2, 9.9, 8.1], colors="orange", fill=True),
    boxes(T(3, 12, 12, fill="unit", dtype="float64"), [0, 0, 11, 11]),
    model("resnet18", "models.resnet18{num_classes = 10}", lambda: ResNet18(10), T(2, 3, 64, 64)),
    model("resnet18_gray", "v.resnet18_gray()", lambda: resnet18_gray(10), T(3, 1, 28, 28)),
    model("convnet", "models.ConvNet()", ConvNet, T(3, 1, 28, 28)),
    model(
        "vision_transformer",
        "models.VisionTransformer(32, 4, 12, 8, 384, 768, {num_classes = 10})",
        lambda: VisionTransformer(32, 4, 12, 8, 384, 768, 10),
        T(2, 3, 32, 32),
    ),
    *OPS,
]
