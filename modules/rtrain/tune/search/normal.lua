-- rtrain/tune/search/normal.lua: the normal distribution in double precision, the same on every machine.

local normal = {}

local INV_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
-- Up to this value the series needs few terms and loses no significant digits; beyond it the fraction converges.
local SERIES_UNTIL = 4
local FRACTION_TERMS = 60

---Returns the density.
---@param x number
---@return number
function normal.pdf(x) return INV_SQRT_2PI * math.exp(-0.5 * x * x) end

-- Φ(x) - 1/2 = φ(x) (x + x³/3 + x⁵/(3·5) + …).
local function centred(x)
  local term, sum, n = x, x, 1
  while math.abs(term) > 1e-17 * math.abs(sum) do
    n = n + 2
    term = term * x * x / n
    sum = sum + term
  end
  return normal.pdf(x) * sum
end

-- 1 - Φ(x) of x > 0: Laplace's continued fraction of Mills' ratio.
local function tail(x)
  local ratio = x
  for k = FRACTION_TERMS, 1, -1 do ratio = x + k / ratio end
  return normal.pdf(x) / ratio
end

---Returns the probability of values below x, with full relative precision also for small probabilities.
---@param x number
---@return number
function normal.cdf(x)
  if x < -SERIES_UNTIL then return tail(-x) end
  if x > SERIES_UNTIL then return 1 - tail(x) end
  return 0.5 + centred(x)
end

---Returns the probability of values between a and b, with full relative precision in both tails.
---@param a number
---@param b number at least a
---@return number
function normal.mass(a, b)
  if a > 0 then return normal.mass(-b, -a) end
  if b < -SERIES_UNTIL then return tail(-b) - tail(-a) end
  return normal.cdf(b) - normal.cdf(a)
end

return normal
