"""Two processes that upload the same files as object_upload.lua with Arrow alone."""

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from events import Events
from pyarrow import fs

FILES = 4  # of each rank
PIECE_BYTES = 8 << 20


def put(store, source, target):
    with open(source, "rb") as file, store.open_output_stream(target) as stream:
        while piece := file.read(PIECE_BYTES):
            stream.write(piece)


def rank_main(rank, barrier, options):
    events = Events(options.events, rank)
    store, root = fs.FileSystem.from_uri(options.uri)
    for index in range(options.reports):
        folder = os.path.join(options.storage, f"{index}-{rank}")
        os.makedirs(folder)
        for number in range(FILES):
            with open(os.path.join(folder, str(number)), "wb") as file:
                for _ in range(options.megabytes // FILES):
                    file.write(str(rank).encode() * (1 << 20))
        barrier.wait()
        start = time.monotonic()
        with ThreadPoolExecutor(FILES) as threads:
            for number in range(FILES):
                threads.submit(put, store, os.path.join(folder, str(number)), f"{root}/{index}-{rank}-{number}")
        barrier.wait()
        events.mark("upload", time.monotonic() - start)


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {"uri": str, "storage": str, "events": str, "reports": int, "megabytes": int}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2, timeout=600)
    ranks = [context.Process(target=rank_main, args=(rank, barrier, options)) for rank in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    sys.exit(any(process.exitcode != 0 for process in ranks))


if __name__ == "__main__":
    main()
