"""train_oracle.py FOLDER: writes corpus.json, and of each case NAME.empty (a tokenizer), NAME.options and NAME.want, which is
what Python's tokenizers learns from the corpus with them."""

import json
import pathlib
import sys

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

import tokenizer_cases

BYTES = pre_tokenizers.ByteLevel.alphabet()


def empty(model, pre_tokenizer, normalizer=None):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    return tokenizer


CASES = {
    "bytes": (
        empty(models.BPE(), pre_tokenizers.ByteLevel(add_prefix_space=False)),
        {"vocab_size": 900, "special_tokens": ["<s>", "</s>"], "initial_alphabet": sorted(BYTES)},
    ),
    "bytes-few": (
        empty(models.BPE(), pre_tokenizers.ByteLevel(add_prefix_space=True), normalizers.NFC()),
        {"vocab_size": 5000, "min_frequency": 8, "max_token_length": 5},
    ),
    "llama3": (
        empty(
            models.BPE(ignore_merges=True),
            pre_tokenizers.Sequence(
                [
                    tokenizer_cases.split(tokenizer_cases.CL100K),
                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
                ]
            ),
        ),
        {"vocab_size": 700, "special_tokens": ["<|begin|>"], "initial_alphabet": sorted(BYTES)},
    ),
    "characters": (
        empty(models.BPE(unk_token="<unk>"), pre_tokenizers.Whitespace(), normalizers.Lowercase()),
        {"vocab_size": 600, "special_tokens": ["<unk>"]},
    ),
    "metaspace": (
        empty(models.BPE(unk_token="<unk>", byte_fallback=True), pre_tokenizers.Metaspace()),
        {"vocab_size": 800, "special_tokens": ["<unk>", {"content": "<mask>", "lstrip": True, "special": True}]},
    ),
}


def trainer_of(options):
    options = {"show_progress": False, **options}
    made = [
        token if isinstance(token, str) else tokenizer_cases.AddedToken(**token)
        for token in options.pop("special_tokens", [])
    ]
    return trainers.BpeTrainer(special_tokens=made, **options)


def main():
    folder = pathlib.Path(sys.argv[1])
    lines = tokenizer_cases.corpus()
    (folder / "corpus.json").write_text(json.dumps(lines))
    for name, (tokenizer, options) in CASES.items():
        (folder / f"{name}.empty").write_text(tokenizer.to_str())
        (folder / f"{name}.options").write_text(json.dumps(options))
        tokenizer.train_from_iterator(lines, trainer_of(options))
        tokenizer.save(str(folder / f"{name}.want"))


if __name__ == "__main__":
    main()
