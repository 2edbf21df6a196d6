"""Tokenizers of many components, made by Python's tokenizers, and strings for them."""

# ruff: noqa: E501

import json
import random
import struct
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

WORDS = (
    "the quick brown fox jumps over lazy dogs and they're sure we'll say it's John's, don't you? I'd've gone! "
    "Hello world, hello again: 12345 numbers, 3.14159, 2026-11-29 and v1.2.3. "
    'def main(args): return [x**2 for x in range(10)]  # comment\n\tif (a != b) { printf("%d\\n", c); }\n\n'
    "Übergrößenträger naïve café résumé Ångström İstanbul straße "
    "Привет мир, как дела? Сегодня хорошая погода. "
    "你好世界今天天气很好，我们去公园吧。 こんにちは世界、カタカナとひらがな。 안녕하세요 세계 "
    "مرحبا بالعالم كيف حالك שלום עולם नमस्ते दुनिया สวัสดีชาวโลก "
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇩🇪 e\u0301 a\u0308\u0323 ﬁne ① ½ ⅷ ™ … — “quotes” ‘single’ "
)

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
QWEN2 = CL100K.replace("{1,3}", "")
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def corpus():
    """The same lines at each call."""
    chooser = random.Random(7)
    words = WORDS.split(" ")
    return [" ".join(chooser.choices(words, k=chooser.randrange(1, 30))) for _ in range(300)] + [WORDS]


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert=invert)


def trained(model, trainer, normalizer=None, pre_tokenizer=None, decoder=None):
    tokenizer = Tokenizer(model)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if decoder is not None:
        tokenizer.decoder = decoder
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def byte_level(pre_tokenizer, normalizer=None, special=("<|endoftext|>",), **options):
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return trained(models.BPE(**options), trainer, normalizer, pre_tokenizer, decoders.ByteLevel())


def byte_level_split(pattern, **options):
    parts = [split(pattern), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    return byte_level(pre_tokenizers.Sequence(parts), **options)


def bpe(normalizer=None, pre_tokenizer=None, decoder=None, special=("<unk>", "<s>"), size=500, trainer=None, **options):
    made = trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), show_progress=False, **(trainer or {}))
    return trained(models.BPE(**options), made, normalizer, pre_tokenizer, decoder)


def llama2(prepends=True):
    """BPE with bytes for what is unknown, as Llama 2 has it."""
    steps = [normalizers.Prepend("▁")] if prepends else []
    normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    small = bpe(normalizer, unk_token="<unk>", size=400, trainer={"max_token_length": 12})
    state = json.loads(small.to_str())
    vocab = state["model"]["vocab"]
    keep = {token for token in vocab if len(token) > 1 or ord(token) < 0x250 or token == "▁"}
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += [token for token in vocab if token in keep and token not in tokens]
    state["model"]["vocab"] = {token: i for i, token in enumerate(tokens)}
    state["model"]["merges"] = [pair for pair in state["model"]["merges"] if set(pair) | {"".join(pair)} <= set(tokens)]
    state["model"].update(byte_fallback=True, fuse_unk=True)
    made = Tokenizer.from_str(json.dumps(state))
    strip = [decoders.Strip(" ", 1, 0)] if prepends else []
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *strip])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", state["model"]["vocab"]["<s>"])]
    )
    made.add_special_tokens(["<s>", "</s>"])
    return made


def unigram(normalizer=None, pre_tokenizer=None, byte_fallback=False):
    chooser = random.Random(3)
    pieces = {"<unk>": 0.0, "<s>": 0.0, "</s>": 0.0}
    if byte_fallback:
        pieces.update({f"<0x{byte:02X}>": 0.0 for byte in range(256)})
    text = WORDS.replace(" ", "▁")
    for c in sorted(set(text)):
        if ord(c) < 0x3000:
            pieces.setdefault(c, -8 - chooser.random())
    for _ in range(1500):
        begin = chooser.randrange(len(text))
        pieces.setdefault(text[begin : begin + chooser.randrange(2, 7)], -6 - 5 * chooser.random())
    made = Tokenizer(models.Unigram(list(pieces.items()), unk_id=0, byte_fallback=byte_fallback))
    if normalizer is not None:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizer or pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    return made


def word_piece(normalizer, pre_tokenizer, cleanup=True):
    trainer = trainers.WordPieceTrainer(
        vocab_size=600, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False
    )
    made = trained(
        models.WordPiece(unk_token="[UNK]"), trainer, normalizer, pre_tokenizer, decoders.WordPiece(cleanup=cleanup)
    )
    made.post_processor = processors.BertProcessing(
        ("[SEP]", made.token_to_id("[SEP]")), ("[CLS]", made.token_to_id("[CLS]"))
    )
    return made


def word_level(pre_tokenizer, normalizer=None, decoder=None):
    trainer = trainers.WordLevelTrainer(vocab_size=120, special_tokens=["<unk>", "<pad>"], show_progress=False)
    return trained(models.WordLevel(unk_token="<unk>"), trainer, normalizer, pre_tokenizer, decoder)


def with_added(tokenizer, tokens, special=()):
    tokenizer.add_tokens(tokens)
    tokenizer.add_special_tokens(list(special))
    return tokenizer


def with_processor(tokenizer, processor):
    tokenizer.post_processor = processor
    return tokenizer


def roberta(trim_offsets, add_prefix_space):
    made = byte_level(
        pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space), special=("<s>", "</s>", "<pad>", "<mask>")
    )
    made.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    ids = {token: made.token_to_id(token) for token in ("<s>", "</s>")}
    return with_processor(
        made,
        processors.RobertaProcessing(
            ("</s>", ids["</s>"]), ("<s>", ids["<s>"]), trim_offsets=trim_offsets, add_prefix_space=add_prefix_space
        ),
    )


def charsmap(pairs):
    """A precompiled_charsmap: a double array of the keys, as SentencePiece writes it, and what they become."""
    values, offsets = b"", {}
    for key, value in pairs.items():
        offsets[key.encode()] = len(values)
        values += value.encode() + b"\0"
    units = {0: 0}
    used = {0}

    def place(node, prefix):
        labels = sorted(
            {key[len(prefix)] if len(key) > len(prefix) else 0 for key in offsets if key.startswith(prefix)}
        )
        base = 1
        while any((base ^ label) in used or (base ^ node) >= 1 << 21 for label in labels) or base in used:
            base += 1
        used.update(base ^ label for label in labels)
        used.add(base)
        units[node] = units.get(node, 0) | (node ^ base) << 10 | (0x100 if 0 in labels else 0)
        for label in labels:
            child = base ^ label
            if label == 0:
                units[child] = 0x80000000 | offsets[prefix]
            else:
                units[child] = label
                place(child, prefix + bytes([label]))

    place(0, b"")
    size = (max(units) | 0xFF) + 1
    table = struct.pack(f"<{size}I", *(units.get(i, 0) for i in range(size)))
    return struct.pack("<I", len(table)) + table + values


PRECOMPILED = {
    "ﬁ": "fi", "①": "1", "½": "1⁄2", "…": "...", "™": "TM", "e\u0301": "é", "\u3000": " ", "Ａ": "A", "Ｂ": "B", "\t": " ",
    "\u200b": "", "が": "か\u3099", "\n": " ", "ⅷ": "viii", "\u1100\u1161": "가",
}  # fmt: skip

BERT = pre_tokenizers.BertPreTokenizer
N, P, D = normalizers, pre_tokenizers, decoders
NMT = N.Sequence([N.Nmt(), N.NFKC(), N.Replace(Regex(" {2,}"), " ")])


def truncated(tokenizer, max_length, **options):
    tokenizer.enable_truncation(max_length, **options)
    return tokenizer


def padded(tokenizer, **options):
    tokenizer.enable_padding(**options)
    return tokenizer


CASES = {
    "gpt2": lambda: byte_level(P.ByteLevel(add_prefix_space=False)),
    "gpt2-prefix": lambda: with_processor(byte_level(P.ByteLevel()), processors.ByteLevel(trim_offsets=True)),
    "gpt2-trim": lambda: with_processor(
        byte_level(P.ByteLevel(add_prefix_space=False)), processors.ByteLevel(trim_offsets=True, add_prefix_space=False)
    ),
    "roberta": lambda: roberta(True, False),
    "roberta-prefix": lambda: roberta(True, True),
    "roberta-untrimmed": lambda: roberta(False, False),
    "llama3": lambda: with_processor(
        with_added(byte_level_split(CL100K, ignore_merges=True), [], ["<|begin|>", "<|eot|>"]),
        processors.Sequence(
            [
                processors.ByteLevel(trim_offsets=False),
                processors.TemplateProcessing(
                    single="<|begin|> $A", pair="<|begin|> $A <|begin|>:1 $B:1", special_tokens=[("<|begin|>", 700)]
                ),
            ]
        ),
    ),
    "qwen2": lambda: byte_level_split(QWEN2, normalizer=N.NFC()),
    "o200k": lambda: byte_level_split(O200K),
    "cl100k-regex": lambda: byte_level_split("(?:" + CL100K + ")"),
    "possessive": lambda: byte_level_split(r"[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+"),
    "deepseek": lambda: byte_level(
        P.Sequence(
            [
                split(r"\p{N}{1,3}"),
                split("[一-龥぀-ゟ゠-ヿ]+"),
                split(r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
                P.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    ),
    "byte-normalizer": lambda: byte_level(split(r"Ġ?\p{L}+|Ġ?\p{N}+|[^\p{L}\p{N}]+"), N.ByteLevel()),
    "digit-groups": lambda: byte_level(
        P.Sequence([split(r"(?=(\d{3})+(?!\d))"), P.Digits(individual_digits=False), P.ByteLevel(add_prefix_space=False)])
    ),
    "bpe-suffix": lambda: bpe(
        N.Sequence([N.NFC(), N.Lowercase()]), P.Whitespace(), D.BPEDecoder("</w>"), unk_token="<unk>",
        end_of_word_suffix="</w>", trainer={"end_of_word_suffix": "</w>"}, size=300,
    ),
    "bpe-prefix": lambda: bpe(
        None, P.WhitespaceSplit(), D.WordPiece("@@"), unk_token="<unk>", continuing_subword_prefix="@@",
        trainer={"continuing_subword_prefix": "@@", "limit_alphabet": 60}, size=300,
    ),
    "bpe-unk": lambda: bpe(N.NFKD(), P.Whitespace(), unk_token="<unk>", trainer={"limit_alphabet": 40}, size=200),
    "bpe-fused": lambda: bpe(N.NFKC(), P.Whitespace(), unk_token="<unk>", fuse_unk=True, trainer={"limit_alphabet": 40}, size=200),
    "bpe-dropped": lambda: bpe(None, P.Punctuation(), trainer={"limit_alphabet": 50}, size=200),
    "bpe-plain": lambda: bpe(unk_token="<unk>", trainer={"limit_alphabet": 80}, size=300),
    "llama2": llama2,
    "llama2-legacy": lambda: llama2(prepends=False),
    "gemma": lambda: with_processor(
        bpe(N.Replace(" ", "▁"), P.Split(" ", "merged_with_previous"), D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse()]), unk_token="<unk>"),
        processors.TemplateProcessing(single="<s> $0", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]),
    ),
    "unigram": unigram,
    "unigram-nmt": lambda: unigram(NMT, P.Sequence([P.WhitespaceSplit(), P.Metaspace()])),
    "unigram-bytes": lambda: unigram(N.Replace(Regex(r"\s+"), " "), P.Metaspace(prepend_scheme="first"), byte_fallback=True),
    "unigram-nosplit": lambda: unigram(N.NFKC(), P.Metaspace(prepend_scheme="never", split=False)),
    "unigram-precompiled": lambda: unigram(N.Precompiled(charsmap(PRECOMPILED))),
    "xlnet": lambda: with_processor(
        unigram(N.Sequence([N.Replace("``", '"'), N.NFKD(), N.StripAccents(), N.Lowercase()])),
        processors.TemplateProcessing(
            single="$A:0 </s>:0 <s>:2", pair="$A:0 </s>:0 $B:1 </s>:1 <s>:2", special_tokens=[("<s>", 1), ("</s>", 2)]
        ),
    ),
    "bert": lambda: word_piece(N.BertNormalizer(), BERT()),
    "bert-cased": lambda: word_piece(N.BertNormalizer(lowercase=False, strip_accents=None), BERT(), cleanup=False),
    "bert-accents": lambda: word_piece(N.BertNormalizer(clean_text=False, strip_accents=False), BERT()),
    "bert-chinese": lambda: word_piece(N.BertNormalizer(handle_chinese_chars=False, strip_accents=True, lowercase=False), BERT()),
    "bert-whitespace": lambda: word_piece(N.Sequence([N.NFD(), N.StripAccents(), N.Strip()]), P.Whitespace()),
    "word-level": lambda: word_level(P.Whitespace(), N.Lowercase()),
    "word-level-scripts": lambda: word_level(P.Sequence([P.WhitespaceSplit(), P.UnicodeScripts()])),
    "word-level-delimiter": lambda: word_level(P.CharDelimiterSplit(" "), N.Strip(left=True, right=False), D.Fuse()),
    "word-level-fixed": lambda: word_level(P.FixedLength(3), None, D.Strip("a", 1, 1)),
    "word-level-digits": lambda: word_level(P.Sequence([P.Digits(individual_digits=True), P.Punctuation("contiguous")])),
    "word-level-next": lambda: word_level(split(r"\s", "merged_with_next"), N.Prepend("x"), D.CTC(" ", "a", cleanup=True)),
    "word-level-previous": lambda: word_level(split(r"\w+\b", "merged_with_previous"), N.Replace(Regex("[aeiou]"), "<v>")),
    "word-level-inverted": lambda: word_level(split(r"[\w']+", "removed", invert=True), None, D.CTC()),
    "word-level-contiguous": lambda: word_level(split(r"[[:punct:]]|\p{Lu}", "contiguous"), N.Replace("e", "")),
    "word-level-punctuation": lambda: word_level(P.Punctuation("removed"), None, D.Replace(Regex("[ab]+"), "-")),
    "truncated": lambda: truncated(CASES["bert"](), 12),
    "truncated-bytes": lambda: truncated(CASES["gpt2-trim"](), 9, direction="left"),
    "truncated-first": lambda: truncated(CASES["llama2"](), 7, strategy="only_first"),
    "truncated-second": lambda: truncated(CASES["bert-cased"](), 15, strategy="only_second", direction="left"),
    "padded": lambda: padded(CASES["roberta"](), length=20, pad_id=2, pad_token="<pad>", direction="left", pad_type_id=1),
    "padded-multiple": lambda: padded(truncated(CASES["llama3"](), 16), pad_to_multiple_of=8, pad_id=5, pad_token="x"),
    "added": lambda: with_added(
        byte_level(P.ByteLevel(add_prefix_space=False)),
        ["ell", "hello", AddedToken("fox", single_word=True), AddedToken("<l>", lstrip=True), AddedToken("<r>", rstrip=True)],
        ["<|im_start|>", "<|im_end|>", AddedToken("<both>", lstrip=True, rstrip=True), "世界"],
    ),
    "added-normalized": lambda: with_added(
        word_piece(N.BertNormalizer(), BERT()),
        [AddedToken("Café", normalized=True), AddedToken("FOX", normalized=False), AddedToken("the", single_word=True), "lazy"],
        [AddedToken("[E1]", normalized=True), "[E2]"],
    ),
    "added-metaspace": lambda: with_added(
        unigram(N.NFKC(), P.Metaspace(prepend_scheme="first"), byte_fallback=True), ["<tool>"], ["<s>", "</s>", "<unk>"]
    ),
    "added-llama2": lambda: with_added(llama2(), [AddedToken("<new>", normalized=True), AddedToken("[INST]", normalized=False)]),
}  # fmt: skip

MARKERS = [
    "<|endoftext|>", "<s>", "</s>", "<mask>", "[MASK]", "[UNK]", "<l>", "<r>", "<both>", "<|im_start|>", "hello", "fox",
    "foxes", "Café", "CAFÉ", "FOX", "[E1]", "[e1]", "[E2]", "<tool>", "<new>", "[INST]", "<0x41>", "▁", "Ġ", "</w>",
    "<unk>", "<|begin|>", "``", "the", "LAZY",
]  # fmt: skip

BLOCKS = [
    (0x20, 0x7E), (0x00, 0x20), (0x7F, 0xFF), (0x100, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x5FF),
    (0x600, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F), (0x1100, 0x11FF), (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x2100, 0x218F),
    (0x2460, 0x24FF), (0x3000, 0x30FF), (0x4E00, 0x4FFF), (0xAC00, 0xAD00), (0xE000, 0xE010), (0xFB00, 0xFB06),
    (0xFE00, 0xFE0F), (0xFF00, 0xFFEF), (0x1F300, 0x1F64F), (0x1F1E6, 0x1F1FF), (0x1D400, 0x1D4FF), (0x20000, 0x20100),
]  # fmt: skip


def is_old(c):
    """Whether the character was there in Unicode 3.2, so that all tables agree about it."""
    if c in "\u0953\u0954":  # their script has changed since
        return False
    return unicodedata.ucd_3_2_0.category(c) != "Cn" or 0x1F300 <= ord(c) < 0x1F650


def random_text(chooser):
    """Words, markers, characters of some blocks and white space, in any order."""
    words, out = WORDS.split(" "), []
    for _ in range(chooser.randrange(1, 14)):
        kind = chooser.random()
        if kind < 0.45:
            out.append(chooser.choice(words))
        elif kind < 0.55:
            out.append(chooser.choice(MARKERS))
        elif kind < 0.85:
            low, high = chooser.choice(BLOCKS)
            characters = (chr(chooser.randrange(low, high + 1)) for _ in range(chooser.randrange(1, 6)))
            out.append("".join(c for c in characters if is_old(c)))
        else:
            out.append(
                chooser.choice([" ", "  ", "\n", "\r\n", "\t", " \n ", "\u3000", "\u00a0 ", "'S", "'lL", "0123456789"])
            )
        if chooser.random() < 0.6:
            out.append(" ")
    return "".join(out)


FIXED = [
    "", " ", "  ", "\n", "\x00", "a", "é", "e\u0301", "\u0301", "\u0301\u0302", "👩‍👩‍👧‍👦", "🏳️‍🌈", "\u200d", "\ufeffx", "a\u0000b", "  lead",
    "trail  ", "\u202eabc\u202c", "ﷺ", "Ǆ ǅ ǆ", "İI", "ſ 'ſ", "\u1100\u1161\u11a8", "각", "don't DON'T I'LL", "x" * 300, "ab" * 200,
    "<mask><mask> <mask>", "  <mask>  ", "a<l> b <r> c", "\r\n\r\n  \n x", "１２３", "1234567", WORDS, "\ud7ff\ue000", "\U0010fffd",
    "The\u00a0end.", "a\u2028b\u0085c", "\u180e x\u200bx",
]  # fmt: skip


def strings(seed, count):
    chooser = random.Random(seed)
    return FIXED + [random_text(chooser) for _ in range(count)]


def long_text(megabytes=1):
    """Without a space or any other white space."""
    chooser = random.Random(5)
    piece = "".join(c for c in WORDS if not c.isspace())
    out = []
    while sum(map(len, out)) < megabytes << 20:
        begin = chooser.randrange(len(piece))
        out.append(piece[begin:] * 50)
    return "".join(out)[: megabytes << 20]


def expected(tokenizer, text, pair=None, add_special_tokens=True):
    made = tokenizer.encode(text, pair, add_special_tokens=add_special_tokens)
    return {
        "ids": made.ids,
        "tokens": made.tokens,
        "offsets": [list(offset) for offset in made.offsets],
        "type_ids": made.type_ids,
        "attention_mask": made.attention_mask,
        "special_tokens_mask": made.special_tokens_mask,
        "decoded": tokenizer.decode(made.ids, skip_special_tokens=False),
        "skipped": tokenizer.decode(made.ids, skip_special_tokens=True),
    }
