-- Feed{n = rows, sizes = {…}, …}: a feed of a DataIterator without files: the numbers of its rows, in blocks.
local lu = require 'luaunit'
local torch = require 'torch'
local Block = require 'rtrain.data.blocks.block'
local class = require 'base.class'
local exchange = require 'rtrain.data.exchange'
local intervals = require 'rtrain.data.rows.intervals'

-- Rows 0 … n - 1 in blocks of the given sizes; `shuffled` gives each epoch another order. `keeps` makes it a filtering
-- plan: the number of rows is unknown, and a rank takes its part of the unfiltered rows. `by_steps`: ranks take the rows by
-- steps.
local Feed = class('Feed')

function Feed:init(fields)
  for name, value in next, fields do self[name] = value end
  self.open, self.streams = 0, 0
end

function Feed:num_rows() return not self.keeps and self.n or nil end

function Feed:deals_by_steps() return self.by_steps or false end

function Feed:gives_views() return false and self end

function Feed:stats() return {} end

function Feed:schema() return {{name = 'id', type = 'int64'}} end

-- Returns the unfiltered rows of a rank's part: all rows are distributed, and some ranks get one more.
function Feed.part_of(n, part)
  local first, last = math.floor(n * part.rank / part.world_size), math.floor(n * (part.rank + 1) / part.world_size)
  return first < last and {{first, last}} or {}
end

local function rows_of(self, options)
  local list = options.rows or (options.part and Feed.part_of(self.n, options.part)) or intervals.all(self.n)
  local places = {}
  for interval in intervals.each(list) do
    for place = interval[1], interval[2] - 1 do places[#places + 1] = place end
  end
  local ids = torch.tensor(places, {dtype = 'int64'})
  if self.shuffled then ids = exchange.permutation(self.n, options.seed, options.epoch):row_at(ids) end
  if self.keeps then ids = ids:index_select(0, self.keeps(ids):nonzero():flatten()) end
  return ids
end

function Feed:stream(options)
  local ids, at, k = rows_of(self, options), 0, 0
  local feed, closed = self, false
  self.open, self.streams = self.open + 1, self.streams + 1
  return {
    next = function()
      lu.assertFalse(closed)
      if at >= ids:size(0) then return nil end
      k = k + 1
      local size = math.min(feed.sizes[(k - 1) % #feed.sizes + 1], ids:size(0) - at)
      at = at + size
      return Block({'id'}, {ids:narrow(0, at - size, size)})
    end,
    close = function()
      if not closed then feed.open = feed.open - 1 end
      closed = true
    end,
  }
end

return Feed
