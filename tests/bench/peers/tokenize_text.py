"""Ids of documents, and the training of a BPE, by Python's tokenizers. Prints "name<TAB>milliseconds" lines. Twin of
../tokenize_text.lua: change both.

tokenize_text.py make FOLDER MEGABYTES    writes texts, and tokenizers that were learnt from them
tokenize_text.py run FOLDER
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
ALPHABETS = [
    (0x430, 32),
    (0x3B1, 25),
    (0x4E00, 800),
    (0x3042, 80),
    (0x5D0, 27),
    (0x628, 30),
    (0xAC00, 800),
    (0x915, 37),
]
DOCUMENT = 4096


def english(size):
    """The repository's own documents and sources, as often as needed."""
    names = subprocess.run(["git", "ls-files", "*.md", "*.lua", "*.h"], capture_output=True, text=True, check=True)
    text = "\n".join(pathlib.Path(name).read_text() for name in names.stdout.split())
    return (text * (1 + size // len(text)))[:size]


def mixed(text, size):
    """Lines of the text between lines of words of other scripts, of which some are frequent."""
    chooser = random.Random(0)
    words = {
        first: [
            "".join(chr(first + chooser.randrange(count)) for _ in range(chooser.randrange(2, 8))) for _ in range(3000)
        ]
        for first, count in ALPHABETS
    }
    lines, out, length = text.split("\n"), [], 0
    while length < size:
        if chooser.random() < 0.4:
            out.append(chooser.choice(lines))
        else:
            known = chooser.choice(list(words.values()))
            out.append(" ".join(known[min(int(chooser.paretovariate(0.7)), 2999)] for _ in range(12)))
        length += len(out[-1].encode()) + 1
    return "\n".join(out)


def pieces(text):
    return [text[at : at + DOCUMENT] for at in range(0, len(text), DOCUMENT)]


def empty(kind):
    tokenizer = Tokenizer(models.BPE(ignore_merges=kind == "llama3"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if kind == "llama3":
        split = pre_tokenizers.Split(Regex(PATTERN), "isolated")
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train(tokenizer, documents):
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=32000, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer


def make(folder, megabytes):
    size = megabytes << 20
    text = english(size)
    documents = {"english": pieces(text), "mixed": pieces(mixed(text, size))}
    for name, parts in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(parts))
    empty("gpt2").save(str(folder / "empty.json"))
    for kind in ("gpt2", "llama3"):
        tokenizer = train(empty(kind), documents["english"] + documents["mixed"])
        tokenizer.save(str(folder / f"{kind}.json"))
        for name, parts in documents.items():
            count = sum(len(tokenizer.encode(part).ids) for part in parts)
            (folder / f"{kind}_{name}.count").write_text(str(count))


def run(folder):
    documents = {name: json.loads((folder / f"{name}.json").read_text()) for name in ("english", "mixed")}
    for kind in ("gpt2", "llama3"):
        for name, parts in documents.items():
            tokenizer = Tokenizer.from_file(str(folder / f"{kind}.json"))
            start = time.perf_counter()
            for part in parts:
                tokenizer.encode(part).ids  # noqa: B018
            print(f"{kind}_{name}\t{(time.perf_counter() - start) * 1e3:.6f}")
    start = time.perf_counter()
    train(empty("gpt2"), documents["english"] + documents["mixed"])
    print(f"train\t{(time.perf_counter() - start) * 1e3:.6f}")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(pathlib.Path(sys.argv[2]), int(sys.argv[3]))
    else:
        run(pathlib.Path(sys.argv[2]))
