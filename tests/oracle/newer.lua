-- newer.lua: the cases whose answers in golden/, which are LibTorch 2.11's, a newer LibTorch does not give, and why.

local minor = require('rtrain._host').env().libtorch.engine

local DIFFERENCES = {
  ['2.15'] = {
    cholesky = 'it is gone: torch.linalg.cholesky',
    cholesky_2 = 'it is gone: torch.linalg.cholesky',
    qr = 'it is gone: torch.linalg.qr',
    ldexp = 'its gradient counts 2^other also where other is negative',
  },
}

local newer = {}

---@param name string of a case
---@return string|nil reason nil where it gives the same
function newer.difference(name) return (DIFFERENCES[minor] or {})[name] end

return newer
