-- text/lora/layer.lua: a linear layer with adapters of low rank (Hu et al. 2021), also those of DoRA (Liu et al. 2024).

local nn = require 'torch.nn'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'
local F = torch.nn.functional

-- Returns the whole parameter: of one that is sharded a copy, for which every rank calls this.
local function whole(parameter) return shards.of(parameter) and parameter:full_tensor() or parameter end

---@class text.LoraLayer: nn.Module
local LoraLayer = nn.Module:extend 'LoraLayer'

---@param base nn.Module a Linear, or a Conv1D of GPT-2, whose weight is stored the other way round
function LoraLayer:init(base)
  self.base_layer = base
  self.is_turned = base.__name == 'Conv1D'
  self.lora_dropout, self.lora_A, self.lora_B = nn.ModuleDict(), nn.ModuleDict(), nn.ModuleDict()
  self.scalings, self.active, self.merged = {}, nil, nil
end

function LoraLayer:_size()
  local shape = self.base_layer.weight.shape
  if self.is_turned then return shape[1], shape[2] end
  return shape[2], shape[1]
end

---Returns the base layer's weight, (outputs, inputs).
function LoraLayer:weight()
  local weight = whole(self.base_layer.weight)
  return self.is_turned and weight:t() or weight
end

---@param name string
---@param config text.LoraConfig
function LoraLayer:add(name, config)
  local inputs, outputs = self:_size()
  local weight = self.base_layer.weight
  local options = {bias = false, device = tostring(weight.device), dtype = weight.dtype}
  self.lora_A[name], self.lora_B[name] = nn.Linear(inputs, config.r, options), nn.Linear(config.r, outputs, options)
  self.lora_dropout[name] = nn.Dropout(config.lora_dropout)
  self.scalings[name] = config:scaling()
  torch.no_grad(function()
    nn.init.kaiming_uniform_(self.lora_A[name].weight, {a = math.sqrt(5)})
    nn.init.zeros_(self.lora_B[name].weight)
  end)
  if config.use_dora then
    if not self.lora_magnitude_vector then self.lora_magnitude_vector = nn.ModuleDict() end
    local magnitude = nn.Module()
    magnitude.weight = nn.Parameter(self:weight():detach():norm{dim = 1})
    self.lora_magnitude_vector[name] = magnitude
  end
end

---Returns what the adapter adds to the weight, (outputs, inputs).
---@param name string
function LoraLayer:delta(name)
  return whole(self.lora_B[name].weight):matmul(whole(self.lora_A[name].weight)) * self.scalings[name]
end

local function magnitude_of(self, name)
  return self.lora_magnitude_vector and self.lora_magnitude_vector:contains(name) and self.lora_magnitude_vector[name].weight
end

---Returns the weight with the adapter, (outputs, inputs).
---@param name string
function LoraLayer:merged_weight(name)
  local weight = self:weight() + self:delta(name)
  local magnitude = magnitude_of(self, name)
  if not magnitude then return weight end
  return weight * (whole(magnitude) / weight:norm{dim = 1}):unsqueeze(1)
end

function LoraLayer:forward(x)
  local name = self.active
  local out = self.base_layer(x)
  if not name or self.merged or not self.lora_A:contains(name) then return out end
  local magnitude = magnitude_of(self, name)
  local dropout = self.lora_dropout[name]
  local seen = dropout(x)
  local added = self.lora_B[name](self.lora_A[name](seen)) * self.scalings[name]
  if not magnitude then return out + added end
  -- The norm counts as a constant (section 4.3 of the paper).
  local norm = (self:weight() + self:delta(name):detach()):norm{dim = 1}:detach()
  local scale = magnitude / norm
  local plain
  if self.training and dropout.p > 0 then
    plain = F.linear(seen, self:weight())
  else
    plain = self.base_layer.bias ~= nil and out - self.base_layer.bias or out
  end
  return out + (scale - 1) * plain + scale * added
end

---Writes the adapter into the base layer's weight, if the layer has one of that name. Of a sharded weight each rank
---writes its rows.
---@param name string
function LoraLayer:merge(name)
  if self.merged or not self.lora_A:contains(name) then return end
  torch.no_grad(function()
    local merged = self:merged_weight(name)
    if self.is_turned then merged = merged:t() end
    local weight = self.base_layer.weight
    local shard = shards.of(weight)
    self.kept = (shard and weight:to_local() or weight:detach()):clone()
    weight:copy_(shard and merged:narrow(0, shard.begin, shard.count) or merged)
  end)
  self.merged = name
end

---Gives the base layer its own weight again, bit by bit.
function LoraLayer:unmerge()
  if not self.merged then return end
  torch.no_grad(function() self.base_layer.weight:copy_(self.kept) end)
  self.kept, self.merged = nil, nil
end

return LoraLayer
