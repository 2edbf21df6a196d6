-- rtrain/doc/written_name.lua: names as users write them, in full: 'F.relu', 'x:view', 'ray.train.report'.

-- The first part of a name → where that is.
local ALIASES = {
  F = 'torch.nn.functional', nn = 'torch.nn', optim = 'torch.optim', data = 'torch.utils.data',
  dist = 'torch.distributed', init = 'torch.nn.init', lr_scheduler = 'torch.optim.lr_scheduler',
  autograd = 'torch.autograd', cuda = 'torch.cuda', train = 'rtrain', torchvision = 'vision',
  transforms = 'vision.transforms', datasets = 'vision.datasets', models = 'vision.models', Tensor = 'torch.Tensor',
  x = 'torch.Tensor',
}

local function split(text)
  local parts = {}
  for part in text:gmatch '[^.]+' do parts[#parts + 1] = part end
  return parts
end

---@param text string
---@return string[] parts {'torch', 'nn', 'functional', 'relu'}; a name without its module stays as it is
---
---```lua
---local written_name = require 'rtrain.doc.written_name'
---assert(table.concat(written_name 'x:view', '.') == 'torch.Tensor.view')
---```
local function written_name(text)
  local plain = text:gsub('[%s()]', ''):gsub(':', '.'):gsub('^ray%.train', 'rtrain'):gsub('^ray%.data', 'rtrain.data')
  local parts = split(plain)
  local alias = ALIASES[parts[1] or '']
  -- `x` alone is no tensor.
  if not alias or (parts[1] == 'x' and #parts == 1) then return parts end
  return split(alias .. plain:sub(#parts[1] + 1))
end

return written_name
