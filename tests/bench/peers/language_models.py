"""Language models of transformers on one core. Prints "name<TAB>number" lines. Twin of ../language_models.lua: change both.

language_models.py make FOLDER quick|full    writes models with random weights
language_models.py run FOLDER
language_models.py first FOLDER              reads the large model and prints one token
"""

import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers

torch.set_num_threads(1)
STEPS = 3
LLAMA = {"num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 512}
SIZES = {
    "full": {
        "gpt2": {},
        "llama": {"vocab_size": 16000, "hidden_size": 512, "intermediate_size": 1376, "num_hidden_layers": 6, **LLAMA},
        # The shape of Qwen 2.5 0.5B.
        "large": {"vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
                  "num_attention_heads": 14, "num_key_value_heads": 2, "tie_word_embeddings": True},
    },
    "quick": {
        "gpt2": {"n_layer": 2, "n_embd": 64, "n_head": 2, "vocab_size": 1000},
        "llama": {"vocab_size": 1000, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, **LLAMA},
        "large": {"vocab_size": 1000, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                  "num_attention_heads": 2, "num_key_value_heads": 2, "tie_word_embeddings": True},
    },
}  # fmt: skip


def make(folder, size):
    torch.manual_seed(0)
    sizes = SIZES[size]
    dropout = {"resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}
    models = {
        "gpt2": transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes["gpt2"], **dropout)),
        "llama": transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes["llama"])),
        "large": transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**sizes["large"])).to(torch.bfloat16),
    }
    for name, model in models.items():
        model.save_pretrained(os.path.join(folder, name))


def read(folder, name):
    return transformers.AutoModelForCausalLM.from_pretrained(os.path.join(folder, name))


def report(name, value):
    print(f"{name}\t{value}")


def step_ms(model, batch, tokens):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ids = torch.randint(0, 1000, (batch, tokens))
    times = []
    model.train()
    for _ in range(STEPS):
        began = time.perf_counter()
        model(ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter() - began)
    return min(times) * 1e3


def token_ms(model, count=64):
    model.eval()
    prompt = torch.randint(0, 1000, (1, 16))
    with torch.no_grad():
        model.generate(prompt, max_new_tokens=4, do_sample=False, eos_token_id=None, pad_token_id=0)
        began = time.perf_counter()
        out = model.generate(prompt, max_new_tokens=count, do_sample=False, eos_token_id=None, pad_token_id=0)
    assert out.shape[1] == 16 + count
    return (time.perf_counter() - began) / count * 1e3


def run(folder):
    torch.manual_seed(1)
    report("step_gpt2", step_ms(read(folder, "gpt2"), 2, 256))
    step_llama = step_ms(read(folder, "llama"), 4, 256)
    report("step_llama", step_llama)
    report("step_llama_compiled", step_llama)  # eager is what its users have without a compiler
    report("token", token_ms(read(folder, "llama")))
    began = time.perf_counter()
    read(folder, "large")
    report("load", (time.perf_counter() - began) * 1e3)


def first(folder):
    model = read(folder, "large").eval()
    with torch.no_grad():
        ids = model.generate(
            torch.tensor([[1, 2, 3]]), max_new_tokens=1, do_sample=False, eos_token_id=None, pad_token_id=0
        )
    print(ids[0, -1].item(), flush=True)


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    {"make": make, "run": run, "first": first}[what](*arguments)
