"""The models of vision.models in Python's torch, with torchvision's parameter names and deterministic weights."""

import math
from collections import OrderedDict

import torch
from torch import nn
from torch.nn import functional as F

from harness.fill import PRIME, T


class BasicBlock(nn.Module):
    """Uses torchvision's names for its parts."""

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
            nn.Linear(dim, mlp_dim), nn.GELU(), nn.Dropout(0.0), nn.Linear(mlp_dim, dim), nn.Dropout(0.0)
        )
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
        self.encoder.layers = nn.Sequential(
            OrderedDict((f"encoder_layer_{i}", EncoderBlock(heads, dim, mlp_dim)) for i in range(layers))
        )
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


def fill_state(model):
    """Computes every number of the state by formula, so that no weights are stored: repeated rows of PRIME numbers,
    scaled by a power of two near 1 / √fan_in. harness/vision.lua does the same.
    """
    with torch.no_grad():
        for place, (name, value) in enumerate(model.state_dict().items()):
            if not value.is_floating_point():
                continue
            is_var = name.endswith("running_var")
            row = T(PRIME, fill="positive" if is_var else "signed_unit", seed=300 + place).tensor()
            fan_in = value.numel() // value.shape[0] if value.dim() > 1 else 1
            scale = 1.0 if is_var else 2.0 ** -math.ceil(math.log2(fan_in) / 2)
            value.copy_(row.repeat(value.numel() // PRIME + 1)[: value.numel()].view(value.shape) * scale)
    return model


def logits(make):
    """Returns a function of a batch that returns the logits of the filled model, in units of the largest logit, and the
    names of its state.
    """

    def answer(x):
        model = fill_state(make()).eval()
        with torch.no_grad():
            y = model(x)
        return y / y.abs().max(), " ".join(model.state_dict())

    return answer
