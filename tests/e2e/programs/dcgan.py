"""The Python original of dcgan.lua."""

import argparse
import os

import torch
import torchvision.io
import torchvision.utils as vutils
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
for key, value in {
    "batch_size": 8,
    "nz": 16,
    "ngf": 8,
    "ndf": 8,
    "niter": 2,
    "lr": 0.0002,
    "beta1": 0.5,
    "seed": 7,
    "images": 48,
    "nc": 3,
}.items():
    parser.add_argument(f"--{key}", type=type(value), default=value)
opt = parser.parse_args()


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(opt.nz, opt.ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(opt.ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(opt.ngf * 2, opt.ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(opt.ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(opt.ngf, opt.nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(opt.nc, opt.ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(opt.ndf, opt.ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(opt.ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(opt.ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


def draw():
    y = torch.arange(16).view(16, 1).float().expand(16, 16)
    place, colour = torch.rand(2).tolist(), torch.rand(3, 1, 1)
    disc = ((y.t() - 4 - 8 * place[0]) ** 2 + (y - 4 - 8 * place[1]) ** 2).lt(16).float()
    return disc * colour * 2 - 1


torch.manual_seed(opt.seed)
images = [draw() for _ in range(opt.images)]
dataset = TensorDataset(torch.stack(images))

netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)

criterion = nn.BCELoss()
fixed_noise = torch.randn(opt.batch_size, opt.nz, 1, 1)
real_label, fake_label = 1.0, 0.0
optimizerD = optim.Adam(netD.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999), fused=True)
optimizerG = optim.Adam(netG.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999), fused=True)

for epoch in range(opt.niter):
    loader = DataLoader(dataset, batch_size=opt.batch_size, shuffle=True)
    for i, (real,) in enumerate(loader):
        netD.zero_grad()
        label = torch.full((real.size(0),), real_label, dtype=real.dtype)
        output = netD(real)
        errD_real = criterion(output, label)
        errD_real.backward()
        D_x = output.mean().item()

        fake = netG(torch.randn(real.size(0), opt.nz, 1, 1))
        label.fill_(fake_label)
        output = netD(fake.detach())
        errD_fake = criterion(output, label)
        errD_fake.backward()
        D_G_z1 = output.mean().item()
        errD = errD_real + errD_fake
        optimizerD.step()

        netG.zero_grad()
        label.fill_(real_label)
        output = netD(fake)
        errG = criterion(output, label)
        errG.backward()
        D_G_z2 = output.mean().item()
        optimizerG.step()

        print(
            f"[{epoch}/{opt.niter}][{i}/{len(loader)}] Loss_D: {errD.item():.5f} Loss_G: {errG.item():.5f} "
            f"D(x): {D_x:.5f} D(G(z)): {D_G_z1:.5f} / {D_G_z2:.5f}"
        )
    vutils.save_image(images[0], "real.png", normalize=True)
    vutils.save_image(netG(fixed_noise).detach(), "fake.png", normalize=True, nrow=4)

for name in ["real.png", "fake.png"]:
    image = torchvision.io.read_image(name)
    print(f"{name} {image.size(1)} x {image.size(2)}, mean {image.float().mean().item():.2f}")
    os.remove(name)
