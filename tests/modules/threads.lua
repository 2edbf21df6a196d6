-- Tests of rtrain.data that run without threads and with some.
local context = require('rtrain.data').DataContext.get_current()

local threads = {}

-- Returns a test that runs fn once without threads and once with two.
function threads.with_and_without(fn)
  return function()
    for _, number in ipairs{0, 2} do
      context.num_threads = number
      fn()
    end
  end
end

return threads
