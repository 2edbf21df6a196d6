"""The Python original of half_numbers.lua."""

import torch


def hexadecimal(x):
    return " ".join(f"{word % 65536:04x}" for word in x.detach().view(torch.int16).reshape(-1).tolist())


def loss_of(w, x, target):
    scaled = 1e5 * x
    a = 0.1 * w + 0.3337
    b = 1.7 / (2.0315 + w * w) - (0.3337 - a)
    return (0.1 * (scaled * a + 1.1**b - target)).pow(2).mean()


for dtype in torch.bfloat16, torch.float16:
    torch.manual_seed(1)
    w = torch.randn(24).to(dtype).requires_grad_()
    x, target = (1e-3 * torch.rand(24)).to(dtype), torch.randn(24).to(dtype)
    optimizer = torch.optim.SGD([w], lr=0.5, momentum=0.9)
    for step in range(1, 21):
        optimizer.zero_grad()
        loss = loss_of(w, x, target)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            w.sub_(1e-3 * w)
        if step % 5 == 0:
            print(str(dtype)[6:], step, hexadecimal(loss), hexadecimal(w), hexadecimal(w.grad), sep="\t")
