"""truncation_oracle.py FOLDER COUNT: writes tokenizers, FOLDER/single.lines with COUNT encodings of each and the parts that
truncation cut off of them, by Python's tokenizers, and FOLDER/batch.lines with batches of transformers."""

import json
import pathlib
import random
import sys

from transformers import PreTrainedTokenizerFast

import tokenizer_cases

NAMES = [
    "gpt2", "gpt2-prefix", "gpt2-trim", "roberta", "roberta-prefix", "llama3", "llama2", "gemma", "xlnet", "bert",
    "bert-cased", "unigram", "word-level", "qwen2", "added",
]  # fmt: skip
STRATEGIES = ["longest_first", "longest_first", "only_first", "only_second"]


def listed(encoding):
    return {
        "ids": encoding.ids,
        "tokens": encoding.tokens,
        "offsets": [list(offset) for offset in encoding.offsets],
        "type_ids": encoding.type_ids,
        "attention_mask": encoding.attention_mask,
        "special_tokens_mask": encoding.special_tokens_mask,
        "overflowing": [listed(part) for part in encoding.overflowing],
    }


def question(chooser, texts):
    return {
        "truncation": {
            "max_length": chooser.choice([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 30]),
            "stride": chooser.choice([0, 0, 1, 2, 3, 5]),
            "strategy": chooser.choice(STRATEGIES),
            "direction": chooser.choice(["left", "right"]),
        },
        "padding": chooser.choice([None, {"length": 9, "pad_id": 1, "direction": "left"}, {"pad_to_multiple_of": 4}]),
        "text": chooser.choice(texts),
        "pair": chooser.choice([None, chooser.choice(texts)]),
        "add_special_tokens": chooser.random() < 0.7,
    }


def answer(tokenizer, case):
    """Nothing where tokenizers refuses the stride or the lengths of the texts."""
    try:
        tokenizer.enable_truncation(**case["truncation"])
        if case["padding"]:
            tokenizer.enable_padding(**case["padding"])
        else:
            tokenizer.no_padding()
        made = tokenizer.encode(case["text"], case["pair"], add_special_tokens=case["add_special_tokens"])
    except BaseException as error:  # a panic of Rust is not an Exception
        assert "stride" in str(error) or "too short" in str(error) or "Second sequence" in str(error), error
        return {}
    return {"want": listed(made)}


def batch(chooser, tokenizer, texts):
    texts = chooser.sample(texts, 6)
    pairs = chooser.sample(texts, 6) if chooser.random() < 0.5 else None
    strategy = "only_second" if pairs else chooser.choice(["only_first", "longest_first"])
    options = {"max_length": chooser.choice([80, 100]), "stride": chooser.choice([0, 8]), "truncation": strategy}
    if pairs:
        texts, pairs = [text[:15] for text in texts], [pair * 5 for pair in pairs]
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer)(texts, pairs, return_overflowing_tokens=True, **options)
    want = {"ids": made["input_ids"], "mapping": made["overflow_to_sample_mapping"]}
    return {"texts": texts, "pairs": pairs, "options": options, "want": want}


def main():
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    chooser = random.Random(1)
    with open(folder / "single.lines", "w") as single, open(folder / "batch.lines", "w") as batches:
        for name in NAMES:
            tokenizer = tokenizer_cases.CASES[name]()
            tokenizer.save(str(folder / f"{name}.json"))
            texts = tokenizer_cases.strings(len(name), 60)
            long = [text for text in texts if len(text) > 60]
            for _ in range(10):
                batches.write(json.dumps({"name": name, **batch(chooser, tokenizer, long)}) + "\n")
            for _ in range(count):
                case = question(chooser, texts)
                single.write(json.dumps({"name": name, **case, **answer(tokenizer, case)}) + "\n")


if __name__ == "__main__":
    main()
