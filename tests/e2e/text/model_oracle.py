"""model_oracle.py FOLDER [NAME…]: small models with random weights, as transformers writes them, and what it computes.

Of each: NAME/ with its files, and NAME.safetensors with ids, attention masks, labels, logits, gradients and generated ids.
"""

import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

SIZES = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
DECODER = {**SIZES, "intermediate_size": 48, "max_position_embeddings": 64, "num_key_value_heads": 2}
ENCODER = {
    **SIZES,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
GPT2 = {"vocab_size": 99, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64}
DISTIL = {"vocab_size": 99, "dim": 32, "hidden_dim": 48, "n_layers": 3, "n_heads": 4, "max_position_embeddings": 64}
T5 = {
    "vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 4,
    "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12, "dropout_rate": 0.0,
    "decoder_start_token_id": 0,
}  # fmt: skip
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "output_router_logits": True}
ROPES = {
    "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16},
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 2.0},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 16},
    "longrope": {
        "short_factor": [1.0, 1.1, 1.2, 1.3],
        "long_factor": [2.0, 3.0, 4.0, 5.0],
        "factor": 4.0,
        "original_max_position_embeddings": 16,
    },
}
MODELS = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {**GPT2, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", DECODER),
    "llama-tied": ("LlamaForCausalLM", "LlamaConfig", {**DECODER, "tie_word_embeddings": True, "attention_bias": True}),
    "mistral": ("MistralForCausalLM", "MistralConfig", {**DECODER, "sliding_window": 6, "head_dim": 16}),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", DECODER),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**DECODER, "head_dim": 16}),
    "phi3": (
        "Phi3ForCausalLM",
        "Phi3Config",
        {**DECODER, "pad_token_id": 0, "partial_rotary_factor": 0.5, "eos_token_id": 2},
    ),
    "gemma2": (
        "Gemma2ForCausalLM",
        "Gemma2Config",
        {**DECODER, "head_dim": 16, "sliding_window": 6, "query_pre_attn_scalar": 20},
    ),
    "gemma3": (
        "Gemma3ForCausalLM",
        "Gemma3TextConfig",
        {**DECODER, "num_hidden_layers": 7, "head_dim": 16, "sliding_window": 6, "query_pre_attn_scalar": 20},
    ),
    "mixtral": (
        "MixtralForCausalLM",
        "MixtralConfig",
        {**DECODER, "num_local_experts": 4, "output_router_logits": True},
    ),
    "qwen2-moe": ("Qwen2MoeForCausalLM", "Qwen2MoeConfig", {**DECODER, **EXPERTS, "shared_expert_intermediate_size": 40}),
    "qwen3-moe": ("Qwen3MoeForCausalLM", "Qwen3MoeConfig", {**DECODER, **EXPERTS, "head_dim": 16, "norm_topk_prob": True}),
    "bert-masked": ("BertForMaskedLM", "BertConfig", ENCODER),
    "bert-sequence": ("BertForSequenceClassification", "BertConfig", {**ENCODER, "num_labels": 3}),
    "roberta-masked": ("RobertaForMaskedLM", "RobertaConfig", ENCODER),
    "roberta-sequence": ("RobertaForSequenceClassification", "RobertaConfig", {**ENCODER, "num_labels": 1}),
    "distilbert-masked": ("DistilBertForMaskedLM", "DistilBertConfig", {**DISTIL, "dropout": 0, "attention_dropout": 0}),
    "distilbert-sequence": (
        "DistilBertForSequenceClassification",
        "DistilBertConfig",
        {**DISTIL, "dropout": 0, "attention_dropout": 0, "seq_classif_dropout": 0, "num_labels": 4,
         "problem_type": "multi_label_classification"},
    ),
    "t5": ("T5ForConditionalGeneration", "T5Config", T5),
    "t5-gated": (
        "T5ForConditionalGeneration",
        "T5Config",
        {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    ),
}  # fmt: skip
for kind, rope in ROPES.items():
    config = {**DECODER, "rope_parameters": {"rope_type": kind, "rope_theta": 10000.0, **rope}}
    MODELS[f"rope-{kind}"] = ("LlamaForCausalLM", "LlamaConfig", config)


def labels_of(name, model, ids):
    if isinstance(model, transformers.T5ForConditionalGeneration):
        labels = torch.randint(5, 99, (2, 9))
        labels[1, 7:] = -100
        return labels
    if not name.endswith("sequence"):
        labels = ids.clone()
        labels[:, ::4] = -100
        return labels
    count = model.config.num_labels
    if count == 1:
        return torch.tensor([0.5, -1.0])
    if model.config.problem_type == "multi_label_classification":
        return torch.randint(0, 2, (2, count)).float()
    return torch.tensor([0, count - 1])


def generated(model, ids, mask):
    common = {"pad_token_id": 0, "do_sample": False}
    return {
        "greedy": model.generate(ids, max_new_tokens=12, eos_token_id=None, **common),
        "greedy_masked": model.generate(ids, attention_mask=mask, max_new_tokens=12, eos_token_id=None, **common),
        "penalty": model.generate(ids, max_new_tokens=12, eos_token_id=None, repetition_penalty=1.5, **common),
        "beams": model.generate(ids, attention_mask=mask, max_new_tokens=8, num_beams=3, eos_token_id=7, **common),
        "ended": model.generate(ids, max_new_tokens=12, eos_token_id=list(range(30, 60)), **common),
    }


def write(folder, name):
    torch.manual_seed(1)
    model_name, config_name, options = MODELS[name]
    model = getattr(transformers, model_name)(getattr(transformers, config_name)(**options)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2 if parameter.dim() > 1 else 0.5)
    model.tie_weights()
    model.save_pretrained(folder / name)
    is_decoder = hasattr(model, "generate") and name.split("-")[0] not in ("bert", "roberta", "distilbert")
    ids = torch.randint(5, 99, (2, 19))
    mask = torch.ones_like(ids)
    if is_decoder and not isinstance(model, transformers.T5ForConditionalGeneration):
        mask[0, :4] = 0
    else:
        mask[0, 12:] = 0
    labels = labels_of(name, model, ids)
    out = model(ids, labels=labels)
    out.loss.backward()
    wanted = {"ids": ids, "mask": mask, "labels": labels, "logits": out.logits, "loss": out.loss.reshape(1)}
    for key, parameter in model.named_parameters():
        wanted[f"grad.{key}"] = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
    if "moe" in name or name == "mixtral":
        wanted = {key: value for key, value in wanted.items() if ".experts." not in key}  # stored together
    model.config.output_router_logits = False
    with torch.no_grad():
        extra = {"labels": labels} if isinstance(model, transformers.T5ForConditionalGeneration) else {}
        wanted["masked"] = model(ids, attention_mask=mask, **extra).logits
        if is_decoder:
            wanted |= generated(model, ids, mask)
        if is_decoder and not extra:
            positions = torch.stack([torch.cat([torch.arange(7), torch.arange(12)]), torch.arange(19)])
            wanted["positions"] = positions
            wanted["packed"] = model(ids, position_ids=positions, use_cache=False).logits
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, eps=1e-3)
    optimizer.step()
    for key, parameter in model.named_parameters():
        if f"grad.{key}" in wanted:
            wanted[f"step.{key}"] = parameter
    save_file(
        {key: value.detach().contiguous().clone() for key, value in wanted.items()}, folder / f"{name}.safetensors"
    )


if __name__ == "__main__":
    for each in sys.argv[2:] or MODELS:
        write(pathlib.Path(sys.argv[1]), each)
