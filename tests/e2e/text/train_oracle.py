"""train_oracle.py FOLDER: writes corpora.json, and of each case NAME.empty (a tokenizer), NAME.options, NAME.corpus (its
name) and NAME.want, which is what Python's tokenizers learns from the corpus with them.

In what tokenizers learns of WordPiece the ids of "##x" depend on the order of a hash table, and merges of equally frequent
pairs on these ids. So NAME.options have all characters as special tokens, in the order of NAME.want; of NAME-own they have
not.
"""

import json
import pathlib
import sys

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

import tokenizer_cases

ROOT = pathlib.Path(__file__).parents[3]
BYTES = pre_tokenizers.ByteLevel.alphabet()
WORD_PIECE_SPECIALS = ["[UNK]", "[CLS]"]


def lines_of(*patterns):
    return [
        line for pattern in patterns for path in sorted(ROOT.glob(pattern)) for line in path.read_text().split("\n")
    ]


CORPORA = {
    "mixed": tokenizer_cases.corpus(),
    "english": lines_of("*.md", "modules/rtrain/guide/d*.md"),
    "code": lines_of("modules/text/*.lua", "host/text/*.cpp"),
    "tiny": ["banana bandana", "ananas"],
    "repeated": ["aaaaaaaa aaaa aa b"],
    "nul": ["a\0b a\0b"],
    "word": ["hello"],
    "empty": [],
    "blank": ["", " "],
}


def empty(model, pre_tokenizer, normalizer=None):
    tokenizer = Tokenizer(model)
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    return tokenizer


BPE = {
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
        {"vocab_size": 600, "special_tokens": ["<unk>"], "initial_alphabet": ["\u00df", "xyz", ""]},
    ),
    "metaspace": (
        empty(models.BPE(unk_token="<unk>", byte_fallback=True), pre_tokenizers.Metaspace()),
        {"vocab_size": 800, "special_tokens": ["<unk>", {"content": "<mask>", "lstrip": True, "special": True}]},
    ),
}

WORD_PIECE = {
    "bert": (pre_tokenizers.BertPreTokenizer(), {"vocab_size": 600}),
    "frequent": (pre_tokenizers.WhitespaceSplit(), {"vocab_size": 3000, "min_frequency": 3}),
    "alphabet": (
        pre_tokenizers.Whitespace(),
        {"vocab_size": 500, "limit_alphabet": 30, "initial_alphabet": ["q", "Zz"]},
    ),
    "prefix": (pre_tokenizers.BertPreTokenizer(), {"vocab_size": 500, "continuing_subword_prefix": "@"}),
}

UNIGRAM = {
    "metaspace": (pre_tokenizers.Metaspace(), {"vocab_size": 400, "special_tokens": ["<s>", "<unk>", "a"]}),
    "large": (pre_tokenizers.WhitespaceSplit(), {"vocab_size": 1500, "shrinking_factor": 0.6, "n_sub_iterations": 3}),
    "short": (pre_tokenizers.Metaspace(), {"vocab_size": 300, "max_piece_length": 5, "seed_size": 2000}),
    "lines": (None, {"vocab_size": 350, "initial_alphabet": ["q", "Zz", "\u00e9"], "unk_token": "[U]"}),
}


def trainer_of(model, options):
    options = {"show_progress": False, **options}
    made = [
        token if isinstance(token, str) else tokenizer_cases.AddedToken(**token)
        for token in options.pop("special_tokens", [])
    ]
    if isinstance(model, models.Unigram):
        options.setdefault("unk_token", "<unk>")
        return trainers.UnigramTrainer(special_tokens=made, **options)
    trainer = trainers.BpeTrainer if isinstance(model, models.BPE) else trainers.WordPieceTrainer
    return trainer(special_tokens=made, **options)


def write(folder, name, corpus, tokenizer, options):
    (folder / f"{name}.empty").write_text(tokenizer.to_str())
    (folder / f"{name}.corpus").write_text(corpus)
    (folder / f"{name}.options").write_text(json.dumps(options))
    tokenizer.train_from_iterator(CORPORA[corpus], trainer_of(tokenizer.model, options))
    tokenizer.save(str(folder / f"{name}.want"))


def write_word_piece(folder, name, corpus, pre_tokenizer, options):
    options = {**options, "special_tokens": WORD_PIECE_SPECIALS}
    prefix = options.get("continuing_subword_prefix", "##")
    write(folder, name, corpus, empty(models.WordPiece(unk_token="[UNK]"), pre_tokenizer), options)
    vocab = json.loads((folder / f"{name}.want").read_text())["model"]["vocab"]
    tokens = sorted(vocab, key=vocab.get)
    first = [x for x in tokens if x in WORD_PIECE_SPECIALS or len(x.removeprefix(prefix)) == 1 or len(x) == 1]
    for kind in ("empty", "corpus", "want", "options"):
        (folder / f"{name}-own.{kind}").write_text((folder / f"{name}.{kind}").read_text())
    (folder / f"{name}.options").write_text(json.dumps({**options, "special_tokens": first}))


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "corpora.json").write_text(json.dumps(CORPORA))
    for name, (tokenizer, options) in BPE.items():
        write(folder, f"bpe-{name}", "mixed", tokenizer, options)
    for corpus in CORPORA:
        for name, case in WORD_PIECE.items():
            write_word_piece(folder, f"word-{name}-{corpus}", corpus, *case)
        for name, (pre_tokenizer, options) in UNIGRAM.items():
            write(folder, f"unigram-{name}-{corpus}", corpus, empty(models.Unigram(), pre_tokenizer), options)


if __name__ == "__main__":
    main()
