-- torch/nn/utils/rnn.lua: torch.nn.utils.rnn: sequences of different lengths in one batch.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local torch = require 'torch'

local rnn = {}
local defined = args.definer(rnn)

---Sequences of different lengths, step after step without padding. pack_padded_sequence and pack_sequence return it;
---RNN, LSTM and GRU accept it.
---@class nn.utils.rnn.PackedSequence
---@field data torch.Tensor (Σ lengths, …)
---@field batch_sizes torch.Tensor (longest length) int64: number of sequences that have this step
---@field sorted_indices torch.Tensor|nil (N): the order of the sequences in data, longest first
---@field unsorted_indices torch.Tensor|nil (N): the inverse permutation
---@field is_cuda boolean whether the data is on a GPU
local PackedSequence = class('PackedSequence')
rnn.PackedSequence = PackedSequence

local signature = args.signature('PackedSequence', {'data', 'batch_sizes', {'sorted_indices'}, {'unsorted_indices'}})

---Returns the inverse of a permutation.
---@param permutation torch.Tensor|nil (N) int64
---@return torch.Tensor|nil
function rnn.invert_permutation(permutation)
  if permutation == nil then return nil end
  local steps = torch.arange(0, permutation:numel(), {dtype = 'int64', device = permutation.device})
  return torch.empty_like(permutation):scatter_(0, permutation, steps)
end

---Arguments: data, batch_sizes (on the CPU), {sorted_indices, unsorted_indices}.
function PackedSequence:init(...)
  local a = signature:bind(...)
  if a.batch_sizes.is_cuda then
    errors.raise('argument', 'PackedSequence: batch_sizes stay on the CPU: make it with pack_padded_sequence')
  end
  self.data, self.batch_sizes, self.sorted_indices = a.data, a.batch_sizes, a.sorted_indices
  self.unsorted_indices = a.unsorted_indices or rnn.invert_permutation(a.sorted_indices)
  self.is_cuda = a.data.is_cuda
end

---Moves or casts the data, as Tensor:to; batch_sizes stay on the CPU.
---@param ... any
---@return nn.utils.rnn.PackedSequence
function PackedSequence:to(...)
  local data = self.data:to(...)
  if data == self.data then return self end
  local function moved(indices) return indices and indices:to{device = data.device} end
  return PackedSequence(data, self.batch_sizes, moved(self.sorted_indices), moved(self.unsorted_indices))
end

-- Methods like those of tensors: packed:cpu(), packed:double(), ….
for method, target in next, {cpu = 'cpu', cuda = 'cuda', double = 'float64', float = 'float32', half = 'float16',
                             long = 'int64', int = 'int32', short = 'int16', char = 'int8', byte = 'uint8'} do
  PackedSequence[method] = function(self) return self:to(target) end
end

---Returns a copy in page-locked memory, from which copies to a GPU are faster.
---@return nn.utils.rnn.PackedSequence
function PackedSequence:pin_memory()
  local function pinned(indices) return indices and indices:pin_memory() end
  return PackedSequence(self.data:pin_memory(), self.batch_sizes, pinned(self.sorted_indices),
    pinned(self.unsorted_indices))
end

---Returns whether the data is in page-locked memory.
---@return boolean
function PackedSequence:is_pinned() return self.data:is_pinned() end


local function lengths_tensor(lengths)
  if torch.is_tensor(lengths) then return lengths:to{dtype = 'int64', device = 'cpu'} end
  return torch.tensor(lengths, {dtype = 'int64'})
end

---Packs a padded batch. Arguments: input (L, N, …), or (N, L, …) with batch_first; lengths (N), a list or an int64 tensor on
---the CPU; {batch_first = false, enforce_sorted = true (false: lengths in any order)}.
---
---```lua
---local torch = require 'torch'
---local rnn = torch.nn.utils.rnn
---local packed = rnn.pack_padded_sequence(torch.ones(3, 2, 4), {1, 3}, {enforce_sorted = false})
---assert(packed.data.shape[1] == 4)
---local padded, lengths = rnn.pad_packed_sequence(packed)
---assert(padded.shape[1] == 3 and lengths[0]:item() == 1)
---```
defined('pack_padded_sequence', {'input', 'lengths', {'batch_first', false}, {'enforce_sorted', true}}, function(p)
  local input, lengths, sorted = p.input, lengths_tensor(p.lengths), nil
  if not p.enforce_sorted then
    lengths, sorted = torch.sort(lengths, {descending = true})
    sorted = sorted:to{device = input.device}
    input = input:index_select(p.batch_first and 0 or 1, sorted)
  end
  local data, sizes = torch._pack_padded_sequence(input, lengths, p.batch_first)
  local packed = PackedSequence(data, sizes, sorted)
  packed._count = lengths:size(0)
  return packed
end)

---Returns the padded batch of a PackedSequence, and the lengths. Arguments: sequence, {batch_first = false,
---padding_value = 0, total_length}. The results are (L, N, …) and (N) int64.
defined('pad_packed_sequence', {'sequence', {'batch_first', false}, {'padding_value', 0}, {'total_length'}}, function(p)
  local packed = p.sequence
  local longest = packed.batch_sizes:size(0)
  if p.total_length and p.total_length < longest then
    errors.raise('argument', ('pad_packed_sequence: total_length = %d is below the longest sequence, %d'):format(
      p.total_length, longest))
  end
  -- 0 means the length of the longest sequence.
  local padded, lengths = torch._pad_packed_sequence(packed.data, packed.batch_sizes, p.batch_first, p.padding_value,
    p.total_length or 0)
  local unsorted = packed.unsorted_indices
  if unsorted == nil then return padded, lengths end
  return padded:index_select(p.batch_first and 0 or 1, unsorted), lengths:index_select(0, unsorted:to{device = 'cpu'})
end)

---Pads sequences (Lᵢ, …) to one batch (L, N, …). Arguments: sequences (a list), {batch_first = false, padding_value =
---0, padding_side = 'right' | 'left'}.
defined('pad_sequence', {'sequences', {'batch_first', false}, {'padding_value', 0}, {'padding_side', 'right'}}, function(p)
  return torch.pad_sequence(p.sequences, p.batch_first, p.padding_value, p.padding_side)
end)

---Returns the sequences of a padded batch, without the padding. Arguments: padded_sequences (L, N, …), lengths (N),
---{batch_first = false}.
defined('unpad_sequence', {'padded_sequences', 'lengths', {'batch_first', false}}, function(p)
  local padded, out = p.batch_first and p.padded_sequences or p.padded_sequences:transpose(0, 1), {}
  for i, length in ipairs(lengths_tensor(p.lengths):tolist()) do out[i] = padded[i - 1]:narrow(0, 0, length) end
  return out
end)

---Packs a list of sequences (Lᵢ, …). Arguments: sequences, {enforce_sorted = true}.
defined('pack_sequence', {'sequences', {'enforce_sorted', true}}, function(p)
  local lengths = {}
  for i, sequence in ipairs(p.sequences) do lengths[i] = sequence:size(0) end
  return rnn.pack_padded_sequence(rnn.pad_sequence(p.sequences), lengths, {enforce_sorted = p.enforce_sorted})
end)

---Returns the sequences of a PackedSequence.
---@param packed nn.utils.rnn.PackedSequence
---@return torch.Tensor[]
function rnn.unpack_sequence(packed)
  local padded, lengths = rnn.pad_packed_sequence(packed, {batch_first = true})
  return rnn.unpad_sequence(padded, lengths, {batch_first = true})
end

return require 'base.namespace'('torch.nn.utils.rnn', nil, rnn)
