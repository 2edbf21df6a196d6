-- Displays of a run that write to strings.
local Display = require 'rtrain.display'

local displays = {}

local function recorder()
  local file = {text = ''}
  function file:write(...)
    for _, part in ipairs {...} do self.text = self.text .. part end
    return self
  end
  function file:flush() return self end
  return file
end

-- Returns a display for that many workers, and the strings of its standard output and error as the field `text` of each.
function displays.make(options, num_workers)
  local out, err, now = recorder(), recorder(), 0
  options.out, options.err = out, err
  options.clock = function()
    now = now + 1
    return now
  end
  return Display({name = 'mine', max_workers = num_workers or 2}, options), out, err
end

-- Returns a function that tells the size of a terminal with 24 lines.
function displays.size_of(columns) return function() return columns, 24 end end

displays.FINISHED = {
  type = 'finished', status = 'FINISHED', name = 'mine', path = '/r/mine', metrics = {accuracy = 0.5},
  checkpoint = {path = '/r/mine/checkpoints/b'},
  best_checkpoints = {{path = '/r/mine/checkpoints/a', metrics = {accuracy = 0.9}}},
}

-- Output and names of a worker could change the terminal's title, move its cursor or type for the user.
displays.HOSTILE = 'a\27]0;owned\7\27[2J\0\27[31mred\tb'

-- Returns what both streams show of it.
function displays.hostile_text(options)
  local shown, out, err = displays.make(options)
  shown:show {type = 'output', rank = 0, stream = 'stdout', text = displays.HOSTILE, attempt = 1}
  shown:show {type = 'notice', level = 'warning', text = displays.HOSTILE}
  return out.text, err.text
end

return displays
