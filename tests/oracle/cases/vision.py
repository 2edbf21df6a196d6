"""Models of images: logits of the models that the examples train, and the names in their state_dict."""

from harness import T, code
from harness.vision import ConvNet, ResNet18, VisionTransformer, logits, resnet18_gray


def model(name, lua, make, x):
    text = f"local v, models = require 'harness.vision', require 'vision.models' return v.logits({lua}, x)"
    return code(name, text, logits(make), x=x, _={"tol": (0, 1e-5)})


CASES = [
    model("resnet18", "models.resnet18{num_classes = 10}", lambda: ResNet18(10), T(2, 3, 64, 64)),
    model("resnet18_gray", "v.resnet18_gray()", lambda: resnet18_gray(10), T(3, 1, 28, 28)),
    model("convnet", "models.ConvNet()", ConvNet, T(3, 1, 28, 28)),
    model("vision_transformer", "models.VisionTransformer(32, 4, 12, 8, 384, 768, {num_classes = 10})",
          lambda: VisionTransformer(32, 4, 12, 8, 384, 768, 10), T(2, 3, 32, 32)),
]
