-- Inputs computed by formula: harness/fill.py describes each fill and computes exactly the same numbers.

local torch = require 'torch'

local fill = {}

local PRIME = 2003
local SPECIAL = {0 / 0, 1 / 0, -1 / 0, 0, 1, -1, 2.5, -2.5, 0.5, 1.5}

local function hash_of(i, seed)
  local k = (i * 37 + seed * 101 + 5) % PRIME
  return k * k % PRIME * k % PRIME
end

local FILLS = {
  real = function(h) return (2 * h - PRIME) / 1024 end,
  positive = function(h) return (h + 1) / 1024 end,
  unit = function(h) return (2 * h + 1) / 4096 end,
  signed_unit = function(h) return (2 * h - PRIME) / 2048 end,
  above_one = function(h) return 1 + (h + 1) / 1024 end,
  wide = function(h) return (2 * h - PRIME) / 64 end,
  ties = function(h) return (h % 4 - 1) / 2 end,
  int = function(h) return h % 9 - 4 end,
  natural = function(h) return h % 8 + 1 end,
  count = function(h) return h % 9 end,
  index = function(h, _, n) return h % n end,
  order = function(_, i) return i end,
  bool = function(h) return h % 2 end,
  zeros = function() return 0 end,
  ones = function() return 1 end,
  special = function(_, i) return SPECIAL[i % #SPECIAL + 1] end,
}

-- Returns the entry of a square matrix at row r and column c; a(r, c) is a numerator over 1024.
local SQUARE = {
  spd = function(a, r, c, n)
    local sum = 0
    for k = 0, n - 1 do sum = sum + a(r, k) * a(c, k) end
    return sum / 1048576 + (r == c and n or 0)
  end,
  symmetric = function(a, r, c) return (a(r, c) + a(c, r)) / 1024 end,
  invertible = function(a, r, c, n) return a(r, c) / 1024 + (r == c and 2 * n or 0) end,
  lower = function(a, r, c) return r >= c and a(r, c) / 1024 + (r == c and 3 or 0) or 0 end,
  upper = function(a, r, c) return r <= c and a(r, c) / 1024 + (r == c and 3 or 0) or 0 end,
}

local function numbers(shape, kind, seed)
  local count = 1
  for _, size in ipairs(shape) do count = count * size end
  local out = {}
  if SQUARE[kind] then
    local n = shape[#shape]
    for start = 0, count - 1, n * n do
      local function a(r, c) return 2 * hash_of(start + r * n + c, seed) - PRIME end
      for i = 0, n * n - 1 do out[#out + 1] = SQUARE[kind](a, math.floor(i / n), i % n, n) end
    end
    return out
  end
  local name, parameter = kind:match('^([%w_]+):?(%d*)$')
  for i = 0, count - 1 do out[#out + 1] = FILLS[name](hash_of(i, seed), i, tonumber(parameter)) end
  return out
end

---Returns the tensor for T(…, dtype=dtype, fill=kind, seed=seed) of the cases.
function fill.tensor(shape, kind, dtype, seed)
  local out = torch.tensor(numbers(shape, kind, seed), {dtype = 'float64'})
  if dtype:find('complex', 1, true) then
    out = torch.complex(out, torch.tensor(numbers(shape, kind, seed + 500), {dtype = 'float64'}))
  end
  return out:reshape(shape):to(dtype)
end

---Returns the cotangent of the k-th result of a case.
function fill.cotangent(result, k)
  return fill.tensor(result.shape, 'real', result.dtype, 900 + k):to(result.device)
end

return fill
