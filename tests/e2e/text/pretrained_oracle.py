"""pretrained_oracle.py FOLDER: writes folders of models without tokenizer.json, and what transformers makes of texts with them.

Of each: NAME/ with its files, and NAME.lines with a JSON text in each line: {"text", "ids", "decoded"}.
"""

import base64
import json
import pathlib
import sys

import sentencepiece
import transformers
from tokenizers import pre_tokenizers

import tokenizer_cases

TEXTS = [
    "Hello world",
    "  two  spaces ", "Привет мир", "你好世界", "naïve café", "a\nb\tc", "emoji 👍🏽", "<s> and </s>", "'tis 12345",
    "", "ﬁne ①", "x" * 50, "the quick brown fox", "don't I'LL", "<|im_start|>user", "[MASK] [CLS]",
]  # fmt: skip


def write_lines(folder, name, tokenizer):
    with open(folder / f"{name}.lines", "w") as lines:
        for text in TEXTS:
            ids = tokenizer(text)["input_ids"]
            decoded = tokenizer.backend_tokenizer.decode(ids, skip_special_tokens=True)
            lines.write(json.dumps({"text": text, "ids": ids, "decoded": decoded}) + "\n")


def train_sentencepiece(path, **options):
    lines = [line for line in tokenizer_cases.corpus() if line.strip()]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=str(path), minloglevel=2, hard_vocab_limit=False, **options
    )
    path.with_name(path.name + ".model").rename(path)
    path.with_name(path.name + ".vocab").unlink()


def llama(folder, name):
    path = folder / name
    path.mkdir()
    train_sentencepiece(
        path / "tokenizer.model", model_type="bpe", vocab_size=700, byte_fallback=True, character_coverage=0.98,
        normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
    )  # fmt: skip
    config = {
        "tokenizer_class": "LlamaTokenizer",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "add_bos_token": True,
    }
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    write_lines(folder, name, transformers.LlamaTokenizer.from_pretrained(path))


def t5(folder, name):
    path = folder / name
    path.mkdir()
    train_sentencepiece(
        path / "spiece.model", model_type="unigram", vocab_size=500, pad_id=0, eos_id=1, unk_id=2, bos_id=-1
    )
    config = {
        "tokenizer_class": "T5Tokenizer",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "extra_ids": 0,
    }
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    write_lines(folder, name, transformers.T5Tokenizer.from_pretrained(path))


def byte_level(folder, name, kind, config):
    path = folder / name
    path.mkdir()
    made = tokenizer_cases.byte_level(
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        special=["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"],
    )
    made.model.save(str(path))
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    write_lines(folder, name, kind.from_pretrained(path))


def bert(folder, name):
    path = folder / name
    path.mkdir()
    made = tokenizer_cases.CASES["bert"]()
    made.model.save(str(path))
    (path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True}))
    write_lines(folder, name, transformers.BertTokenizer.from_pretrained(path))


def tiktoken(folder, name):
    path = folder / name
    path.mkdir()
    made = tokenizer_cases.byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), special=[])
    to_byte = {c: byte for byte, c in transformers.convert_slow_tokenizer.bytes_to_unicode().items()}
    vocab = sorted(made.get_vocab().items(), key=lambda entry: entry[1])
    lines = (base64.b64encode(bytes(to_byte[c] for c in token)).decode() + f" {rank}" for token, rank in vocab)
    (path / "tokenizer.model").write_text("\n".join(lines) + "\n")
    converter = transformers.convert_slow_tokenizer.TikTokenConverter(
        vocab_file=str(path / "tokenizer.model"), pattern=tokenizer_cases.CL100K
    )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=converter.converted())
    write_lines(folder, name, tokenizer)


def main():
    folder = pathlib.Path(sys.argv[1])
    llama(folder, "llama")
    t5(folder, "t5")
    byte_level(
        folder, "gpt2", transformers.GPT2Tokenizer, {"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|endoftext|>"}
    )
    byte_level(
        folder, "roberta", transformers.RobertaTokenizer,
        {"tokenizer_class": "RobertaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>",
         "sep_token": "</s>"},
    )  # fmt: skip
    byte_level(
        folder,
        "qwen2",
        transformers.Qwen2Tokenizer,
        {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|endoftext|>"},
    )
    bert(folder, "bert")
    tiktoken(folder, "tiktoken")


if __name__ == "__main__":
    main()
