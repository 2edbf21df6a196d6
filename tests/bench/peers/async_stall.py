"""A loop of equal steps on one thread that sometimes saves 400 MB with DCP's async_save; the twin of
../async_stall.lua.

  async_stall.py EVENTS STORAGE STEPS EVERY

Uses DCP's default stager: stagers that keep their memory need pinned memory, and thus CUDA.
"""

import os
import shutil
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from events import Events


def make_state():
    return {f"layer{i}": torch.full((6_250_000,), float(i)) for i in range(1, 17)}


def main():
    events_folder, storage, steps, every = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{storage}/group", rank=0, world_size=1)
    events = Events(events_folder, 0)
    state, a, b = make_state(), torch.randn(700, 700), torch.randn(700, 700)
    saving, kept = None, None
    for step in range(1, steps + 1):
        start = time.monotonic()
        for _ in range(4):
            torch.mm(a, b)
        seconds = time.monotonic() - start
        events.mark("during" if saving and not saving.done() else "normal", seconds)
        if step % every == 0:
            start = time.monotonic()
            if saving:
                saving.result()
            folder = os.path.join(storage, f"step-{step}")
            saving = dcp.async_save(state, checkpoint_id=folder)
            events.mark("stall", time.monotonic() - start)
            if kept:
                shutil.rmtree(kept)
            kept = folder
    saving.result()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
