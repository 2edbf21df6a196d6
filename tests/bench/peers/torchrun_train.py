"""DistributedDataParallel over Gloo, started by torchrun."""

import common
from torchrun_group import TorchrunGroup


def main():
    config = common.options()
    group = TorchrunGroup(config)
    common.train(config, group)
    group.close()


if __name__ == "__main__":
    main()
