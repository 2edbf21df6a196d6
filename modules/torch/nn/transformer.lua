-- torch/nn/transformer.lua: Transformer, its encoder and its decoder (Vaswani et al. 2017).
--
-- L and S are the lengths of source and target, N is the batch, E is d_model: tensors are (L, N, E), (N, L, E) with
-- batch_first, (L, E) without a batch. PyTorch's fast path for inference, which packs padded sequences, is not
-- implemented: only the results at padded places differ.

local args = require 'base.args'
local checks = require 'torch.functions.checks'
local errors = require 'base.errors'
local class = require 'base.class'
local init = require 'torch.nn.init'
local F = require 'torch.nn.functional'
local Dropout = require('torch.nn.dropout').Dropout
local LayerNorm = require('torch.nn.normalization').LayerNorm
local Linear = require('torch.nn.linear').Linear
local Module = require('torch.nn.module').Module
local ModuleList = require('torch.nn.container').ModuleList
local MultiheadAttention = require('torch.nn.multihead_attention').MultiheadAttention
local torch = require 'torch'

-- Checks that the sequences among the arguments of a forward are tensors.
local function check_sequences(self, a)
  for _, name in ipairs{'src', 'tgt', 'memory'} do
    if a[name] ~= nil then checks.tensor(("%s: argument '%s'"):format(class.of(self).__name, name), a[name]) end
  end
  return a
end

local ACTIVATIONS = {relu = F.relu, gelu = F.gelu}

local function activation_of(self, activation)
  local found = type(activation) ~= 'string' and activation or ACTIVATIONS[activation]
  if found then return found end
  errors.raise('argument', ("%s: activation is 'relu', 'gelu' or a function, got '%s'"):format(class.of(self).__name,
    activation))
end

local LAYER = {'d_model', 'nhead', {'dim_feedforward', 2048}, {'dropout', 0.1}, {'activation', 'relu'},
  {'layer_norm_eps', 1e-5}, {'batch_first', false}, {'norm_first', false}, {'bias', true}, {'device'}, {'dtype'}}

-- Registers the parts in PyTorch's order: attentions, feed-forward network, then norms and dropouts; there is one more
-- of each than of attentions.
local function set_up_layer(self, a, attentions)
  local like = {bias = a.bias, device = a.device, dtype = a.dtype}
  for _, name in ipairs(attentions) do
    self[name] = MultiheadAttention(a.d_model, a.nhead, {dropout = a.dropout, bias = a.bias, batch_first = a.batch_first,
      device = a.device, dtype = a.dtype})
  end
  self.linear1 = Linear(a.d_model, a.dim_feedforward, like)
  self.dropout = Dropout(a.dropout)
  self.linear2 = Linear(a.dim_feedforward, a.d_model, like)
  self.norm_first = a.norm_first
  for i = 1, #attentions + 1 do
    self['norm' .. i] = LayerNorm(a.d_model, {eps = a.layer_norm_eps, bias = a.bias, device = a.device, dtype = a.dtype})
  end
  for i = 1, #attentions + 1 do self['dropout' .. i] = Dropout(a.dropout) end
  self.activation = activation_of(self, a.activation)
end

local function feed_forward(self, x, dropout)
  return dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))
end

local function attend(attention, x, memory, mask, padding, is_causal)
  return (attention(x, memory, memory, {attn_mask = mask, key_padding_mask = padding, need_weights = false,
    is_causal = is_causal}))
end

-- Returns x + block(norm(x)), or norm(x + block(x)).
local function residual(self, x, norm, block)
  if self.norm_first then return x + block(norm(x)) end
  return norm(x + block(x))
end

---Self-attention and a feed-forward network. Arguments: d_model, nhead, {dim_feedforward = 2048, dropout = 0.1, activation
---= 'relu' | 'gelu' | function, layer_norm_eps = 1e-5, batch_first = false, norm_first = false, bias = true, device,
---dtype}.
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.TransformerEncoderLayer(8, 2, {dim_feedforward = 16, batch_first = true})
---assert(layer(torch.randn(2, 5, 8)).shape[3] == 8)
---```
---@class nn.TransformerEncoderLayer: nn.Module
---@overload fun(d_model: integer, nhead: integer, options?: table): nn.TransformerEncoderLayer
local TransformerEncoderLayer = Module:extend('TransformerEncoderLayer')

local encoder_layer_signature = args.signature('TransformerEncoderLayer', LAYER)

function TransformerEncoderLayer:init(...) set_up_layer(self, encoder_layer_signature:bind(...), {'self_attn'}) end

local encoder_layer_forward = args.signature('TransformerEncoderLayer', {'src', {'src_mask'}, {'src_key_padding_mask'},
  {'is_causal', false}})

---Arguments: src (L, N, E), {src_mask (L, L) or (N · heads, L, L), src_key_padding_mask (N, L), is_causal = false}.
---@param ... any
---@return torch.Tensor
function TransformerEncoderLayer:forward(...)
  local a = check_sequences(self, encoder_layer_forward:bind(...))
  local x = residual(self, a.src, self.norm1, function(input)
    return self.dropout1(attend(self.self_attn, input, input, a.src_mask, a.src_key_padding_mask, a.is_causal))
  end)
  return residual(self, x, self.norm2, function(input) return feed_forward(self, input, self.dropout2) end)
end

---Self-attention, attention to the encoder's output and a feed-forward network; arguments as
---TransformerEncoderLayer.
---@class nn.TransformerDecoderLayer: nn.Module
---@overload fun(d_model: integer, nhead: integer, options?: table): nn.TransformerDecoderLayer
local TransformerDecoderLayer = Module:extend('TransformerDecoderLayer')

local decoder_layer_signature = args.signature('TransformerDecoderLayer', LAYER)

function TransformerDecoderLayer:init(...)
  set_up_layer(self, decoder_layer_signature:bind(...), {'self_attn', 'multihead_attn'})
end

local DECODE = {'tgt', 'memory', {'tgt_mask'}, {'memory_mask'}, {'tgt_key_padding_mask'}, {'memory_key_padding_mask'},
  {'tgt_is_causal'}, {'memory_is_causal', false}}
local decoder_layer_forward = args.signature('TransformerDecoderLayer', DECODE)

---Arguments: tgt (S, N, E), memory (L, N, E), {tgt_mask (S, S), memory_mask (S, L), tgt_key_padding_mask (N, S),
---memory_key_padding_mask (N, L), tgt_is_causal = false, memory_is_causal = false}.
---@param ... any
---@return torch.Tensor
function TransformerDecoderLayer:forward(...)
  local a = check_sequences(self, decoder_layer_forward:bind(...))
  local x = residual(self, a.tgt, self.norm1, function(input)
    return self.dropout1(attend(self.self_attn, input, input, a.tgt_mask, a.tgt_key_padding_mask, a.tgt_is_causal))
  end)
  x = residual(self, x, self.norm2, function(input)
    return self.dropout2(attend(self.multihead_attn, input, a.memory, a.memory_mask, a.memory_key_padding_mask,
      a.memory_is_causal))
  end)
  return residual(self, x, self.norm3, function(input) return feed_forward(self, input, self.dropout3) end)
end

local function clones(layer, count)
  local list = ModuleList()
  for _ = 1, count do list:append(layer:deepcopy()) end
  return list
end

-- Returns the hint for the layers: the given value, or whether the mask is the causal mask.
local function is_causal(mask, given, length)
  if given ~= nil or mask == nil then return given == true end
  if mask:dim() ~= 2 or mask:size(0) ~= length or mask:size(1) ~= length or mask.dtype == 'bool' then return false end
  local causal = torch.full({length, length}, -math.huge, {dtype = mask.dtype, device = mask.device}):triu(1)
  return torch.equal(mask, causal)
end

local function length_of(x, layer)
  return x:size(x:dim() == 3 and layer.self_attn.batch_first and 1 or 0)
end

---Several encoder layers in sequence. All start with the parameters of the given layer, as in PyTorch.
---Arguments: encoder_layer, num_layers, {norm, enable_nested_tensor, mask_check (the last two have no effect)}.
---@class nn.TransformerEncoder: nn.Module
---@overload fun(encoder_layer: nn.TransformerEncoderLayer, num_layers: integer, options?: table): nn.TransformerEncoder
local TransformerEncoder = Module:extend('TransformerEncoder')

local encoder_signature = args.signature('TransformerEncoder', {'encoder_layer', 'num_layers', {'norm'},
  {'enable_nested_tensor', true}, {'mask_check', true}})

function TransformerEncoder:init(...)
  local a = encoder_signature:bind(...)
  self.layers = clones(a.encoder_layer, a.num_layers)
  self.num_layers, self.enable_nested_tensor, self.mask_check = a.num_layers, a.enable_nested_tensor, a.mask_check
  self.norm = a.norm
end

local encoder_forward = args.signature('TransformerEncoder', {'src', {'mask'}, {'src_key_padding_mask'}, {'is_causal'}})

---Arguments: src (L, N, E), {mask (L, L), src_key_padding_mask (N, L), is_causal}.
---@param ... any
---@return torch.Tensor
function TransformerEncoder:forward(...)
  local a = check_sequences(self, encoder_forward:bind(...))
  local options = {src_mask = a.mask, src_key_padding_mask = a.src_key_padding_mask,
    is_causal = is_causal(a.mask, a.is_causal, length_of(a.src, self.layers[1]))}
  local x = a.src
  for _, layer in ipairs(self.layers) do x = layer(x, options) end
  return self.norm and self.norm(x) or x
end

---Several decoder layers in sequence. Arguments: decoder_layer, num_layers, {norm}.
---Shape: (T, N, E), (S, N, E) → (T, N, E); with batch_first N comes first.
---@class nn.TransformerDecoder: nn.Module
---@overload fun(decoder_layer: nn.TransformerDecoderLayer, num_layers: integer, options?: table): nn.TransformerDecoder
local TransformerDecoder = Module:extend('TransformerDecoder')

local decoder_signature = args.signature('TransformerDecoder', {'decoder_layer', 'num_layers', {'norm'}})

function TransformerDecoder:init(...)
  local a = decoder_signature:bind(...)
  self.layers = clones(a.decoder_layer, a.num_layers)
  self.num_layers = a.num_layers
  self.norm = a.norm
end

local decoder_forward = args.signature('TransformerDecoder', DECODE)

---Arguments: those of TransformerDecoderLayer.
---@param ... any
---@return torch.Tensor
function TransformerDecoder:forward(...)
  local a = check_sequences(self, decoder_forward:bind(...))
  local x, memory = a.tgt, a.memory
  a.tgt_is_causal = is_causal(a.tgt_mask, a.tgt_is_causal, length_of(x, self.layers[1]))
  a.tgt, a.memory = nil, nil
  for _, layer in ipairs(self.layers) do x = layer(x, memory, a) end
  return self.norm and self.norm(x) or x
end

---Encoder and decoder. Arguments: {d_model = 512, nhead = 8, num_encoder_layers = 6, num_decoder_layers = 6,
---dim_feedforward = 2048, dropout = 0.1, activation = 'relu' | 'gelu' | function, custom_encoder, custom_decoder,
---layer_norm_eps = 1e-5, batch_first = false, norm_first = false, bias = true, device, dtype}.
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local model = nn.Transformer{d_model = 8, nhead = 2, num_encoder_layers = 1, num_decoder_layers = 1, dim_feedforward = 16}
---local mask = nn.Transformer.generate_square_subsequent_mask(4)
---assert(model(torch.randn(5, 2, 8), torch.randn(4, 2, 8), {tgt_mask = mask}).shape[1] == 4)
---```
---@class nn.Transformer: nn.Module
---@overload fun(options?: table): nn.Transformer
local Transformer = Module:extend('Transformer')

local transformer_signature = args.signature('Transformer', {{'d_model', 512}, {'nhead', 8}, {'num_encoder_layers', 6},
  {'num_decoder_layers', 6}, {'dim_feedforward', 2048}, {'dropout', 0.1}, {'activation', 'relu'}, {'custom_encoder'},
  {'custom_decoder'}, {'layer_norm_eps', 1e-5}, {'batch_first', false}, {'norm_first', false}, {'bias', true}, {'device'},
  {'dtype'}})

local function layer_options(a)
  return {dim_feedforward = a.dim_feedforward, dropout = a.dropout, activation = a.activation,
          layer_norm_eps = a.layer_norm_eps, batch_first = a.batch_first, norm_first = a.norm_first, bias = a.bias,
          device = a.device, dtype = a.dtype}
end

local function last_norm(a)
  return LayerNorm(a.d_model, {eps = a.layer_norm_eps, bias = a.bias, device = a.device, dtype = a.dtype})
end

function Transformer:init(...)
  local a = transformer_signature:bind(...)
  self.encoder = a.custom_encoder or TransformerEncoder(TransformerEncoderLayer(a.d_model, a.nhead, layer_options(a)),
    a.num_encoder_layers, last_norm(a))
  self.decoder = a.custom_decoder or TransformerDecoder(TransformerDecoderLayer(a.d_model, a.nhead, layer_options(a)),
    a.num_decoder_layers, last_norm(a))
  for _, param in ipairs(self:parameters()) do
    if param:dim() > 1 then init.xavier_uniform_(param) end
  end
  self.d_model, self.nhead, self.batch_first = a.d_model, a.nhead, a.batch_first
end

local transformer_forward = args.signature('Transformer', {'src', 'tgt', {'src_mask'}, {'tgt_mask'}, {'memory_mask'},
  {'src_key_padding_mask'}, {'tgt_key_padding_mask'}, {'memory_key_padding_mask'}, {'src_is_causal'}, {'tgt_is_causal'},
  {'memory_is_causal', false}})

local function check_sources(self, src, tgt)
  local batch_dim = self.batch_first and 0 or 1
  if src:dim() == 3 and src:size(batch_dim) ~= tgt:size(batch_dim) then
    errors.raise('argument', ('Transformer: src has a batch of %d, tgt one of %d'):format(src:size(batch_dim),
      tgt:size(batch_dim)))
  end
  if src:size(-1) ~= self.d_model or tgt:size(-1) ~= self.d_model then
    errors.raise('argument', ('Transformer: src and tgt must have d_model = %d features'):format(self.d_model))
  end
end

---Arguments: src (L, N, E), tgt (S, N, E), {src_mask (L, L), tgt_mask (S, S), memory_mask (S, L), src_key_padding_mask (N,
---L), tgt_key_padding_mask (N, S), memory_key_padding_mask (N, L), src_is_causal, tgt_is_causal, memory_is_causal = false}.
---@param ... any
---@return torch.Tensor output (S, N, E)
function Transformer:forward(...)
  local a = check_sequences(self, transformer_forward:bind(...))
  check_sources(self, a.src, a.tgt)
  local memory = self.encoder(a.src, {mask = a.src_mask, src_key_padding_mask = a.src_key_padding_mask,
    is_causal = a.src_is_causal})
  return self.decoder(a.tgt, memory, {tgt_mask = a.tgt_mask, memory_mask = a.memory_mask,
    tgt_key_padding_mask = a.tgt_key_padding_mask, memory_key_padding_mask = a.memory_key_padding_mask,
    tgt_is_causal = a.tgt_is_causal, memory_is_causal = a.memory_is_causal})
end

local mask_signature = args.signature('generate_square_subsequent_mask', {'sz', {'device'}, {'dtype'}})

---Returns the causal mask (sz, sz): -inf above the diagonal, 0 elsewhere. Arguments: sz, {device, dtype}.
---@param ... any
---@return torch.Tensor
function Transformer.generate_square_subsequent_mask(...)
  -- It also works as a method of an instance, as in Python.
  local a = mask_signature:bind(select(class.is((...), Transformer) and 2 or 1, ...))
  return torch.full({a.sz, a.sz}, -math.huge, {dtype = a.dtype, device = a.device}):triu(1)
end

return {Transformer = Transformer, TransformerEncoder = TransformerEncoder, TransformerDecoder = TransformerDecoder,
        TransformerEncoderLayer = TransformerEncoderLayer, TransformerDecoderLayer = TransformerDecoderLayer}
