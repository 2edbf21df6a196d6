-- Compares results of rtrain with the answers in a golden file; harness/answer.py describes the kept answers.

local ffi = require 'ffi'
local torch = require 'torch'
local device = require 'harness.device'

local compare = {}

-- dtype → relative and absolute tolerance: LibTorch's rounding depends on the processor.
local TOLERANCES = {
  float64 = {1e-9, 1e-9}, complex128 = {1e-9, 1e-9}, float32 = {1e-5, 1e-5}, complex64 = {1e-5, 1e-5},
  float16 = {2e-3, 2e-3}, bfloat16 = {1.6e-2, 1.6e-2},
}
-- Between devices: the tolerance of PyTorch's own comparison of CUDA with the CPU (test_ops.py, test_compare_cpu) if it
-- is larger, and for double precision that of torch.testing.assert_close.
local ACROSS_DEVICES = {
  float64 = {1e-7, 1e-7}, complex128 = {1e-7, 1e-7}, float32 = {1e-3, 1e-3}, complex64 = {1e-3, 1e-3},
  float16 = {2e-3, 2e-3}, bfloat16 = {1.6e-2, 1.6e-2},
}
local NUMBER = {1e-6, 1e-9}
local EXACT = {0, 0}

local SAMPLES = 12

local function is_finite(x) return x == x and x ~= 1 / 0 and x ~= -1 / 0 end

-- Returns the numbers in order; a complex element gives two numbers.
local function elements(tensor)
  tensor = tensor:detach():resolve_conj():resolve_neg()
  if tensor:is_complex() then tensor = torch.view_as_real(tensor:contiguous()) end
  local list = tensor:reshape(-1):tolist()
  for i, x in ipairs(list) do
    if type(x) == 'boolean' then list[i] = x and 1 or 0 end
  end
  return list
end

local function weight(i, k) return ((i * (7 + 4 * k) + k) % 13 - 6) / 8 end

-- Returns {count of non-finite elements, three weighted sums} and, for each, the largest difference that rounding may
-- cause.
local function sums(numbers, tolerance)
  local out, slack = {0, 0, 0, 0}, {0, 0, 0, 0}
  for i, x in ipairs(numbers) do
    x = tonumber(x)
    if not is_finite(x) then
      out[1] = out[1] + 1
    else
      for k = 0, 2 do
        local term = weight(i - 1, k) * x
        out[k + 2] = out[k + 2] + term
        -- 1e-6: the golden file keeps this many digits of the sum.
        slack[k + 2] = slack[k + 2] + math.abs(term) * (tolerance[1] + 1e-6) + tolerance[2]
      end
    end
  end
  return out, slack
end

-- Returns the difference if it exceeds the tolerance, else 0.
local function excess(got, want, tolerance)
  if got == want or (got ~= got and want ~= want) then return 0 end
  got, want = tonumber(got), tonumber(want)
  if not (is_finite(got) and is_finite(want)) then return math.huge end
  local difference = math.abs(got - want)
  return difference <= tolerance[1] * math.abs(want) + tolerance[2] and 0 or difference
end

local function worst_of(got, want, tolerance)
  local worst, place = 0, nil
  for i, x in ipairs(want) do
    local difference = excess(got[i], x, tolerance)
    if difference > worst then worst, place = difference, i end
  end
  return worst, place
end

local function numbers_problem(got, want, tolerance)
  local list, shown = got, 'element'
  if want.sums then
    list, shown = {}, 'sample'
    for k = 0, SAMPLES - 1 do list[k + 1] = got[math.floor(k * (#got - 1) / (SAMPLES - 1)) + 1] end
  end
  local worst, place = worst_of(list, want, tolerance)
  if place then
    return ('largest difference %.3g at %s %d: %s, expected %s'):format(
      worst, shown, place - 1, tostring(list[place]), tostring(want[place]))
  end
  if not want.sums then return nil end
  local actual, slack = sums(got, tolerance)
  for k, x in ipairs(want.sums) do
    local difference = math.abs(actual[k] - x)
    if difference > slack[k] + tolerance[1] * math.abs(x) then
      return ('weighted sum %d is %.9g, expected %.9g'):format(k - 1, actual[k], x)
    end
  end
end

local function tolerance_of(dtype, case)
  local allowed = case.tol or TOLERANCES[dtype] or EXACT
  local across = device.name ~= 'cpu' and ACROSS_DEVICES[dtype] or EXACT
  return {math.max(allowed[1], across[1]), math.max(allowed[2], across[2])}
end

local function tensor_problem(got, want, case)
  if not torch.is_tensor(got) then return ('expected a Tensor, got %s'):format(tostring(got)) end
  if got.dtype ~= want.dtype then return ('dtype %s, expected %s'):format(got.dtype, want.dtype) end
  local shape, expected = table.concat(got.shape, ', '), table.concat(want.shape, ', ')
  if shape ~= expected then return ('shape [%s], expected [%s]'):format(shape, expected) end
  if case.shape_only then return nil end
  return numbers_problem(elements(got), want, tolerance_of(want.dtype, case))
end

local function scalar_problem(got, want)
  if type(want) == 'number' and (type(got) == 'number' or type(got) == 'cdata') then
    local whole = want % 1 == 0 and tonumber(got) % 1 == 0
    if excess(got, want, whole and EXACT or NUMBER) == 0 then return nil end
  elseif type(want) == 'cdata' and ffi.istype('complex', want) then
    if ffi.istype('complex', got) and excess(got.re, want.re, NUMBER) + excess(got.im, want.im, NUMBER) == 0 then
      return nil
    end
  elseif got == want then
    return nil
  end
  return ('%s, expected %s'):format(tostring(got), tostring(want))
end

---Returns the problem of one result, or nil.
---@param got any
---@param want any what A(…) of the golden file made, a number, a boolean, a string, or torch.none for nil
---@param case table
function compare.problem(got, want, case)
  if type(want) == 'table' then return tensor_problem(got, want, case) end
  if want == torch.none then
    if got == nil or got == torch.none then return nil end
    return ('expected nil, got %s'):format(tostring(got))
  end
  return scalar_problem(got, want)
end

return compare
