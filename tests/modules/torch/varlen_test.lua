-- torch.nn.attention.varlen: attention within packed sequences, against one product with a mask.
local lu = require 'luaunit'
local torch = require 'torch'
local varlen_attn = torch.nn.attention.varlen.varlen_attn

TestVarlen = {}

local function ends_of(lengths)
  local ends = {0}
  for i, length in ipairs(lengths) do ends[i + 1] = ends[i] + length end
  return torch.tensor(ends, {dtype = 'int32'})
end

-- Softmax over the keys that each query sees, from the definition.
local function wanted(query, key, value, queries, keys, window, scale)
  local function facts(lengths)
    local sequence, place = {}, {}
    for i, length in ipairs(lengths) do
      for at = 1, length do sequence[#sequence + 1], place[#place + 1] = i, at - length end
    end
    return torch.tensor(sequence), torch.tensor(place)
  end
  local q_sequence, q_place = facts(queries)
  local k_sequence, k_place = facts(keys)
  local distance = k_place:unsqueeze(0) - q_place:unsqueeze(1)
  local allowed = q_sequence:unsqueeze(1):eq(k_sequence:unsqueeze(0))
  if window[1] >= 0 then allowed = allowed:logical_and(distance:ge(-window[1])) end
  if window[2] >= 0 then allowed = allowed:logical_and(distance:le(window[2])) end
  local groups = query:size(1) / key:size(1)
  key, value = key:repeat_interleave(groups, 1):transpose(0, 1), value:repeat_interleave(groups, 1):transpose(0, 1)
  local scores = query:transpose(0, 1):matmul(key:transpose(1, 2)) * (scale or query:size(2) ^ -0.5)
  local weights = scores:masked_fill(allowed:logical_not(), -math.huge):softmax(-1)
  return weights:matmul(value):transpose(0, 1)
end

local CASES = {
  {{3, 1, 5}, {3, 1, 5}, {-1, -1}}, {{3, 1, 5}, {3, 1, 5}, {-1, 0}}, {{4, 6}, {4, 6}, {2, 0}}, {{4, 6}, {4, 6}, {1, 2}, 0.3},
  {{2, 3}, {5, 3}, {-1, 0}}, {{1, 1, 1}, {4, 2, 7}, {-1, -1}}, {{7}, {7}, {-1, 0}},
}

function TestVarlen:test_a_sequence_sees_itself_alone()
  torch.manual_seed(1)
  for number, case in ipairs(CASES) do
    local queries, keys, window, scale = unpack(case)
    local ends_q, ends_k = ends_of(queries), ends_of(keys)
    local tensors = {}
    for i, shape in ipairs{{ends_q[-1]:item(), 4, 8}, {ends_k[-1]:item(), 2, 8}, {ends_k[-1]:item(), 2, 8}} do
      tensors[i] = torch.randn(shape, {dtype = 'float64', requires_grad = true})
    end
    local function gradients(y)
      local out = {y}
      y:pow(2):sum():backward()
      for i, x in ipairs(tensors) do
        out[i + 1], x.grad = x.grad, nil
      end
      return out
    end
    local most_q, most_k = math.max(unpack(queries)), math.max(unpack(keys))
    local found = gradients(varlen_attn(tensors[1], tensors[2], tensors[3], ends_q, ends_k, most_q, most_k,
      {window_size = window, scale = scale}))
    local want = gradients(wanted(tensors[1], tensors[2], tensors[3], queries, keys, window, scale))
    for i = 1, 4 do lu.assertTrue(torch.allclose(found[i], want[i]), ('case %d, tensor %d'):format(number, i)) end
  end
end

function TestVarlen:test_no_sequence()
  local x, ends = torch.zeros(0, 2, 8), torch.tensor({0}, {dtype = 'int32'})
  lu.assertEquals({unpack(varlen_attn(x, x, x, ends, ends, 0, 0).shape)}, {0, 2, 8})
end

function TestVarlen:test_what_is_wrong_is_named()
  local x, ends = torch.zeros(4, 2, 8), ends_of{1, 3}
  local function fails(text, ...) lu.assertErrorMsgContains(text, varlen_attn, ...) end
  fails('varlen_attn: query: expected a tensor of 3 dimensions', x[0], x, x, ends, ends, 3, 3)
  fails('cu_seq_q has 3 numbers and cu_seq_k 2', x, x, x, ends, ends_of{4}, 3, 3)
  fails('query has 2 heads, key 3', x, torch.zeros(4, 3, 8), torch.zeros(4, 3, 8), ends, ends, 3, 3)
  lu.assertErrorMsgContains("cum_seq_q and cum_seq_k are int32", torch._flash_attention_forward, x, x, x, ends:long(),
    ends:long(), 3, 3, 0, true, false)
end

os.exit(lu.LuaUnit.run(), true)
