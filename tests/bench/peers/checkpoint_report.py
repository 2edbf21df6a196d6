"""Repeated reports with a checkpoint; the twin of ../checkpoint_report.lua."""

import os
import time

import torch
import torch.distributed as dist


def run(config, runtime):
    state = {"weight": torch.randn(config.megabytes * 250000)}
    for index in range(1, config.reports + 1):
        if dist.is_initialized():
            dist.barrier()
        start = time.monotonic()
        runtime.report({"index": index}, lambda folder: torch.save(state, os.path.join(folder, "state.pt")))
        runtime.events.mark("report", time.monotonic() - start)
