"""The Python original of reinforce.lua."""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--episodes", type=int, default=50)
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--gamma", type=float, default=0.99)
parser.add_argument("--lr", type=float, default=0.01)
args = parser.parse_args()

GRAVITY, CART, POLE, HALF_LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
MAX_ANGLE, MAX_PLACE = 12 * 2 * math.pi / 360, 2.4


class CartPole:
    def reset(self):
        self.state = (torch.rand(4) * 0.1 - 0.05).tolist()
        return self.state

    def step(self, action):
        x, x_dot, theta, theta_dot = self.state
        force = FORCE if action == 1 else -FORCE
        cos, sin = math.cos(theta), math.sin(theta)
        total = CART + POLE
        temp = (force + POLE * HALF_LENGTH * theta_dot * theta_dot * sin) / total
        theta_acc = (GRAVITY * sin - cos * temp) / (HALF_LENGTH * (4 / 3 - POLE * cos * cos / total))
        x_acc = temp - POLE * HALF_LENGTH * theta_acc * cos / total
        x, x_dot = x + TAU * x_dot, x_dot + TAU * x_acc
        theta, theta_dot = theta + TAU * theta_dot, theta_dot + TAU * theta_acc
        self.state = [x, x_dot, theta, theta_dot]
        return self.state, abs(x) > MAX_PLACE or abs(theta) > MAX_ANGLE


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 64)
        self.dropout = nn.Dropout(0.25)
        self.affine2 = nn.Linear(64, 2)

    def forward(self, x):
        scores = self.affine2(F.relu(self.dropout(self.affine1(x))))
        return F.softmax(scores, dim=1)


torch.manual_seed(args.seed)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr, fused=True)
env = CartPole()


def play():
    log_probs, rewards, actions = [], [], []
    state, done = env.reset(), False
    while not done and len(rewards) < args.steps:
        action_of = Categorical(policy(torch.tensor(state).unsqueeze(0)))
        action = action_of.sample()
        log_probs.append(action_of.log_prob(action))
        actions.append("R" if action.item() == 1 else "L")
        state, done = env.step(action.item())
        rewards.append(1)
    return log_probs, rewards, "".join(actions)


def returns_of(rewards):
    returns, total = [], 0
    for reward in reversed(rewards):
        total = reward + args.gamma * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    return (returns - returns.mean()) / (returns.std() + torch.finfo(torch.float32).eps)


running = 10
for episode in range(1, args.episodes + 1):
    log_probs, rewards, actions = play()
    returns = returns_of(rewards)
    loss = (-torch.cat(log_probs) * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running = 0.05 * len(rewards) + 0.95 * running
    print(f"episode {episode} reward {len(rewards)} average {running:.4f} loss {loss.item():.5f} {actions}")

probs = policy.eval()(torch.tensor([[0, 0, 0.1, 0], [0, 0, -0.1, 0]]))
action_of = Categorical(probs)
entropy = action_of.entropy()
print(
    f"right {probs[0][1].item():.5f} {probs[1][1].item():.5f} entropy {entropy[0].item():.5f} {entropy[1].item():.5f}"
)
