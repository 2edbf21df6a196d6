-- rtrain/data/columns/images.lua: decodes columns of encoded images (JPEG, PNG) to tensors.

local Objects = require 'rtrain.data.columns.objects'
local torch = require 'torch'

local images = {}

local MODES = {L = 'GRAY', LA = 'GRAY_ALPHA', RGBA = 'RGB_ALPHA'}

---Returns the decoder's name of a mode of Pillow.
---@param mode? string 'L', 'LA', 'RGB', 'RGBA' or one of torchvision's names; nil leaves images as they are
---@return string
function images.mode(mode) return MODES[mode] or mode or 'UNCHANGED' end

-- Returns images of one size as a single tensor, others as Objects; rows without an image are null.
local function to_column(decoded, rows, num_rows)
  if torch.is_tensor(decoded) then
    if decoded:size(0) == num_rows then return decoded end
    local list = {}
    for i = 0, decoded:size(0) - 1 do list[i + 1] = decoded:select(0, i) end
    decoded = list
  end
  local values = {}
  for k, image in ipairs(decoded) do values[(rows and rows[k] or k - 1) + 1] = image end
  return Objects(values, num_rows)
end

---Decodes a column. Raises an error with 'image i' if the i-th row (from 0) is damaged.
---@param strings data.Strings
---@param options {mode: string?, size: integer[]?}
---@return data.Column uint8 (n, h, w, c) if all have the same size
function images.decode(strings, options)
  local valid, kept = strings.valid, nil
  local given = strings
  if valid and not valid:all():item() then
    kept = valid:nonzero():flatten()
    given = strings:take(kept)
  end
  if given:len() == 0 then return Objects({}, strings:len()) end
  local decode = require('torch._C').data.decode_images
  local decoded = decode(given.offsets, given.bytes, {mode = images.mode(options.mode), size = options.size})
  return to_column(decoded, kept and kept:tolist(), strings:len())
end

return images
