"""vision.models against the same models in Python: first parameters, logits, and state_dicts that travel both ways."""

import math
from collections import OrderedDict

import pytest

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
nn = torch.nn
F = nn.functional


class BasicBlock(nn.Module):
    """As torchvision names its parts."""

    def __init__(self, inplanes, planes, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = None

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inplanes = 64
        for stage, planes in enumerate((64, 128, 256, 512)):
            stride = 1 if stage == 0 else 2
            shortcut = None
            if stride == 2:
                shortcut = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))
            first = BasicBlock(inplanes, planes, stride)
            first.downsample = shortcut
            setattr(self, f"layer{stage + 1}", nn.Sequential(first, BasicBlock(planes, planes, 1)))
            inplanes = planes
        self.fc = nn.Linear(512, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def resnet18_gray(num_classes):
    model = ResNet18(num_classes)
    model.conv1 = nn.Conv2d(1, 64, 7, 2, 3, bias=False)
    return model


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
        self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = self.dropout1(F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2))
        return F.log_softmax(self.fc2(self.dropout2(F.relu(self.fc1(x.flatten(1))))), 1)


class EncoderBlock(nn.Module):
    def __init__(self, heads, dim, mlp_dim):
        super().__init__()
        self.ln_1 = nn.LayerNorm(dim, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = nn.Sequential(
            nn.Linear(dim, mlp_dim), nn.GELU(), nn.Dropout(0.0), nn.Linear(mlp_dim, dim), nn.Dropout(0.0))
        for layer in (self.mlp[0], self.mlp[3]):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.normal_(layer.bias, std=1e-6)

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.self_attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class VisionTransformer(nn.Module):
    def __init__(self, image_size, patch_size, layers, heads, dim, mlp_dim, num_classes):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, dim, patch_size, patch_size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.encoder = nn.Module()
        places = (image_size // patch_size) ** 2 + 1
        self.encoder.pos_embedding = nn.Parameter(torch.empty(1, places, dim).normal_(std=0.02))
        self.encoder.layers = nn.Sequential(OrderedDict(
            (f"encoder_layer_{i}", EncoderBlock(heads, dim, mlp_dim)) for i in range(layers)))
        self.encoder.ln = nn.LayerNorm(dim, eps=1e-6)
        self.heads = nn.Sequential(OrderedDict(head=nn.Linear(dim, num_classes)))
        nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / (3 * patch_size**2)))
        nn.init.zeros_(self.conv_proj.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def forward(self, x):
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1) + self.encoder.pos_embedding
        return self.heads(self.encoder.ln(self.encoder.layers(x))[:, 0])


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
