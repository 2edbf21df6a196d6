"""Step 1 of "Distributing your PyTorch Training Code with Ray Train and Ray Data": VisionTransformer on CIFAR-10, as
users of that document run it. Prints "name<TAB>number" lines: seconds of the epoch with its evaluation, and the
accuracy.

Twin of ../../../examples/single_machine.lua. vit_reference.py FOLDER LIMIT TEST_LIMIT BATCH_SIZE SEED, where FOLDER
holds the binary batches of CIFAR-10, which replace the pickled batches that torchvision would download.
"""

import sys
import time

import torch
from cifar import Cifar10
from torch import nn
from torch.utils.data import DataLoader, Subset
from torchvision import transforms
from torchvision.models import VisionTransformer
from torchvision.transforms import Normalize, ToTensor


def get_dataloaders(folder, limits, batch_size):
    transform = transforms.Compose([ToTensor(), Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])
    training, testing = (Cifar10(folder, is_train, transform) for is_train in (True, False))
    training, testing = (Subset(data, range(min(limit, len(data)))) for data, limit in zip((training, testing), limits))
    return DataLoader(training, batch_size=batch_size, shuffle=True), DataLoader(testing, batch_size=batch_size)


def train_func(folder, limits, batch_size):
    train_dataloader, valid_dataloader = get_dataloaders(folder, limits, batch_size)
    model = VisionTransformer(
        image_size=32, patch_size=4, num_layers=12, num_heads=8, hidden_dim=384, mlp_dim=768, num_classes=10
    )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)

    start = time.perf_counter()
    model.train()
    for X, y in train_dataloader:
        X, y = X.to(device), y.to(device)
        loss = loss_fn(model(X), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    valid_loss, num_correct, num_total = 0, 0, 0
    with torch.no_grad():
        for X, y in valid_dataloader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            valid_loss += loss_fn(pred, y).item()
            num_total += y.shape[0]
            num_correct += (pred.argmax(1) == y).sum().item()
    print(f"epoch\t{time.perf_counter() - start:.3f}")
    print(f"accuracy\t{num_correct / num_total:.4f}")


if __name__ == "__main__":
    limit, test_limit, batch, seed = map(int, sys.argv[2:])
    torch.manual_seed(seed)
    train_func(sys.argv[1], (limit, test_limit), batch)
