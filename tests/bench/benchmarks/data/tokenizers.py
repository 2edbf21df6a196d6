"""Tokenizers of GPT-2's and Llama 3's kind on one core, and the training of a BPE, next to Python's tokenizers."""

import os

from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.single import made_once, sampler

NAME = "tokenizers"
PEER = "tokenizers"


def make_files(config):
    """Texts, and tokenizers that were learnt from them: once for quick and once for full runs."""
    size = "1" if config.quick else "4"
    program = [config.transformers_python, os.path.join(sides.PEERS, "tokenize_text.py")]
    return made_once(config, f"tokenizers-{size}", lambda folder: [*program, "make", folder, size])


def build(config):
    metrics = [
        Metric("gpt2_english", "ms", "ids of documents of 4 KB", places=0),
        Metric("gpt2_mixed", "ms", "the same of many scripts", places=0),
        Metric("llama3_english", "ms", "with the pattern of Llama 3", places=0),
        Metric("llama3_mixed", "ms", "the same of many scripts", places=0),
        Metric("train", "ms", "a BPE of 32,000 tokens", places=0),
    ]
    if config.transformers_missing:
        return Benchmark(name=NAME, text="", metrics=metrics, goals=[], sides={}, notes=[config.transformers_missing])
    folder = make_files(config)
    commands = {
        OWN: [config.rtrain, "exec", os.path.join(sides.HERE, "tokenize_text.lua"), folder],
        PEER: [config.transformers_python, os.path.join(sides.PEERS, "tokenize_text.py"), "run", folder],
    }
    return Benchmark(
        name=NAME,
        text="milliseconds for all documents on one core",
        metrics=metrics,
        goals=[*(Goal(metric.key, 1 / 10, PEER) for metric in metrics[:4]), Goal("train", 0.7, PEER)],
        sides={side: sampler(config, side, command) for side, command in commands.items()},
        notes=[
            "the tokenizers have 32,000 tokens, learnt from the texts themselves; the ids of both sides are compared"
        ],
    )
