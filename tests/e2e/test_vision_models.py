"""vision.models against the same models in Python: first parameters, logits, and state_dicts that travel both ways."""

import pathlib
import sys

import pytest

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "oracle"))
from harness.vision import ConvNet, ResNet18, VisionTransformer, resnet18_gray  # noqa: E402

# name, Lua, Python, shape of an input
MODELS = [
    ("resnet18", "models.resnet18{num_classes = 10}", lambda: ResNet18(10), (2, 3, 64, 64)),
    ("resnet18_gray", "gray(models.resnet18{num_classes = 10})", lambda: resnet18_gray(10), (2, 1, 28, 28)),
    ("convnet", "models.ConvNet()", ConvNet, (2, 1, 28, 28)),
    ("vision_transformer", "models.VisionTransformer(32, 4, 12, 8, 384, 768, {num_classes = 10})",
     lambda: VisionTransformer(32, 4, 12, 8, 384, 768, 10), (2, 3, 32, 32)),
]

PRELUDE = """
local torch = require 'torch'
local models = require 'vision.models'
local function gray(model)
  model.conv1 = torch.nn.Conv2d(1, 64, 7, {stride = 2, padding = 3, bias = false})
  return model
end
"""


def exec_lua(rtrain, text):
    result = rtrain("exec", rtrain.script(PRELUDE + text, "models.lua"))
    assert result.returncode == 0, result.stdout + result.stderr


def disturbed(model):
    """Every number of the state somewhere else than where it begins: heads of zero and fresh statistics hide mistakes."""
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


@pytest.mark.parametrize("name, lua, make, shape", MODELS, ids=[model[0] for model in MODELS])
def test_first_parameters_are_those_of_python_for_the_seed(rtrain, name, lua, make, shape):
    exec_lua(rtrain, f"torch.manual_seed(11)\ntorch.save(({lua}):state_dict(), 'ours.pt')")
    torch.manual_seed(11)
    expected = make().state_dict()
    ours = torch.load(rtrain.folder / "ours.pt", weights_only=True)
    assert list(ours) == list(expected)
    for key, value in expected.items():
        assert ours[key].dtype == value.dtype and torch.equal(ours[key], value), key


@pytest.mark.parametrize("name, lua, make, shape", MODELS, ids=[model[0] for model in MODELS])
def test_state_dict_of_python_gives_equal_logits(rtrain, name, lua, make, shape):
    torch.manual_seed(12)
    model, x = disturbed(make()), torch.randn(shape)
    torch.save({"state": model.state_dict(), "x": x}, rtrain.folder / "theirs.pt")
    exec_lua(rtrain, f"""
local given = torch.load('theirs.pt')
local model = {lua}
model:load_state_dict(given.state)
torch.save(model:eval()(given.x):detach(), 'logits.pt')
""")
    with torch.no_grad():
        expected = model.eval()(x)
    assert_equal_logits(torch.load(rtrain.folder / "logits.pt", weights_only=True), expected)


@pytest.mark.parametrize("name, lua, make, shape", MODELS, ids=[model[0] for model in MODELS])
def test_trained_state_dict_goes_back_to_python(rtrain, name, lua, make, shape):
    exec_lua(rtrain, f"""
torch.manual_seed(13)
local model, x = {lua}, torch.randn({{{', '.join(map(str, shape))}}})
local optimizer = torch.optim.SGD(model:parameters(), {{lr = 0.01}})
for _ = 1, 2 do
  optimizer:zero_grad()
  torch.nn.functional.cross_entropy(model(x), torch.tensor({{3, 5}}, {{dtype = 'int64'}})):backward()
  optimizer:step()
end
torch.save({{state = model:state_dict(), x = x, logits = model:eval()(x):detach()}}, 'ours.pt')
""")
    ours = torch.load(rtrain.folder / "ours.pt", weights_only=True)
    model = make()
    model.load_state_dict(ours["state"], strict=True)
    with torch.no_grad():
        expected = model.eval()(ours["x"])
    assert_equal_logits(ours["logits"], expected)
