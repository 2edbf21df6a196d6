-- newer.lua: the cases for which a newer LibTorch gives another answer than golden/, which holds those of LibTorch
-- 2.11.

local minor = tonumber(require('rtrain._host').env().libtorch.engine)

local NAN = 'its gradient at a NaN goes to the NaN'
local BEYOND = 'other numbers are beyond the range of a dtype, and refused'

-- The first LibTorch that gives another answer, and the reason; `last`: the last such LibTorch, if later ones answer as
-- 2.11.
local DIFFERENCES = {
  cholesky = {2.14, 'it is gone: torch.linalg.cholesky'},
  cholesky_2 = {2.14, 'it is gone: torch.linalg.cholesky'},
  qr = {2.14, 'it is gone: torch.linalg.qr'},
  fmax_4 = {2.14, NAN, last = 2.14},
  fmin_4 = {2.14, NAN, last = 2.14},
  ['numbers.assign'] = {2.15, BEYOND},
  ['numbers.clamp'] = {2.15, BEYOND},
  ['numbers.clamp_'] = {2.15, BEYOND},
  ['numbers.clamp_max'] = {2.15, BEYOND},
  ['numbers.clamp_max_'] = {2.15, BEYOND},
  ['numbers.clamp_min'] = {2.15, BEYOND},
  ['numbers.clamp_min_'] = {2.15, BEYOND},
  ['numbers.foreach_clamp_min'] = {2.15, BEYOND},
  ['numbers.foreach_maximum'] = {2.15, BEYOND},
  ldexp = {2.14, 'its gradient counts 2^other also where other is negative'},
}

local newer = {}

---@param name string of a case
---@param set string of golden/
---@return string|nil reason nil where it gives the same
function newer.difference(name, set)
  local difference = DIFFERENCES[name] or DIFFERENCES[set .. '.' .. name]
  if not difference then return nil end
  local first, reason = unpack(difference)
  return minor >= first and minor <= (difference.last or math.huge) and reason or nil
end

return newer
