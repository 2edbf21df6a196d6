"""The Python original of one_assignment.lua."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def hexadecimal(x):
    return " ".join(f"{word % 2**32:08x}" for word in x.detach().view(torch.int32).reshape(-1).tolist())


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.scale, self.up, self.down = (
            nn.Parameter(torch.rand(width)),
            nn.Linear(width, 2 * width),
            nn.Linear(2 * width, width),
        )

    def forward(self, x):
        y = self.norm1(x)
        scores = torch.matmul(self.query(y), self.key(y).transpose(1, 2)) / math.sqrt(x.size(2))
        x = x + self.scale * torch.matmul(F.softmax(scores, dim=2), self.value(y))
        return x + self.down(F.relu(self.up(self.norm2(x))))


torch.manual_seed(3)
model = Block(4)
for name, parameter in model.named_parameters():
    print("first", name, hexadecimal(parameter), sep="\t")

optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=0.01)
for step in range(1, 11):
    x = torch.randn(3, 5, 4)
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), x.flip(1))
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()
    print("step", step, hexadecimal(loss), hexadecimal(norm), sep="\t")

for name, tensor in model.state_dict().items():
    print("last", name, hexadecimal(tensor), sep="\t")
state = optimizer.state_dict()["state"]
for i in range(len(list(model.parameters()))):
    print("Adam", i, hexadecimal(state[i]["exp_avg"]), hexadecimal(state[i]["exp_avg_sq"]), sep="\t")
