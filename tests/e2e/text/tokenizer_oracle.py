"""tokenizer_oracle.py FOLDER COUNT [NAME …]: writes tokenizers, and what Python's tokenizers makes of strings with them.

Of each: NAME.json, and NAME.lines with a JSON text in each line: {"text", "pair", "add_special_tokens", "want"}.
"""

import json
import pathlib
import sys

import tokenizer_cases

# Those that get a text of 1 MB without a space too, by night.
LONG = {"gpt2", "llama3", "o200k", "llama2", "unigram", "bert"}
NIGHTLY_COUNT = 1000


def questions(name, count):
    texts = tokenizer_cases.strings(len(name), count)
    yield from ({"text": text} for text in texts)
    yield from ({"text": text, "add_special_tokens": False} for text in texts[:20])
    yield from ({"text": text, "pair": pair} for text, pair in zip(texts[:60], texts[5:]))
    if name in LONG and count >= NIGHTLY_COUNT:
        yield {"text": tokenizer_cases.long_text(1)}


def wanted(tokenizer, question):
    """What tokenizers gives; nothing where it refuses to truncate."""
    try:
        return {"want": tokenizer_cases.expected(tokenizer, **question)}
    except Exception as error:
        assert "too short to respect" in str(error) or "Second sequence not provided" in str(error), error
        return {}


def write(folder, name, count):
    tokenizer = tokenizer_cases.CASES[name]()
    path = folder / f"{name}.json"
    tokenizer.save(str(path))
    tokenizer = tokenizer_cases.Tokenizer.from_file(str(path))
    with open(folder / f"{name}.lines", "w") as lines:
        for question in questions(name, count):
            case = {"add_special_tokens": True, **question, **wanted(tokenizer, question)}
            lines.write(json.dumps(case) + "\n")


def main():
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    for name in sys.argv[3:] or tokenizer_cases.CASES:
        write(folder, name, count)


if __name__ == "__main__":
    main()
