-- newer.lua: the cases whose answers in golden/, which are LibTorch 2.11's, a newer LibTorch does not give, and why.

local minor = tonumber(require('rtrain._host').env().libtorch.engine)

-- The first LibTorch that gives another answer, and why it does.
local DIFFERENCES = {
  cholesky = {2.14, 'it is gone: torch.linalg.cholesky'},
  cholesky_2 = {2.14, 'it is gone: torch.linalg.cholesky'},
  qr = {2.14, 'it is gone: torch.linalg.qr'},
  ldexp = {2.15, 'its gradient counts 2^other also where other is negative'},
}

local newer = {}

---@param name string of a case
---@return string|nil reason nil where it gives the same
function newer.difference(name)
  local first, reason = unpack(DIFFERENCES[name] or {math.huge})
  return minor >= first and reason or nil
end

return newer
