-- torch/nn/embedding.lua: Embedding, EmbeddingBag.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local init = require 'torch.nn.init'
local inputs = require 'torch.nn.inputs'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local F = require 'torch.nn.functional'
local torch = require 'torch'

-- The common base of Embedding and EmbeddingBag.
local Table = Module:extend('Table')

local function check_given_weight(self, a)
  local size = a._weight:size()
  if #size == 2 and size[1] == a.num_embeddings and size[2] == a.embedding_dim then return end
  errors.raise('argument', ('%s: _weight is %s, expected torch.Size([%d, %d])'):format(class.of(self).__name,
    tostring(a._weight.shape), a.num_embeddings, a.embedding_dim))
end

function Table:_set_up(a)
  require('torch.functions.checks').counts(class.of(self).__name, a, 'num_embeddings', 'embedding_dim')
  self.num_embeddings, self.embedding_dim = a.num_embeddings, a.embedding_dim
  self.max_norm, self.norm_type = a.max_norm, a.norm_type
  self.scale_grad_by_freq, self.sparse = a.scale_grad_by_freq, a.sparse
  if a.padding_idx then
    if a.padding_idx >= a.num_embeddings or a.padding_idx < -a.num_embeddings then
      errors.raise('argument', ('%s: padding_idx = %d must be within num_embeddings = %d'):format(class.of(self).__name,
        a.padding_idx, a.num_embeddings))
    end
    self.padding_idx = a.padding_idx % a.num_embeddings
  end
  if a._weight ~= nil then
    check_given_weight(self, a)
    self.weight = Parameter(a._weight, not a._freeze)
    return
  end
  local empty = torch.empty({a.num_embeddings, a.embedding_dim}, {dtype = a.dtype, device = a.device})
  self.weight = Parameter(empty, not a._freeze)
  self:reset_parameters()
end

function Table:reset_parameters()
  init.normal_(self.weight)
  if self.padding_idx then
    torch.no_grad(function() self.weight:select(0, self.padding_idx):fill_(0) end)
  end
end

function Table:_norm_fields()
  local fields = {}
  if self.max_norm ~= nil then fields[1] = {'max_norm', repr.float(self.max_norm), true} end
  if self.norm_type ~= 2 then fields[#fields + 1] = {'norm_type', repr.float(self.norm_type), true} end
  if self.scale_grad_by_freq then fields[#fields + 1] = {'scale_grad_by_freq', true} end
  return fields
end

-- Returns num_embeddings and embedding_dim of pretrained rows.
local function check_rows(name, embeddings)
  if torch.is_tensor(embeddings) and embeddings:dim() == 2 then return embeddings:size(0), embeddings:size(1) end
  errors.raise('argument', name .. '.from_pretrained: expected a tensor of 2 dimensions')
end

---Selects rows of a table by int64 index: (…) → (…, embedding_dim). Arguments: num_embeddings, embedding_dim,
---{padding_idx, max_norm, norm_type = 2, scale_grad_by_freq = false, sparse = false, device, dtype}. The row of
---padding_idx is initially zero and gets no gradient; rows longer than max_norm are scaled down when they are used.
---
---```lua
---local torch = require 'torch'
---local table_of = torch.nn.Embedding(10, 3)
---assert(table_of(torch.tensor({1, 5}, {dtype = torch.int64})).shape[2] == 3)
---```
---@class nn.Embedding: nn.Module
---@overload fun(num_embeddings: integer, embedding_dim: integer, options?: table): nn.Embedding
---@field weight torch.Tensor (num_embeddings, embedding_dim)
local Embedding = Table:extend('Embedding')

local signature = args.signature('Embedding', {'num_embeddings', 'embedding_dim', {'padding_idx'}, {'max_norm'},
  {'norm_type', 2}, {'scale_grad_by_freq', false}, {'sparse', false}, {'_weight'}, {'_freeze', false}, {'device'},
  {'dtype'}})

function Embedding:init(...) self:_set_up(signature:bind(...)) end

local take = inputs{'input'}

function Embedding:forward(...)
  return F.embedding(take(self, ...), self.weight, {
    padding_idx = self.padding_idx, max_norm = self.max_norm, norm_type = self.norm_type,
    scale_grad_by_freq = self.scale_grad_by_freq, sparse = self.sparse,
  })
end

function Embedding:extra_repr()
  local fields = {{'', self.num_embeddings}, {'', self.embedding_dim}}
  if self.padding_idx then fields[#fields + 1] = {'padding_idx', self.padding_idx} end
  for _, field in ipairs(self:_norm_fields()) do fields[#fields + 1] = field end
  if self.sparse then fields[#fields + 1] = {'sparse', true} end
  return repr.fields(fields)
end

local pretrained_signature = args.signature('Embedding.from_pretrained', {'embeddings', {'freeze', true}, {'padding_idx'},
  {'max_norm'}, {'norm_type', 2}, {'scale_grad_by_freq', false}, {'sparse', false}})

---Makes an Embedding of given rows. Arguments: embeddings (num_embeddings, embedding_dim), {freeze = true (no
---gradient), padding_idx, max_norm, norm_type = 2, scale_grad_by_freq = false, sparse = false}.
---@param ... any
---@return nn.Embedding
---
---```lua
---local torch = require 'torch'
---local rows = torch.nn.Embedding.from_pretrained(torch.eye(3))
---assert(rows(torch.tensor({2}, {dtype = torch.int64})):tolist()[1][3] == 1 and not rows.weight.requires_grad)
---```
function Embedding.from_pretrained(...)
  local a = pretrained_signature:bind(...)
  local rows, dim = check_rows('Embedding', a.embeddings)
  return Embedding(rows, dim, {_weight = a.embeddings, _freeze = a.freeze, padding_idx = a.padding_idx,
    max_norm = a.max_norm, norm_type = a.norm_type, scale_grad_by_freq = a.scale_grad_by_freq, sparse = a.sparse})
end

---Computes the sum, mean or maximum of the rows of each bag: forward(input (B, n), nil, per_sample_weights) or
---forward(input (n), offsets (B), per_sample_weights) → (B, embedding_dim). Arguments: num_embeddings, embedding_dim,
---{max_norm, norm_type = 2, scale_grad_by_freq = false, mode = 'mean' | 'sum' | 'max', sparse = false,
---include_last_offset = false, padding_idx, device, dtype}.
---
---```lua
---local torch = require 'torch'
---local bag = torch.nn.EmbeddingBag(10, 3, {mode = 'sum'})
---local indices = torch.tensor({1, 2, 4}, {dtype = torch.int64})
---assert(bag(indices, torch.tensor({0, 1}, {dtype = torch.int64})).shape[1] == 2)
---```
---@class nn.EmbeddingBag: nn.Module
---@overload fun(num_embeddings: integer, embedding_dim: integer, options?: table): nn.EmbeddingBag
---@field weight torch.Tensor (num_embeddings, embedding_dim)
local EmbeddingBag = Table:extend('EmbeddingBag')

local MODES = {'max', 'mean', 'sum'}

local bag_signature = args.signature('EmbeddingBag', {'num_embeddings', 'embedding_dim', {'max_norm'}, {'norm_type', 2},
  {'scale_grad_by_freq', false}, {'mode', 'mean'}, {'sparse', false}, {'_weight'}, {'include_last_offset', false},
  {'padding_idx'}, {'_freeze', false}, {'device'}, {'dtype'}})

function EmbeddingBag:init(...)
  local a = bag_signature:bind(...)
  self.mode = args.one_of('EmbeddingBag: mode', a.mode, MODES)
  self.include_last_offset = a.include_last_offset
  self:_set_up(a)
end

local take_bags = inputs{'input', {'offsets'}, {'per_sample_weights'}}

function EmbeddingBag:forward(...)
  local input, offsets, per_sample_weights = take_bags(self, ...)
  return F.embedding_bag(input, self.weight, offsets, {
    max_norm = self.max_norm, norm_type = self.norm_type, scale_grad_by_freq = self.scale_grad_by_freq, mode = self.mode,
    sparse = self.sparse, per_sample_weights = per_sample_weights, include_last_offset = self.include_last_offset,
    padding_idx = self.padding_idx,
  })
end

function EmbeddingBag:extra_repr()
  local fields = {{'', self.num_embeddings}, {'', self.embedding_dim}}
  for _, field in ipairs(self:_norm_fields()) do fields[#fields + 1] = field end
  fields[#fields + 1] = {'mode', self.mode}
  if self.padding_idx then fields[#fields + 1] = {'padding_idx', self.padding_idx} end
  return repr.fields(fields)
end

local pretrained_bag_signature = args.signature('EmbeddingBag.from_pretrained', {'embeddings', {'freeze', true},
  {'max_norm'}, {'norm_type', 2}, {'scale_grad_by_freq', false}, {'mode', 'mean'}, {'sparse', false},
  {'include_last_offset', false}, {'padding_idx'}})

---Makes an EmbeddingBag of given rows. Arguments: embeddings (num_embeddings, embedding_dim), {freeze = true (no
---gradient) and the options of EmbeddingBag}.
---@param ... any
---@return nn.EmbeddingBag
function EmbeddingBag.from_pretrained(...)
  local a = pretrained_bag_signature:bind(...)
  local rows, dim = check_rows('EmbeddingBag', a.embeddings)
  return EmbeddingBag(rows, dim, {_weight = a.embeddings, _freeze = a.freeze, max_norm = a.max_norm,
    norm_type = a.norm_type, scale_grad_by_freq = a.scale_grad_by_freq, mode = a.mode, sparse = a.sparse,
    include_last_offset = a.include_last_offset, padding_idx = a.padding_idx})
end

return {Embedding = Embedding, EmbeddingBag = EmbeddingBag}
