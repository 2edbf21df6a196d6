"""pattern_oracle.py FILE COUNT: writes regular expressions with sets in sets and intersections, a JSON text in each line:
{"pattern", "texts", "want"}, where `want` has the places at which Python's tokenizers cuts each text."""

import json
import random
import sys

from tokenizers import Regex, pre_tokenizers

import tokenizer_cases

FIXED = [
    r"[\p{L}&&[^\p{Han}]]+|\p{Han}+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t)?|\s+",
    r"[a-z&&[^aeiou]]+",
    r"[\w&&[^\d_]]+",
    r"[^\w&&\W]+",
    r"[[^\s]&&[^\p{P}]]+",
    r"[&&a]",
    r"[^a&&]",
    r"[^&&]+",
    r"(?<=[\p{L}&&[^a-m]])[\W]",
    r"(?i)[a-z&&[^A]]+",
    r"(?i:[^\p{Lu}])+",
    r"[^[:^alpha:]]+|[[:^punct:]&&\S]",
    r"[\S&&[^\p{L}]]{2}+",
]
MEMBERS = [
    "a", "b-f", "x", "0-9", "a-z", "A-Z", r"\d", r"\s", r"\w", r"\W", r"\D", r"\S", r"\h", r"\H", r"\p{L}", r"\p{Lu}",
    r"\P{L}", r"\p{Han}", r"\p{N}", "[:alpha:]", "[:punct:]", "[:space:]", "[:^alpha:]", "é", "ß", "\\n", ".", "^", r"\-",
    r"\]", r"\p{Ll}", "k", "K", "s", "ſ", r"\x41", r"\p{^L}", "'", r"\p{Katakana}", "à-ü",
]  # fmt: skip


def union(chooser, depth):
    return "".join(
        one_set(chooser, depth + 1) if depth < 3 and chooser.random() < 0.35 else chooser.choice(MEMBERS)
        for _ in range(chooser.randrange(1, 4))
    )


def one_set(chooser, depth=0):
    parts = [union(chooser, depth) for _ in range(chooser.choice([1, 1, 2, 2, 3]))]
    return f"[{chooser.choice(['', '', '^'])}{'&&'.join(parts)}]"


def random_pattern(chooser):
    first, second = one_set(chooser), one_set(chooser)
    shapes = [
        "{0}+",
        "{0}",
        "{0}{1}*",
        "(?<={0})\\p{{L}}+",
        "{0}{{1,3}}|{1}+",
        "{0}+|\\s+",
        "(?!{0}).",
        "(?i:{0}+|{1})",
    ]
    return chooser.choice(shapes).format(first, second)


def main():
    chooser = random.Random(1)
    # U+0363 to U+036F are letters since Unicode 16, which PCRE2 may not have.
    texts = [text for text in tokenizer_cases.strings(3, 60) if not any("\u0363" <= c <= "\u036f" for c in text)]
    with open(sys.argv[1], "w") as lines:
        for pattern in FIXED + [random_pattern(chooser) for _ in range(int(sys.argv[2]))]:
            try:
                split = pre_tokenizers.Split(Regex(pattern), "isolated")
            except Exception as error:
                assert "Oniguruma error" in str(error), error
                continue
            sample = chooser.sample(texts, 12)
            want = [[place for _, place in split.pre_tokenize_str(text)] for text in sample]
            lines.write(json.dumps({"pattern": pattern, "texts": sample, "want": want}) + "\n")


if __name__ == "__main__":
    main()
