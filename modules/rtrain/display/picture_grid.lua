-- rtrain/display/picture_grid.lua: images next to each other as one SVG, which is shown wherever notebooks are: HTML with
-- pictures inside is not.

local html = require 'rtrain.display.html'

local GRID_WIDTH, GAP, CAPTION_HEIGHT = 960, 8, 16  -- pixels
local LEAST_WIDTH, MOST_WIDTH = 96, 480

-- Returns the size that a PNG file begins with.
local function size_of(png)
  local function number_at(at)
    local a, b, c, d = png:byte(at, at + 3)
    return ((a * 256 + b) * 256 + c) * 256 + d
  end
  return {width = number_at(17), height = number_at(21)}
end

---@param channel NotebookChannel
---@param files string[] PNG files
---@param options {captions: string[], width: integer?} width of an image; default that of the widest, within bounds
---@return string svg
return function(channel, files, options)
  local captions, sizes, widest, height = options.captions, {}, LEAST_WIDTH, 1
  for i, file in ipairs(files) do
    sizes[i] = size_of(file)
    widest = math.max(widest, math.min(sizes[i].width, MOST_WIDTH))
  end
  local width = options.width or widest
  for _, size in ipairs(sizes) do height = math.max(height, math.ceil(size.height / size.width * width)) end
  local columns = math.max(1, math.min(#files, math.floor(GRID_WIDTH / (width + GAP))))
  local row_height = height + GAP + (#captions > 0 and CAPTION_HEIGHT or 0)
  local parts = {('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">')
    :format(columns * (width + GAP), math.ceil(#files / columns) * row_height)}
  for i, file in ipairs(files) do
    local x, y = (i - 1) % columns * (width + GAP), math.floor((i - 1) / columns) * row_height
    parts[#parts + 1] = ('<image x="%d" y="%d" width="%d" height="%d" style="image-rendering:pixelated" '
      .. 'href="data:image/png;base64,%s"/>'):format(x, y, width, height, channel:base64(file))
    if captions[i] then
      parts[#parts + 1] = ('<text x="%d" y="%d" text-anchor="middle" fill="#777">%s</text>'):format(x + width / 2,
        y + height + CAPTION_HEIGHT - 2, html.escape(captions[i]))
    end
  end
  parts[#parts + 1] = '</svg>'
  return table.concat(parts, '\n')
end
