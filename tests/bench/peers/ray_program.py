"""The Ray Train programs: TorchTrainer over Gloo on CPU workers, Train V2.

ray_program.py train|report|checkpoint_report [--max-failures N] [options of common.py]
"""

import argparse
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def make_runtime(config):
    import ray.train
    import ray.train.torch
    from events import Events

    class RayGroup:
        rank = ray.train.get_context().get_world_rank()
        events = Events(config.events, rank)
        prepare_model = staticmethod(ray.train.torch.prepare_model)
        prepare_loader = staticmethod(ray.train.torch.prepare_data_loader)

        def starting_checkpoint(self):
            checkpoint = ray.train.get_checkpoint()
            return checkpoint and checkpoint.path

        def report(self, metrics, save=None):
            if self.rank > 0 or not save:
                ray.train.report(metrics)
                return
            with tempfile.TemporaryDirectory() as folder:
                save(folder)
                ray.train.report(metrics, checkpoint=ray.train.Checkpoint.from_directory(folder))

    return RayGroup()


def train_loop(settings):
    sys.path.insert(0, settings["here"])
    import checkpoint_report
    import common
    import reporting

    config = argparse.Namespace(**settings)
    runtime = make_runtime(config)
    loops = {"train": common.train, "report": reporting.run, "checkpoint_report": checkpoint_report.run}
    loops[config.program](config, runtime)


def parse():
    sys.path.insert(0, HERE)
    import common

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=["train", "report", "checkpoint_report"])
    parser.add_argument("--max-failures", type=int, default=0)
    parser.add_argument("--dashboard", action="store_true")
    own, rest = parser.parse_known_args()
    settings = vars(common.options(rest))
    settings.update(here=HERE, program=own.program)
    return own, settings


def main():
    own, settings = parse()
    import ray
    from ray.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    ray.init(address="local", include_dashboard=own.dashboard)
    run_config = RunConfig(
        name="run",
        storage_path=settings["storage"],
        checkpoint_config=CheckpointConfig(num_to_keep=2),
        failure_config=FailureConfig(max_failures=own.max_failures),
    )
    scaling_config = ScalingConfig(num_workers=2)
    TorchTrainer(train_loop, train_loop_config=settings, scaling_config=scaling_config, run_config=run_config).fit()
    ray.shutdown()


if __name__ == "__main__":
    main()
