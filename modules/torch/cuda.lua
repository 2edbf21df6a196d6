-- torch/cuda.lua: torch.cuda. On a machine without an NVIDIA device it answers without loading LibTorch.

local cuda = {}

local function device_files()
  local count = 0
  while true do
    local file = io.open(('/dev/nvidia%d'):format(count))
    if not file then return count end
    file:close()
    count = count + 1
  end
end

---Whether tensors can live on a GPU: a device is there and LibTorch can use it.
---@return boolean
function cuda.is_available()
  return device_files() > 0 and require('torch._C').cuda_is_available()
end

---How many GPUs this process can use; CUDA_VISIBLE_DEVICES is honoured.
---@return integer
function cuda.device_count()
  if not cuda.is_available() then return 0 end
  local visible = os.getenv 'CUDA_VISIBLE_DEVICES'
  if not visible then return device_files() end
  local count = 0
  for _ in visible:gmatch '[^,]+' do count = count + 1 end
  return math.min(count, device_files())
end

return require 'rtrain.namespace'('torch.cuda', nil, cuda)
