-- rtrain/display/recorded.lua: shows in a notebook what train.log_image and similar functions have recorded.

local html = require 'rtrain.display.html'
local json = require 'json'
local picture_grid = require 'rtrain.display.picture_grid'

local recorded = {}

local MAX_ITEMS = 12  -- the others are counted
local MAX_BYTES = 2e6  -- of all items: a notebook is a file of text
local MAX_ROWS = 30
local CHART_WIDTH, CHART_HEIGHT = 480, 240

local show = {}

-- An animated PNG is shown as its first frame.
function show.image(channel, bytes, title)
  return {['image/svg+xml'] = picture_grid(channel, {bytes}, {captions = {title}})}
end

show.video = show.image

local function titled(title, text) return ('<p>%s</p>%s'):format(html.escape(title), text) end

function show.audio(channel, bytes, title)
  return {['text/html'] = titled(title, ('<audio controls src="data:audio/wav;base64,%s"></audio>')
    :format(channel:base64(bytes)))}
end

function show.text(_, text, title)
  return {['text/html'] = titled(title, ('<pre>%s</pre>'):format(html.escape(text))), ['text/plain'] = title .. '\n' .. text}
end

-- The curve goes around the bars.
function show.histogram(channel, text, title)
  local data, xs, ys = json.decode(text), {}, {}
  local function add(x, y) xs[#xs + 1], ys[#ys + 1] = x, y end
  add(data.edges[1], 0)
  for i, count in ipairs(data.counts) do
    add(data.edges[i], count)
    add(data.edges[i + 1], count)
  end
  add(data.edges[#data.edges], 0)
  return {['image/svg+xml'] = channel.services.svg {
    title = title, x_label = 'value', width = CHART_WIDTH, height = CHART_HEIGHT,
    curves = {{name = 'count', xs = xs, ys = ys}},
  }}
end

function show.table(_, text, title)
  local data, rows = json.decode(text), {}
  for i = 1, math.min(#data.rows, MAX_ROWS) do
    rows[i] = {}
    for c, value in ipairs(data.rows[i]) do rows[i][c] = value == json.null and '' or tostring(value) end
  end
  local more = #data.rows > MAX_ROWS and ('<p>%d more rows</p>'):format(#data.rows - MAX_ROWS) or ''
  return {['text/html'] = titled(title, html.table(data.columns, rows) .. more)}
end

-- Keeps the last step of each name, of the lowest rank that has it.
local function newest(rows)
  local order, by_name = {}, {}
  for _, row in ipairs(rows) do
    local key = row.kind .. ' ' .. row.name
    local before = by_name[key]
    if not before then order[#order + 1] = key end
    if not before or row.step > before.step or row.step == before.step and row.rank < before.rank then by_name[key] = row end
  end
  local out = {}
  for i, key in ipairs(order) do out[i] = by_name[key] end
  return out
end

---Shows the newest image, video, sound, histogram, table and text of each name.
---@param channel NotebookChannel
---@param storage string
---@param run string
function recorded.show(channel, storage, run)
  local rows, bytes, left_out = newest(channel.services.media(storage, run)), 0, 0
  for i, row in ipairs(rows) do
    bytes = bytes + row.bytes
    if i > MAX_ITEMS or bytes > MAX_BYTES then
      left_out = left_out + 1
    else
      local title = ('%s %s, step %d'):format(row.kind, row.name, row.step)
      local bundle = show[row.kind](channel, channel.services.media_content(storage, run, row.hash), title)
      bundle['text/plain'] = bundle['text/plain'] or title
      channel:display(bundle)
    end
  end
  if left_out > 0 then
    channel:display{['text/plain'] = ('and %d more: rtrain show %s --media'):format(left_out, run)}
  end
end

return recorded
