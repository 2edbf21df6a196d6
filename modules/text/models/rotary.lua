-- text/models/rotary.lua: rotary position embeddings (Su et al. 2021) and what long contexts make of them.

local errors = require 'base.errors'
local torch = require 'torch'

local rotary = {}

local function frequencies(base, width)
  return (base ^ (torch.arange(0, width, 2):to('float32') / width)):reciprocal()
end

local function default(base, width) return frequencies(base, width), 1 end

local function linear(base, width, rope) return frequencies(base, width) / rope.factor, 1 end

-- Long wavelengths are stretched by the factor, short ones are kept, and those between are mixed (Llama 3.1).
local function llama3(base, width, rope)
  local inverse = frequencies(base, width)
  local length = rope.original_max_position_embeddings
  local longest, shortest = length / rope.low_freq_factor, length / rope.high_freq_factor
  local wavelengths = inverse:reciprocal() * (2 * math.pi)
  local share = (wavelengths:reciprocal() * length - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor)
  local mixed = (1 - share) * inverse / rope.factor + share * inverse
  local out = torch.where(wavelengths:gt(longest), inverse / rope.factor, inverse)
  return torch.where(wavelengths:ge(shortest):logical_and(wavelengths:le(longest)), mixed, out), 1
end

-- YaRN (Peng et al. 2023).
local function yarn(base, width, rope, config)
  local length = rope.original_max_position_embeddings or config.max_position_embeddings
  local factor = rope.factor or config.max_position_embeddings / length
  local function scale_of(size, weight) return size <= 1 and 1 or 0.1 * (weight or 1) * math.log(size) + 1 end
  local attention = rope.attention_factor
  if not attention and rope.mscale and rope.mscale_all_dim then
    attention = scale_of(factor, rope.mscale) / scale_of(factor, rope.mscale_all_dim)
  end
  local function dimension_of(rotations)
    return width * math.log(length / (rotations * 2 * math.pi)) / (2 * math.log(base))
  end
  local low, high = dimension_of(rope.beta_fast or 32), dimension_of(rope.beta_slow or 1)
  if rope.truncate ~= false then low, high = math.floor(low), math.ceil(high) end
  low, high = math.max(low, 0), math.min(high, width - 1)
  if low == high then high = high + 0.001 end
  local share = ((torch.arange(width / 2):to('float32') - low) / (high - low)):clamp(0, 1)
  local inverse = frequencies(base, width)
  return inverse / factor * share + inverse * (1 - share), attention or scale_of(factor)
end

-- LongRoPE (Ding et al. 2024): a factor for each frequency, other ones beyond the original length.
local function longrope(base, width, rope, config, length)
  local original = rope.original_max_position_embeddings or config.original_max_position_embeddings
    or config.max_position_embeddings
  local factors = length > original and rope.long_factor or rope.short_factor
  local factor = rope.factor or config.max_position_embeddings / original
  local attention = rope.attention_factor
    or (factor <= 1 and 1 or math.sqrt(1 + math.log(factor) / math.log(original)))
  return frequencies(base, width) / torch.tensor(factors, {dtype = 'float32'}), attention
end

-- The base grows with a text that is longer than the model's.
local function dynamic(base, width, rope, config, length)
  local original = rope.original_max_position_embeddings or config.max_position_embeddings
  length = math.max(length, original)
  return frequencies(base * (rope.factor * length / original - (rope.factor - 1)) ^ (width / (width - 2)), width), 1
end

-- Kinds whose frequencies depend on how long a text is.
local GROWING = {dynamic = true, longrope = true}
local KINDS = {default = default, linear = linear, llama3 = llama3, yarn = yarn, longrope = longrope, dynamic = dynamic}

---Returns what config.json says of rotary embeddings: {rope_type, rope_theta, …}. Newer files have `rope_parameters`,
---older ones `rope_theta` and `rope_scaling`.
---@param config table
---@param layer_type? string of models whose kinds of layers have embeddings of their own
---@return table
function rotary.parameters(config, layer_type)
  local rope = config.rope_parameters or config.rope_scaling or {}
  rope = layer_type and rope[layer_type] or rope
  if layer_type == 'sliding_attention' and config.rope_local_base_freq and not config.rope_parameters then
    rope = {rope_theta = config.rope_local_base_freq}
  end
  local out = {rope_type = 'default', rope_theta = config.rope_theta or 10000,
               partial_rotary_factor = config.partial_rotary_factor or 1}
  for name, value in pairs(rope) do out[name] = value end
  out.rope_type = rope.rope_type or rope.type or 'default'
  if not KINDS[out.rope_type] then
    local known = {}
    for name in pairs(KINDS) do known[#known + 1] = name end
    table.sort(known)
    errors.raise('unsupported', ("config.json: rope_type = '%s': rtrain has %s"):format(tostring(out.rope_type),
      table.concat(known, ', ')))
  end
  return out
end

---Returns whether the frequencies depend on how long a text is.
---@param rope table what rotary.parameters returned
---@return boolean
function rotary.grows(rope) return GROWING[rope.rope_type] == true end

-- What rotary.parameters returned → {inverse, scale, device, width}: a copy to a GPU for each call would wait for it.
local known = setmetatable({}, {__mode = 'k'})

local function frequencies_on(device, width, config, rope, length)
  local kept = known[rope]
  if not kept or kept.device ~= device or kept.width ~= width then
    local inverse, scale = KINDS[rope.rope_type](rope.rope_theta, width, rope, config, length)
    kept = {inverse = inverse:to(device), scale = scale, device = device, width = width}
    known[rope] = not rotary.grows(rope) and kept or nil
  end
  return kept.inverse, kept.scale
end

---What rotates queries and keys of a call.
---@class text.RotaryTables
---@field cosines torch.Tensor (n or 1, 1, tokens, rotated width)
---@field sines torch.Tensor the same shape; those of the first half are negative
---@field width integer how many numbers of a head are rotated
---@field rest integer how many are not

---Returns the tables for positions (n or 1, tokens).
---@param positions torch.Tensor int64
---@param width integer of a head
---@param config table
---@param rope table what rotary.parameters returned
---@param dtype string
---@param length integer tokens up to the last one
---@return text.RotaryTables
function rotary.tables(positions, width, config, rope, dtype, length)
  local rotated = math.floor(width * rope.partial_rotary_factor)
  local inverse, scale = frequencies_on(positions.device, rotated, config, rope, length)
  local angles = positions:to('float32'):unsqueeze(-1):unsqueeze(1) * inverse
  local cosines, sines = angles:cos(), angles:sin()
  if scale ~= 1 then cosines, sines = cosines * scale, sines * scale end
  return {
    cosines = torch.cat({cosines, cosines}, -1):to(dtype), sines = torch.cat({-sines, sines}, -1):to(dtype),
    width = rotated, rest = width - rotated,
  }
end

-- x · cos + (−b, a) · sin, where x is (a, b): the halves change places, and the sines have the sign.
local function turned(x, tables)
  return (x * tables.cosines):add_(x:roll(tables.width / 2, -1):mul_(tables.sines))
end

local function rotated_part(x, tables)
  if tables.rest == 0 then return turned(x, tables) end
  return torch.cat({turned(x:narrow(-1, 0, tables.width), tables), x:narrow(-1, tables.width, tables.rest)}, -1)
end

---Rotates queries and keys (n, heads, tokens, width).
---@param query torch.Tensor
---@param key torch.Tensor
---@param tables text.RotaryTables
---@return torch.Tensor query
---@return torch.Tensor key
function rotary.apply(query, key, tables) return rotated_part(query, tables), rotated_part(key, tables) end

return rotary
