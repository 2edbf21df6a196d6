-- Applies an operator to a tensor and many numbers in every dtype, compared bit by bit: the Lua side of
-- harness/numbers.py.

local fill = require 'harness.fill'
local torch = require 'torch'

local numbers = {}

local NUMBERS = {0.1, -2.0315, 70000.5, 1e-6, 1e-40, 1e300, 1 / 0, torch.nan, 3, -2, 0, 300, 100000, -0.0}
local BITS = {[1] = 'uint8', [2] = 'int16', [4] = 'int32', [8] = 'int64'}

local function is_whole(dtype) return dtype == 'bool' or dtype:find('int', 1, true) ~= nil end

local function input_of(dtype)
  local x = fill.tensor({40}, 'wide', 'float64', 1)
  if dtype:find '^complex' then return torch.complex(x, fill.tensor({40}, 'real', 'float64', 2)):to(dtype) end
  if is_whole(dtype) then
    if dtype == 'uint8' then x = x:abs() elseif dtype == 'bool' then x = x:gt(0) end
    return x:to(dtype)
  end
  local special = fill.tensor({10}, 'special', 'float64', 1)
  return torch.cat{x, x / 1024, special, -special[torch.slice(3, 4)]}:to(dtype)
end

local function bits_of(result)
  if result:is_complex() then result = torch.view_as_real(result) end
  result = result:contiguous():reshape(-1)
  local bits = result:view(BITS[result:element_size()]):long()
  return result:is_floating_point() and torch.where(result:isnan(), -1, bits) or bits
end

local function digest(result)
  local bits = bits_of(result)
  local weights = torch.arange(1, 2 * bits:numel(), 2) * 40503
  local total = (bits * weights):sum() + bits:numel() + #('torch.' .. result.dtype) * 7
  return ('%06x'):format(torch.bitwise_and(torch.bitwise_right_shift(total * 2654435761, 20), 0xffffff):item())
end

---Returns the digests of the results, one line for each dtype.
---@param fn fun(x: torch.Tensor, n: number): torch.Tensor
---@param dtypes string[]
---@return string[]
function numbers.answers(fn, dtypes)
  local out = {}
  for i, dtype in ipairs(dtypes) do
    local x, digests = input_of(dtype), {dtype}
    for k, n in ipairs(NUMBERS) do
      local ok, result = pcall(fn, x:clone(), n)
      digests[k + 1] = ok and digest(result) or 'fails'
    end
    out[i] = table.concat(digests, ' ')
  end
  return out
end

return numbers
