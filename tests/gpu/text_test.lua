-- Language models on one device: generation as a graph, and packed documents, give what the CPU gives.
local lu = require 'luaunit'
local text = require 'text'
local torch = require 'torch'

TestText = {}

local CONFIG = {vocab_size = 97, hidden_size = 64, intermediate_size = 96, num_hidden_layers = 3, num_attention_heads = 4,
                num_key_value_heads = 2}

local function make_model()
  torch.manual_seed(5)
  return text.models.LlamaForCausalLM(CONFIG):eval()
end

function TestText:test_a_graph_writes_what_the_cpu_writes()
  local model = make_model()
  torch.manual_seed(6)
  local ids = torch.randint(0, 97, {2, 9})
  local mask = torch.ones_like(ids)
  mask:narrow(0, 1, 1):narrow(1, 0, 4):zero_()
  local options = {max_new_tokens = 40, eos_token_id = {}, attention_mask = mask}
  local wanted = model:generate(ids, options)
  model:to 'cuda'
  options.attention_mask = mask:to 'cuda'
  for _, cache in ipairs{'static', 'dynamic'} do
    options.cache_implementation = cache
    lu.assertTrue(torch.equal(model:generate(ids:to 'cuda', options):cpu(), wanted), cache)
  end
end

-- The kernel for packed sequences, against the same tensors one by one in float32.
function TestText:test_packed_sequences_have_a_kernel()
  local varlen_attn = torch.nn.attention.varlen.varlen_attn
  local ends = torch.tensor({0, 5, 6, 40}, {dtype = 'int32'})
  for _, window in ipairs{{-1, 0}, {-1, -1}, {3, 0}} do
    torch.manual_seed(7)
    local values = {}
    for i, heads in ipairs{4, 2, 2} do values[i] = torch.randn(40, heads, 64):bfloat16() end
    local function computed(device, dtype)
      local inputs, out = {}, {}
      for i, value in ipairs(values) do inputs[i] = value:detach():to{device = device, dtype = dtype}:requires_grad_() end
      local places = ends:to(device)
      out[1] = varlen_attn(inputs[1], inputs[2], inputs[3], places, places, 34, 34, {window_size = window})
      out[1]:sin():sum():backward()
      for i, input in ipairs(inputs) do out[i + 1] = input.grad end
      for i, tensor in ipairs(out) do out[i] = tensor:detach():cpu():float() end
      return out
    end
    local found, wanted = computed('cuda', 'bfloat16'), computed('cpu', 'float32')
    for i = 1, 4 do
      lu.assertTrue((found[i] - wanted[i]):abs():max():item() < 0.03, ('window %d, tensor %d'):format(window[1], i))
    end
  end
end

os.exit(lu.LuaUnit.run(), true)
