"""The Python original of vae.lua."""

import argparse

import torch
import torch.nn.functional as F
from torch import distributions, nn
from torch.utils import data
from torchvision import io, utils

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--images", type=int, default=256)
parser.add_argument("--size", type=int, default=12)
parser.add_argument("--code", type=int, default=4)
args = parser.parse_args()


def draw(count):
    size = args.size
    y = torch.arange(size).view(1, size, 1) + 0.5
    x = torch.arange(size).view(1, 1, size) + 0.5
    place = torch.rand(count, 3, 1, 1) * size
    radius = 1 + place.select(1, 2) / 4
    dx, dy = (x - place.select(1, 0)).abs(), (y - place.select(1, 1)).abs()
    disc = torch.sigmoid(4 * (radius - (dx**2 + dy**2).sqrt()))
    bar = torch.sigmoid(4 * (radius / 2 - dx)).expand_as(disc)
    is_disc = torch.rand(count, 1, 1) < 0.5
    return torch.where(is_disc, disc, bar).unsqueeze(1)


class VAE(nn.Module):
    def __init__(self, pixels, hidden, code):
        super().__init__()
        self.fc1 = nn.Linear(pixels, hidden)
        self.mean = nn.Linear(hidden, code)
        self.log_var = nn.Linear(hidden, code)
        self.fc3 = nn.Linear(code, hidden)
        self.fc4 = nn.Linear(hidden, pixels)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return distributions.Normal(self.mean(h), torch.exp(0.5 * self.log_var(h)))

    def decode(self, z):
        return distributions.Bernoulli(logits=self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        code = self.encode(x.flatten(1))
        return self.decode(code.rsample()), code


prior = distributions.Normal(0, 1)


def losses(image, code, x):
    reconstruction = F.binary_cross_entropy_with_logits(image.logits, x.flatten(1), reduction="sum")
    return reconstruction, distributions.kl_divergence(code, prior).sum()


torch.manual_seed(args.seed)
images, unseen = draw(args.images), draw(32)
loader = data.DataLoader(data.TensorDataset(images), batch_size=args.batch_size)
model = VAE(args.size**2, 48, args.code)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)

for epoch in range(1, args.epochs + 1):
    model.train()
    for i, (x,) in enumerate(loader):
        optimizer.zero_grad()
        image, code = model(x)
        reconstruction, divergence = losses(image, code, x)
        loss = reconstruction + divergence
        loss.backward()
        optimizer.step()
        if i % 4 == 0:
            print(
                f"epoch {epoch} batch {i} reconstruction {reconstruction.item() / len(x):.5f} "
                f"divergence {divergence.item() / len(x):.5f}"
            )
    model.eval()
    with torch.no_grad():
        image, code = model(unseen)
        reconstruction, divergence = losses(image, code, unseen)
    print(f"epoch {epoch} unseen loss {(reconstruction + divergence).item() / len(unseen):.5f}")

drawn = model.decode(prior.sample((8, args.code))).probs.detach().view(8, 1, args.size, args.size)
path = "drawn.png"
utils.save_image(torch.cat([unseen[:8], drawn]), path, nrow=8)
saved = io.read_image(path)
print(f"saved {saved.size(0)} x {saved.size(1)} x {saved.size(2)}, mean {saved.double().mean().item():.3f}")
