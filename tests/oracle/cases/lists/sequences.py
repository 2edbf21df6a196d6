"""Recurrent and attention modules."""

import torch
from torch import nn
from torch.nn.utils import rnn as sequences

from cases.lists.tables import built, table
from harness import T

SEQ = T(5, 2, 3)
PACKED = (
    (
        "local x, state = ... local p = nn.utils.rnn.pack_padded_sequence(x, {2, 5}, {enforce_sorted = false}) "
        "local out, h = m(p, state) local y, n = nn.utils.rnn.pad_packed_sequence(out) return y, n, h"
    ),
    lambda m, x, state=None: (lambda out, h: (*sequences.pad_packed_sequence(out), h))(
        *m(sequences.pack_padded_sequence(x, torch.tensor([2, 5]), enforce_sorted=False), state)
    ),
)

RECURRENT = table(
    ("RNN", 3, 4, [SEQ]),
    ("RNN", 3, 4, {"num_layers": 2, "nonlinearity": "relu", "bidirectional": True, "bias": False}, [SEQ]),
    ("RNN", 3, 4, {"batch_first": True}, [T(2, 5, 3), T(1, 2, 4)]),
    ("RNN", 3, 4, {"_": {"call": PACKED}}, [SEQ]),
    ("LSTM", 3, 4, [SEQ]),
    ("LSTM", 3, 4, {"num_layers": 2, "dropout": 0.5}, [SEQ]),
    (
        "LSTM",
        3,
        4,
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
        [T(2, 5, 3), [T(4, 2, 4), T(4, 2, 4)]],
    ),
    ("LSTM", 3, 4, {"proj_size": 2, "bidirectional": True}, [SEQ]),
    ("LSTM", 3, 4, [T(5, 3), [T(1, 4), T(1, 4)]]),
    ("LSTM", 3, 4, {"num_layers": 2, "_": {"call": PACKED}}, [SEQ, [T(2, 2, 4), T(2, 2, 4)]]),
    ("GRU", 3, 4, [SEQ]),
    ("GRU", 3, 4, {"num_layers": 2, "dropout": 0.3, "bidirectional": True}, [SEQ, T(4, 2, 4)]),
    ("GRU", 3, 4, {"batch_first": True}, [T(5, 3)]),
    ("GRU", 3, 4, {"bidirectional": True, "_": {"call": PACKED}}, [SEQ]),
    ("RNNCell", 3, 4, [T(2, 3)]),
    ("RNNCell", 3, 4, {"nonlinearity": "relu", "bias": False}, [T(3), T(4)]),
    ("LSTMCell", 3, 4, [T(2, 3)]),
    ("LSTMCell", 3, 4, {"bias": False}, [T(2, 3), [T(2, 4), T(2, 4)]]),
    ("LSTMCell", 3, 4, [T(3), [T(4), T(4)]]),
    ("GRUCell", 3, 4, [T(2, 3), T(2, 4)]),
    ("GRUCell", 3, 4, [T(3)]),
)

QUERY, KEY = T(3, 2, 4), T(5, 2, 4)
MASK = T(3, 5, dtype="bool")
HIDDEN = T(2, 5, dtype="bool", fill="index:2")

ATTENTION = table(
    ("MultiheadAttention", 4, 2, [QUERY, KEY, KEY]),
    ("MultiheadAttention", 4, 2, {"bias": False}, [QUERY, QUERY, QUERY]),
    ("MultiheadAttention", 4, 2, [QUERY, KEY, KEY, {"need_weights": False, "attn_mask": T(3, 5)}]),
    (
        "MultiheadAttention",
        4,
        2,
        [QUERY, KEY, KEY, {"average_attn_weights": False, "attn_mask": T(4, 3, 5, grad=False)}],
    ),
    ("MultiheadAttention", 4, 2, {"kdim": 3, "vdim": 5}, [QUERY, T(5, 2, 3), T(5, 2, 5)]),
    (
        "MultiheadAttention",
        4,
        2,
        {"add_bias_kv": True, "add_zero_attn": True},
        [QUERY, KEY, KEY, {"key_padding_mask": T(2, 5, grad=False), "attn_mask": T(3, 5, grad=False)}],
    ),
    (
        "MultiheadAttention",
        4,
        2,
        {"add_zero_attn": True},
        [QUERY, KEY, KEY, {"key_padding_mask": HIDDEN, "need_weights": False}],
    ),
    ("MultiheadAttention", 4, 2, {"batch_first": True}, [T(2, 3, 4), T(2, 5, 4), T(2, 5, 4)]),
    ("MultiheadAttention", 4, 2, {"dropout": 0.5}, [QUERY, KEY, KEY]),
    ("MultiheadAttention", 4, 1, [T(3, 4), T(5, 4), T(5, 4)]),
    (
        "MultiheadAttention",
        4,
        2,
        [T(3, 4), T(5, 4), T(5, 4), {"need_weights": False, "attn_mask": T(3, 5, grad=False)}],
    ),
    ("TransformerEncoderLayer", 4, 2, 6, [T(3, 2, 4)]),
    (
        "TransformerEncoderLayer",
        4,
        2,
        {
            "dim_feedforward": 6,
            "dropout": 0.0,
            "activation": "gelu",
            "norm_first": True,
            "batch_first": True,
            "bias": False,
        },
        [T(2, 3, 4), {"src_mask": T(3, 3, grad=False)}],
    ),
    ("TransformerEncoderLayer", 4, 2, 6, 0, [T(3, 4), {"src_key_padding_mask": T(3, grad=False)}]),
    ("TransformerDecoderLayer", 4, 2, 6, [T(3, 2, 4), T(5, 2, 4)]),
    (
        "TransformerDecoderLayer",
        4,
        2,
        {"dim_feedforward": 6, "dropout": 0.0, "norm_first": True, "layer_norm_eps": 0.01},
        [
            T(3, 2, 4),
            T(5, 2, 4),
            {
                "tgt_mask": T(3, 3, grad=False),
                "memory_mask": T(3, 5, grad=False),
                "memory_key_padding_mask": T(2, 5, grad=False),
            },
        ],
    ),
    (
        "Transformer",
        {"d_model": 4, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 2, "dim_feedforward": 6},
        [T(3, 2, 4), T(5, 2, 4)],
    ),
) + [
    built(
        "TransformerEncoder",
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, {batch_first = true}), 2, "
        "{norm = nn.LayerNorm(4), enable_nested_tensor = false})",
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(4, 2, 6, batch_first=True), 2, norm=nn.LayerNorm(4), enable_nested_tensor=False
        ),
        [T(2, 3, 4)],
    ),
    built(
        "TransformerEncoder_causal",
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0), 1)",
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0), 1),
        [T(3, 2, 4)],
        call=(
            "return m(..., {mask = nn.Transformer.generate_square_subsequent_mask(3)})",
            lambda m, x: m(x, mask=nn.Transformer.generate_square_subsequent_mask(3)),
        ),
    ),
    built(
        "TransformerDecoder",
        "nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, 0), 1, nn.LayerNorm(4))",
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, 0), 1, nn.LayerNorm(4)),
        [T(3, 2, 4), T(5, 2, 4)],
    ),
]
