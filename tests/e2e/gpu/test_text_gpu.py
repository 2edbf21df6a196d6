"""Language models on GPUs that tests/fake_nvidia simulates. Its kernels compute nothing: what is tested is what runs there."""

from fake_driver import simulate_gpus

SCRIPT = """
    local torch = require 'torch'
    local text, train = require 'text', require 'rtrain'
    train.TorchTrainer{train_loop_per_worker = function()
      local before, graphs, calls = train.graph, {}, 0
      train.graph = function(step)
        local graph = before(function(...)
          calls = calls + 1
          return step(...)
        end)
        graphs[#graphs + 1] = graph
        return graph
      end
      local model = text.models.LlamaForCausalLM{vocab_size = 40, hidden_size = 16, intermediate_size = 32,
        num_hidden_layers = 2, num_attention_heads = 2, num_key_value_heads = 1}:to 'cuda'
      local ids = torch.ones({2, 5}, {dtype = 'int64', device = 'cuda'})
      local mask = torch.ones_like(ids)
      local options = {max_new_tokens = 12, eos_token_id = {}, MORE}
      local out = model:generate(ids, options)
      train.report{graphs = #graphs, state = graphs[1] and (graphs[1].reason or graphs[1].state) or 'none', calls = calls,
                   tokens = out.shape[2], training = model.training}
    end, scaling_config = train.ScalingConfig{num_workers = 1, use_gpu = true}}:fit()
    """


def generated(rtrain, more=""):
    simulate_gpus(rtrain, 1)
    rtrain.run_ok(SCRIPT.replace("MORE", more))
    return rtrain.json("metrics", "last", "--ranks")[0]["ranks"][0]


def test_a_token_is_one_graph(rtrain):
    # Of 11 tokens after the first three warm up, the fourth is captured, and the others run no Lua.
    assert generated(rtrain) == {"graphs": 1, "state": "captured", "calls": 4, "tokens": 17, "training": True}


def test_a_token_of_padded_prompts_is_one_graph(rtrain):
    found = generated(rtrain, "attention_mask = mask, do_sample = true, top_k = 5, seed = 1")
    assert found == {"graphs": 1, "state": "captured", "calls": 4, "tokens": 17, "training": True}


def test_a_cache_that_grows_is_no_graph(rtrain):
    assert generated(rtrain, "cache_implementation = 'dynamic'")["graphs"] == 0


PACKED = """
    local torch = require 'torch'
    local attention, train = require 'text.models.attention', require 'rtrain'
    train.TorchTrainer{train_loop_per_worker = function()
      local options = {device = 'cuda', dtype = 'DTYPE', requires_grad = true}
      local function tensor(heads) return torch.ones({1, heads, 6, 8}, options) end
      local query, key, value = tensor(4), tensor(2), tensor(2)
      local varlen, kernel = torch.nn.attention.varlen, nil
      local before = varlen.varlen_attn
      varlen.varlen_attn = function(...)
        local y = before(...)
        kernel = tostring(y.grad_fn)
        return y
      end
      local y = attention.attend(query, key, value, attention.mask{queries = 6, keys = 6, documents = {{2, 4}}}, {})
      y:sum():backward()
      torch.cuda.synchronize()
      train.report{kernel = kernel, shape = table.concat(y.shape, ' '), grad = table.concat(key.grad.shape, ' ')}
    end, scaling_config = train.ScalingConfig{num_workers = 1, use_gpu = true}}:fit()
    """


def attended(rtrain, dtype):
    simulate_gpus(rtrain, 1)
    rtrain.run_ok(PACKED.replace("DTYPE", dtype))
    return rtrain.json("metrics", "last", "--ranks")[0]["ranks"][0]


def test_packed_documents_are_one_kernel(rtrain):
    wanted = {"kernel": "<FlashAttentionBackward0>", "shape": "1 6 32", "grad": "1 2 6 8"}
    assert attended(rtrain, "bfloat16") == wanted


def test_packed_documents_of_a_dtype_without_the_kernel(rtrain):
    assert attended(rtrain, "float32") == {"kernel": "<CatBackward0>", "shape": "1 6 32", "grad": "1 2 6 8"}
