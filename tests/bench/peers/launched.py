"""The programs of torchrun, started by `rtrain launch`: their reports go to the run through the Python package rtrain.

launched.py train|report [options of common.py]
"""

import sys
import tempfile

import common
import reporting
from torchrun_group import TorchrunGroup

from rtrain import train


class LaunchedGroup(TorchrunGroup):
    def starting_checkpoint(self):
        checkpoint = train.get_checkpoint()
        return checkpoint and checkpoint.path

    def report(self, metrics, save=None):
        if self.rank > 0 or not save:
            train.report(metrics)
            return
        with tempfile.TemporaryDirectory() as folder:
            save(folder)
            train.report(metrics, checkpoint=train.Checkpoint.from_directory(folder))


def main():
    program, *arguments = sys.argv[1:]
    config = common.options(arguments)
    group = LaunchedGroup(config)
    {"train": common.train, "report": reporting.run}[program](config, group)
    group.close()


if __name__ == "__main__":
    main()
