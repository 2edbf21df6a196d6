-- torch/nn/embedding.lua: Embedding.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'
local init = require 'torch.nn.init'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local F = require 'torch.nn.functional'
local torch = require 'torch'

---Rows of a table by int64 index: (…) → (…, embedding_dim). Arguments: num_embeddings, embedding_dim, {padding_idx,
---scale_grad_by_freq = false, sparse = false, device, dtype}.
---
---```lua
---local torch = require 'torch'
---local table_of = torch.nn.Embedding(10, 3)
---assert(table_of(torch.tensor({1, 5}, {dtype = torch.int64})).shape[2] == 3)
---```
---@class nn.Embedding: nn.Module
---@overload fun(num_embeddings: integer, embedding_dim: integer, options?: table): nn.Embedding
---@field weight torch.Tensor (num_embeddings, embedding_dim)
local Embedding = Module:extend('Embedding')

local signature = args.signature('Embedding', {'num_embeddings', 'embedding_dim', {'padding_idx'},
  {'scale_grad_by_freq', false}, {'sparse', false}, {'device'}, {'dtype'}})

function Embedding:init(...)
  local a = signature:bind(...)
  self.num_embeddings, self.embedding_dim = a.num_embeddings, a.embedding_dim
  self.scale_grad_by_freq, self.sparse = a.scale_grad_by_freq, a.sparse
  if a.padding_idx then
    if a.padding_idx >= a.num_embeddings or a.padding_idx < -a.num_embeddings then
      errors.raise('argument', 'Embedding: padding_idx must be within num_embeddings')
    end
    self.padding_idx = a.padding_idx % a.num_embeddings
  end
  self.weight = Parameter(torch.empty({a.num_embeddings, a.embedding_dim}, {dtype = a.dtype, device = a.device}))
  self:reset_parameters()
end

function Embedding:reset_parameters()
  init.normal_(self.weight)
  if self.padding_idx then
    torch.no_grad(function() self.weight:select(0, self.padding_idx):fill_(0) end)
  end
end

function Embedding:forward(indices)
  return F.embedding(indices, self.weight, {
    padding_idx = self.padding_idx, scale_grad_by_freq = self.scale_grad_by_freq, sparse = self.sparse,
  })
end

function Embedding:extra_repr()
  local fields = {{'', self.num_embeddings}, {'', self.embedding_dim}}
  if self.padding_idx then fields[#fields + 1] = {'padding_idx', self.padding_idx} end
  return repr.fields(fields)
end

return {Embedding = Embedding}
