"""The Python original of gcn.lua."""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=42)
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--weight-decay", type=float, default=5e-4)
parser.add_argument("--hidden", type=int, default=16)
parser.add_argument("--dropout", type=float, default=0.5)
parser.add_argument("--papers", type=int, default=120)
parser.add_argument("--words", type=int, default=40)
parser.add_argument("--subjects", type=int, default=3)
args = parser.parse_args()


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        bound = 1 / math.sqrt(out_features)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input, adjacency):
        support = torch.mm(input, self.weight)
        return torch.spmm(adjacency, support) + self.bias


class GCN(nn.Module):
    def __init__(self, features, hidden, classes, dropout):
        super().__init__()
        self.gc1 = GraphConvolution(features, hidden)
        self.gc2 = GraphConvolution(hidden, classes)
        self.dropout = dropout

    def forward(self, x, adjacency):
        x = F.relu(self.gc1(x, adjacency))
        x = F.dropout(x, self.dropout, training=self.training)
        return F.log_softmax(self.gc2(x, adjacency), dim=1)


def normalized(edges, count):
    loops = torch.arange(count).repeat(2, 1)
    indices = torch.cat([edges, edges.flip(0), loops], 1)
    adjacency = torch.sparse_coo_tensor(indices, torch.ones(indices.size(1)), (count, count)).coalesce()
    ones = torch.ones_like(adjacency.values())
    degree = torch.zeros(count).index_add_(0, adjacency.indices()[0], ones)
    values = ones / degree[adjacency.indices()[0]]
    return torch.sparse_coo_tensor(adjacency.indices(), values, (count, count))


def load_data():
    labels = torch.arange(args.papers) % args.subjects
    favoured = torch.rand(args.subjects, args.words) * 0.4
    features = (torch.rand(args.papers, args.words) < favoured[labels] + 0.05).float()
    features = features / features.sum(1, keepdim=True).clamp(min=1)
    source = torch.randint(args.papers, (3 * args.papers,))
    same = source + args.subjects * torch.randint(args.papers, source.shape)
    target = torch.where(torch.rand(source.shape) < 0.8, same, torch.randint(args.papers, source.shape)) % args.papers
    return normalized(torch.stack([source, target]), args.papers), features, labels


def accuracy(output, labels):
    return output.argmax(1).eq(labels).double().mean().item()


torch.manual_seed(args.seed)
adjacency, features, labels = load_data()
train, validation, test = torch.arange(30), torch.arange(30, 60), torch.arange(60, args.papers)

model = GCN(args.words, args.hidden, args.subjects, args.dropout)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay, fused=True)

for epoch in range(1, args.epochs + 1):
    model.train()
    optimizer.zero_grad()
    output = model(features, adjacency)
    loss = F.nll_loss(output[train], labels[train])
    loss.backward()
    optimizer.step()

    model.eval()
    output = model(features, adjacency)
    validation_loss = F.nll_loss(output[validation], labels[validation])
    val_acc = accuracy(output[validation], labels[validation])
    print(f"epoch {epoch} loss {loss.item():.6f} val_loss {validation_loss.item():.6f} val_acc {val_acc:.4f}")

model.eval()
output = model(features, adjacency)
print(f"test loss {F.nll_loss(output[test], labels[test]).item():.6f} acc {accuracy(output[test], labels[test]):.4f}")
