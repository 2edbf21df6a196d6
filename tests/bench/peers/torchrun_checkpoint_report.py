"""Checkpoints as a torchrun user writes them: a rename, a line of JSON and a barrier."""

import checkpoint_report
import common
from torchrun_group import TorchrunGroup


def main():
    config = common.options()
    group = TorchrunGroup(config)
    checkpoint_report.run(config, group)
    group.close()


if __name__ == "__main__":
    main()
