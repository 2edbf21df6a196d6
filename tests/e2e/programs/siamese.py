"""The Python original of siamese.lua."""

import argparse

import torch
import torchvision
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
for key, value in {
    "batch_size": 8,
    "test_batch_size": 16,
    "epochs": 2,
    "lr": 1.0,
    "gamma": 0.7,
    "seed": 1,
    "log_interval": 1,
    "train": 32,
    "test": 32,
}.items():
    parser.add_argument(f"--{key}", type=type(value), default=value)
args = parser.parse_args()


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.resnet = torchvision.models.resnet18(weights=None)
        self.resnet.conv1 = nn.Conv2d(1, 64, kernel_size=(7, 7), stride=(2, 2), padding=(3, 3), bias=False)
        self.fc_in_features = self.resnet.fc.in_features
        self.resnet = nn.Sequential(*list(self.resnet.children())[:-1])
        self.fc = nn.Sequential(nn.Linear(self.fc_in_features * 2, 256), nn.ReLU(inplace=True), nn.Linear(256, 1))
        self.sigmoid = nn.Sigmoid()
        self.resnet.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.resnet(x)
        return output.view(output.size()[0], -1)

    def forward(self, input1, input2):
        output1, output2 = self.forward_once(input1), self.forward_once(input2)
        return self.sigmoid(self.fc(torch.cat((output1, output2), 1)))


class Matcher(Dataset):
    def __init__(self, count):
        self.count = count
        self.labels = torch.arange(40) % 4
        self.images = torch.rand(40, 1, 28, 28) * 0.3
        for i, label in enumerate(self.labels.tolist()):
            self.images[i, 0].narrow(label % 2, 6 + 10 * (label // 2), 3).add_(0.7)
        self.grouped = {label: (self.labels == label).nonzero().flatten() for label in range(4)}

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        label = torch.randint(4, (1,)).item()
        other = label if index % 2 == 0 else (label + torch.randint(1, 4, (1,)).item()) % 4
        first, second = choice(self.grouped[label]), choice(self.grouped[other])
        return self.images[first], self.images[second], torch.tensor(1 if label == other else 0, dtype=torch.float)


def choice(items):
    return items[torch.randint(len(items), (1,)).item()].item()


torch.manual_seed(args.seed)
train_loader = DataLoader(Matcher(args.train), batch_size=args.batch_size)
test_loader = DataLoader(Matcher(args.test), batch_size=args.test_batch_size)
model = SiameseNetwork()
optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
criterion = nn.BCELoss()


def train(epoch):
    model.train()
    for batch_idx, (images_1, images_2, targets) in enumerate(train_loader):
        optimizer.zero_grad()
        outputs = model(images_1, images_2).squeeze()
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print(f"train epoch {epoch} batch {batch_idx} loss {loss.item():.5f}")


@torch.no_grad()
def test():
    model.eval()
    test_loss, correct = 0, 0
    for images_1, images_2, targets in test_loader:
        outputs = model(images_1, images_2).squeeze()
        test_loss += criterion(outputs, targets).sum().item()
        pred = torch.where(outputs > 0.5, 1, 0)
        correct += pred.eq(targets.view_as(pred)).sum().item()
    print(f"test set: loss {test_loss / args.test:.4f} accuracy {correct}/{args.test}")


scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
for epoch in range(1, args.epochs + 1):
    train(epoch)
    test()
    scheduler.step()
