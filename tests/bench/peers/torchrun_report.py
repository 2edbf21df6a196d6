"""Reports as a torchrun user writes them: a line of JSON and a barrier."""

import common
import reporting
from torchrun_group import TorchrunGroup


def main():
    config = common.options()
    group = TorchrunGroup(config)
    reporting.run(config, group)
    group.close()


if __name__ == "__main__":
    main()
