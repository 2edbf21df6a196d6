"""vision.models compared with the same models in Python: initial parameters, logits, and state_dicts exchanged both
ways."""

import sys
from functools import partial

import pytest

from conftest import SOURCE, nightly

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
vision = pytest.importorskip("torchvision.models", reason="torchvision is not here: scripts/test --oracle installs it")
sys.path.insert(0, str(SOURCE / "tests" / "oracle"))
from harness.vision import ConvNet


def gray(model):
    model.conv1 = torch.nn.Conv2d(1, 64, 7, stride=2, padding=3, bias=False)
    return model


def short(model, features):
    """Replaces the last layers of 120 million parameters by a small one. Its random numbers depend on all earlier
    draws."""
    model.classifier = torch.nn.Linear(features, 10)
    return model


VIT_SIZES = {
    "image_size": 16,
    "patch_size": 4,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 16,
    "mlp_dim": 32,
    "num_classes": 7,
}
STEM = [{"out_channels": 4, "kernel_size": 3, "stride": 2}, {"out_channels": 6, "kernel_size": 3, "stride": 2}]


def vision_transformer():
    stem = [vision.vision_transformer.ConvStemConfig(**config) for config in STEM]
    return vision.VisionTransformer(**VIT_SIZES, representation_size=6, conv_stem_configs=stem)


# name, Lua, Python, shape of an input
MODELS = [
    ("resnet18", "models.resnet18{num_classes = 10}", partial(vision.resnet18, num_classes=10), (2, 3, 64, 64)),
    (
        "resnet18_gray",
        "gray(models.resnet18{num_classes = 10})",
        lambda: gray(vision.resnet18(num_classes=10)),
        (2, 1, 28, 28),
    ),
    (
        "resnet50",
        "models.resnet50{zero_init_residual = true}",
        partial(vision.resnet50, zero_init_residual=True),
        (2, 3, 64, 64),
    ),
    (
        "resnext50_32x4d",
        "models.resnext50_32x4d{replace_stride_with_dilation = {false, true, true}}",
        partial(vision.resnext50_32x4d, replace_stride_with_dilation=[False, True, True]),
        (2, 3, 64, 64),
    ),
    ("alexnet", "short(models.alexnet(), 9216)", lambda: short(vision.alexnet(), 9216), (2, 3, 80, 80)),
    ("mobilenet_v2", "models.mobilenet_v2()", vision.mobilenet_v2, (2, 3, 64, 64)),
    (
        "mobilenet_v2_narrow",
        "models.mobilenet_v2{width_mult = 0.35, round_nearest = 4, num_classes = 7}",
        partial(vision.mobilenet_v2, width_mult=0.35, round_nearest=4, num_classes=7),
        (2, 3, 64, 64),
    ),
    (
        "squeezenet1_0",
        "models.squeezenet1_0{num_classes = 10}",
        partial(vision.squeezenet1_0, num_classes=10),
        (2, 3, 64, 64),
    ),
    ("squeezenet1_1", "models.squeezenet1_1()", vision.squeezenet1_1, (2, 3, 64, 64)),
    ("vgg11", "short(models.vgg11(), 25088)", lambda: short(vision.vgg11(), 25088), (2, 3, 64, 64)),
    (
        "vgg16_bn",
        "short(models.vgg16_bn{init_weights = false}, 25088)",
        lambda: short(vision.vgg16_bn(init_weights=False), 25088),
        (2, 3, 64, 64),
    ),
    ("convnet", "models.ConvNet()", ConvNet, (2, 1, 28, 28)),
    (
        "vision_transformer",
        "models.VisionTransformer(32, 4, 12, 8, 384, 768, {num_classes = 10})",
        lambda: vision.VisionTransformer(32, 4, 12, 8, 384, 768, num_classes=10),
        (2, 3, 32, 32),
    ),
    (
        "vision_transformer_stem",
        """models.VisionTransformer{image_size = 16, patch_size = 4, num_layers = 2, num_heads = 2,
      hidden_dim = 16, mlp_dim = 32, num_classes = 7, representation_size = 6, conv_stem_configs = {
      {out_channels = 4, kernel_size = 3, stride = 2}, {out_channels = 6, kernel_size = 3, stride = 2}}}""",
        vision_transformer,
        (2, 3, 16, 16),
    ),
]

PRELUDE = """
local torch = require 'torch'
local models = require 'vision.models'
local function gray(model)
  model.conv1 = torch.nn.Conv2d(1, 64, 7, {stride = 2, padding = 3, bias = false})
  return model
end
local function short(model, features)
  model.classifier = torch.nn.Linear(features, 10)
  return model
end
"""


def exec_lua(rtrain, text):
    result = rtrain("exec", rtrain.script(PRELUDE + text, "models.lua"))
    assert result.returncode == 0, result.stdout + result.stderr


def disturbed(model):
    """Moves every number of the state away from its initial value: heads of zero and fresh statistics would hide
    mistakes."""
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if name.endswith("running_var"):
                value.uniform_(0.5, 2)
            elif value.is_floating_point():
                value.add_(torch.randn_like(value), alpha=0.02)
    return model


def assert_equal_logits(actual, expected):
    scale = expected.abs().max()
    assert actual.shape == expected.shape
    assert torch.isfinite(expected).all() and scale > 0
    assert (actual - expected).abs().max() <= 1e-5 * scale


# Prints outputs at the start, then with Python's state, and again after two more training steps.
TWIN = """
local given = torch.load('theirs.pt')
torch.manual_seed(11)
local model = @MODEL@
local ours = {first = {}}
for key, value in require('base.ordered').items(model:state_dict()) do
  ours.first[#ours.first + 1] = {key, value:clone()}
end
model:load_state_dict(given.state)
ours.logits = model:eval()(given.x):detach()
local optimizer = torch.optim.SGD(model:train():parameters(), {lr = 0.01})
for _ = 1, 2 do
  optimizer:zero_grad()
  torch.nn.functional.cross_entropy(model(given.x), torch.tensor({3, 5}, {dtype = 'int64'})):backward()
  optimizer:step()
end
ours.trained = {state = model:state_dict(), logits = model:eval()(given.x):detach()}
torch.save(ours, 'ours.pt')
"""


def assert_equal_states(actual, expected):
    assert [key for key, _ in actual] == list(expected)
    for key, value in actual:
        assert value.dtype == expected[key].dtype and torch.equal(value, expected[key]), key


@nightly
@pytest.mark.parametrize("name, lua, make, shape", MODELS, ids=[model[0] for model in MODELS])
def test_parameters_logits_and_trained_states_are_those_of_python(rtrain, name, lua, make, shape):
    torch.manual_seed(11)
    model, x = make(), torch.randn(shape)
    first = {key: value.clone() for key, value in model.state_dict().items()}
    torch.save({"state": disturbed(model).state_dict(), "x": x}, rtrain.folder / "theirs.pt")
    with torch.no_grad():
        expected = model.eval()(x)

    exec_lua(rtrain, TWIN.replace("@MODEL@", lua))
    ours = torch.load(rtrain.folder / "ours.pt", weights_only=True)
    assert_equal_states(ours["first"], first)
    assert_equal_logits(ours["logits"], expected)

    trained = ours["trained"]
    assert not torch.equal(trained["logits"], ours["logits"])
    model.load_state_dict(trained["state"], strict=True)
    with torch.no_grad():
        assert_equal_logits(trained["logits"], model.eval()(x))


# Memory that is never written is not allocated: otherwise ViT-H/14 would take 2.5 GB.
SHAPES = """
local nn, ordered = torch.nn, require 'base.ordered'
for _, name in ipairs{'kaiming_uniform_', 'kaiming_normal_', 'normal_', 'trunc_normal_', 'uniform_', 'xavier_uniform_',
                      'ones_', 'zeros_', 'constant_'} do
  nn.init[name] = function(tensor) return tensor end
end
for _, name in ipairs(models.list_models()) do
  local state = models.get_model(name):state_dict()
  for key, value in ordered.items(state) do print(name .. '.' .. key .. ' ' .. table.concat(value:size(), ',')) end
  collectgarbage()
end
"""


def test_every_model_has_the_names_and_shapes_of_torchvision(rtrain):
    result = rtrain("exec", rtrain.script(PRELUDE + SHAPES, "shapes.lua"))
    assert result.returncode == 0, result.stdout + result.stderr
    ours = {}
    for line in result.stdout.splitlines():
        name, key = line.split(".", 1)
        ours.setdefault(name, []).append(key)
    assert len(ours) == 27
    for name, keys in ours.items():
        with torch.device("meta"):
            state = vision.get_model(name).state_dict()
        expected = [f"{key} {','.join(map(str, value.shape))}" for key, value in state.items()]
        assert keys == expected, name


def test_list_models_filters_as_torchvision(rtrain):
    result = rtrain(
        "exec",
        rtrain.script(
            PRELUDE
            + """
local filters = {{}, {include = 'vgg1[13]*'}, {include = {'resnet?0', 'vit_?_[!1]*'}}, {exclude = {'v*', '*net*'}},
                 {include = '*x?', exclude = '*4d'}, {include = 'resnext101_[63]*-'}, {include = {}}}
for _, filter in ipairs(filters) do print(table.concat(models.list_models(filter), ' ')) end
""",
            "list.lua",
        ),
    )
    assert result.returncode == 0, result.stdout + result.stderr
    known, *lines = [line.split() for line in result.stdout.splitlines()]
    filters = [
        {"include": "vgg1[13]*"},
        {"include": ["resnet?0", "vit_?_[!1]*"]},
        {"exclude": ["v*", "*net*"]},
        {"include": "*x?", "exclude": "*4d"},
        {"include": "resnext101_[63]*-"},
        {"include": []},
    ]
    expected = [[name for name in vision.list_models(**given) if name in known] for given in filters]
    assert lines == expected
