-- The display of a run on a terminal: colours, the live block and its width.
local lu = require 'luaunit'
local Eta = require 'rtrain.display.eta'
local metrics_text = require 'rtrain.metrics.text'
local displays = require 'displays'

local display, size_of, FINISHED = displays.make, displays.size_of, displays.FINISHED
local HOSTILE, hostile_text = displays.HOSTILE, displays.hostile_text

TestTerminal = {}

function TestTerminal.test_a_block_on_a_terminal_that_has_become_narrower_is_taken_away()
  local columns = 40
  local shown, _, err = display {terminal = true, size = function() return columns, 24 end}
  shown:show {type = 'state', state = 'RUNNING', attempt = 1}
  local drawn = #err.text
  columns = 20
  shown:notice 'now'
  local taken = err.text:sub(drawn + 1)
  lu.assertEquals(select(2, taken:gsub('\27%[A', '')), 2, 'a line of 39 columns is in two rows')
end

function TestTerminal.test_wide_characters_take_two_columns()
  local shown, _, err = display {terminal = true, size = size_of(40)}
  shown:show {type = 'output', rank = 0, is_progress = true, text = ('東'):rep(40)}
  lu.assertStrContains(err.text, '[rank 0] ' .. ('東'):rep(14) .. '…\n')
end

local HARMLESS = 'a\\x1b]0;owned\\x07\\x1b[2J\\x00\27[31mred\tb\27[0m'

function TestTerminal.test_nothing_commands_the_terminal_but_colours()
  local out, err = hostile_text {out_is_terminal = true, err_is_terminal = true}
  lu.assertEquals({out, err}, {'[rank 0] ' .. HARMLESS .. '\n', 'rtrain: ' .. HARMLESS .. '\n'})
  out, err = hostile_text {out_is_terminal = true, err_is_terminal = false}
  lu.assertEquals({out, err}, {'[rank 0] ' .. HARMLESS .. '\n', 'rtrain: ' .. HOSTILE .. '\n'})
end

function TestTerminal.test_metrics_in_the_live_block_stay_on_their_line()
  local shown, _, err = display({terminal = true, size = size_of(100)}, 1)
  shown:show {type = 'report', index = 0, count = 1, metrics = {note = 'x\n\27[2Jy'}, ranks = {{}}, attempt = 1}
  lu.assertStrContains(err.text, 'note=x\\n\\x1b[2Jy')
end

-- Applies the cursor movements of the live block; returns the final screen.
local function screen_of(text)
  local lines = {''}
  local at = 1
  while at <= #text do
    local up = text:match('^\27%[A\27%[2K', at)
    local color = text:match('^\27%[%d*m', at)
    if up then
      lines[#lines] = nil
      lines[#lines] = ''
      at = at + #up
    elseif text:sub(at, at) == '\r' then
      lines[#lines] = ''
      at = at + 1
    elseif color then
      at = at + #color
    elseif text:sub(at, at) == '\n' then
      lines[#lines + 1] = ''
      at = at + 1
    else
      lines[#lines] = lines[#lines] .. text:sub(at, at)
      at = at + 1
    end
  end
  return lines
end

function TestTerminal.test_past_reports_stay_above_the_block_which_goes_at_the_end()
  local shown, _, err = display {terminal = true, size = size_of(60)}
  shown:show {type = 'state', state = 'RUNNING', attempt = 1}
  for index = 0, 5 do
    shown:show {type = 'report', index = index, attempt = 1, metrics = {epoch = index, loss = 1 / (index + 1)},
                ranks = {{loss = 1}, {loss = 2}}}
  end
  local lines = screen_of(err.text)
  lu.assertEquals({lines[1], lines[5]}, {'report 0  epoch=0 loss=1', 'report 4  epoch=4 loss=0.2'})
  lu.assertStrContains(lines[6], 'mine  RUNNING')
  lu.assertStrContains(lines[7], 'epoch=5 loss=0.16667  (6 reports')
  lu.assertEquals({lines[8], lines[9]}, {'  rank 0  loss=1', '  rank 1  loss=2'})
  lu.assertEquals(#lines, 10)
  shown:show(FINISHED)
  lines = screen_of(err.text)
  lu.assertEquals(lines[6], 'report 5  epoch=5 loss=0.16667')
  lu.assertStrContains(lines[7], 'run mine FINISHED')
end

function TestTerminal.test_a_report_stays_in_its_place_among_the_output()
  local shown, out, err = display({terminal = true, size = size_of(60)}, 1)
  out.text = nil
  function out:write(...) return err:write(...) end
  shown:show {type = 'report', index = 0, attempt = 1, metrics = {loss = 1}}
  shown:show {type = 'output', rank = 0, stream = 'stdout', text = 'after the first', attempt = 1}
  shown:show {type = 'report', index = 1, attempt = 1, metrics = {loss = 2}}
  shown:show(FINISHED)
  local lines = screen_of(err.text)
  lu.assertEquals({lines[1], lines[2], lines[3]}, {'report 0  loss=1', '[rank 0] after the first', 'report 1  loss=2'})
end

function TestTerminal.test_metrics_are_in_the_scripts_order_and_the_last_are_left_out()
  local shown, _, err = display({terminal = true, size = size_of(50)}, 1)
  local names = {'zeta', 'epoch', 'alpha', 'a_rather_long_name'}
  local metrics = {zeta = 1, epoch = 2, alpha = 3, a_rather_long_name = 4}
  shown:show {type = 'report', index = 0, attempt = 1, metrics = metrics, names = names}
  lu.assertEquals(screen_of(err.text)[2], 'zeta=1 epoch=2 alpha=3 …  (1 report)')
  shown:show {type = 'report', index = 1, attempt = 1, metrics = metrics, names = names}
  lu.assertEquals(screen_of(err.text)[1], 'report 0  zeta=1 epoch=2 alpha=3 …')
  local piped, _, all = display {}
  piped:show {type = 'report', index = 0, attempt = 1, metrics = metrics, names = names}
  lu.assertEquals(all.text, 'report 0  zeta=1 epoch=2 alpha=3 a_rather_long_name=4\n')
end

function TestTerminal.test_the_time_left_follows_from_the_end_that_the_script_has_given()
  local now = 0
  local function shown_after(options, ...)
    local shown, _, err = display(options, 1)
    shown._clock = function() return now end
    now = 0
    shown:show {type = 'state', state = 'RUNNING', attempt = 1}
    for i, metrics in ipairs {...} do
      now = now + 10
      shown:show {type = 'report', index = i - 1, attempt = 1, metrics = metrics}
    end
    shown:tick()
    return err.text
  end
  local function options(config, stop) return {terminal = true, size = size_of(80), eta = Eta(config, stop)} end
  lu.assertStrContains(shown_after(options {epochs = 5}, {epoch = 1}, {epoch = 2}), 'ETA 30.0 s)')
  lu.assertStrContains(shown_after(options {num_epochs = 5}, {epoch = 0}, {epoch = 1}), 'ETA 30.0 s)')
  lu.assertStrContains(shown_after(options({}, {step = 400}), {step = 100}, {step = 200}), 'ETA 20.0 s)')
  lu.assertNotStrContains(shown_after(options {lr = 5}, {epoch = 1}, {epoch = 2}), 'ETA')
  lu.assertNotStrContains(shown_after(options {epochs = 2}, {epoch = 1}, {epoch = 2}), 'ETA 0')
end

function TestTerminal.test_an_epoch_under_way_is_a_bar()
  local shown, _, err = display({terminal = true, size = size_of(61)}, 1)
  shown._clock = function() return 1 end
  shown:show {type = 'state', state = 'RUNNING', attempt = 1}
  local function row(event)
    event.type, event.rank = 'loop', 0
    shown._drawn_at = -1
    shown:show(event)
    return screen_of(err.text)[2]
  end
  lu.assertEquals(row {batch = 50, batches = 200, rate = 12.5}, 'batch  50/200  ' .. ('━'):rep(5) .. ('─'):rep(16)
    .. '  12.5 it/s  12.0 s left')
  lu.assertEquals(row {batch = 150, batches = 200}, 'batch 150/200  ' .. ('━'):rep(30) .. ('─'):rep(10))
  lu.assertEquals(row {batch = 7}, 'batch 7')
  lu.assertEquals(row {batch = 200, batches = 200}, '', 'the epoch is over')
end

function TestTerminal.test_the_newest_values_of_train_log_are_in_the_block()
  local shown, _, err = display({terminal = true, size = size_of(60)}, 2)
  shown:show {type = 'logged', rank = 0, attempt = 1, names = {'lr', 'loss'}, values = {0.1, 3}}
  shown:show {type = 'logged', rank = 1, attempt = 1, names = {'loss', 'mine'}, values = {7, 8}}
  shown:show {type = 'logged', rank = 0, attempt = 1, names = {'lr', 'loss'}, values = {0.05, 2}}
  lu.assertEquals(screen_of(err.text)[2], 'log  lr=0.05 loss=2 mine=8')
end

function TestTerminal.test_progress_of_a_line_is_shown_in_its_place()
  local shown, out, err = display({terminal = true, size = size_of(40), out_is_terminal = true}, 1)
  shown:show {type = 'output', rank = 0, text = ' 50%', is_progress = true, attempt = 1}
  lu.assertEquals(screen_of(err.text)[1], '[rank 0]  50%')
  shown:show {type = 'output', rank = 0, text = ' 75%', is_progress = true, attempt = 1}
  lu.assertEquals(screen_of(err.text)[1], '[rank 0]  75%')
  lu.assertEquals(out.text, '')
  shown:show {type = 'output', rank = 0, stream = 'stdout', text = ' 50%\r 75%\r100%', attempt = 1}
  lu.assertEquals(out.text, '[rank 0] 100%\n')
  lu.assertStrContains(screen_of(err.text)[1], 'mine  ')
  local piped, all = display {out_is_terminal = false}
  piped:show {type = 'output', rank = 0, text = ' 50%', is_progress = true, attempt = 1}
  piped:show {type = 'output', rank = 0, stream = 'stdout', text = ' 50%\r100%', attempt = 1}
  lu.assertEquals(all.text, '[rank 0]  50%\r100%\n')
end

function TestTerminal.test_the_block_is_lower_than_the_screen()
  local shown, _, err = display({terminal = true, size = function() return 40, 5 end}, 64)
  local ranks = {}
  for i = 1, 64 do ranks[i] = {loss = i} end
  shown:show {type = 'report', index = 0, attempt = 1, metrics = {loss = 1}, ranks = ranks}
  lu.assertEquals(#screen_of(err.text), 4)
  shown, _, err = display({terminal = true, size = function() return 40, 50 end}, 64)
  shown:show {type = 'report', index = 0, attempt = 1, metrics = {loss = 1}, ranks = ranks}
  lu.assertEquals(screen_of(err.text)[11], '  and 56 more ranks')
end

function TestTerminal.test_one_worker_and_one_report_are_no_plurals()
  local shown, _, err = display({terminal = true}, 1)
  shown:show {type = 'report', index = 0, attempt = 1, metrics = {loss = 1}}
  local lines = screen_of(err.text)
  lu.assertStrContains(lines[1], '1 worker  ')
  lu.assertStrContains(lines[2], '(1 report)')
end

function TestTerminal.test_ranks_are_shown_only_where_they_differ()
  lu.assertEquals(metrics_text.differences {{a = 1}, {a = 1}}, {})
  lu.assertEquals(metrics_text.differences {{a = 1, b = 3}, {a = 2, b = 3}}, {{a = 1}, {a = 2}})
  lu.assertEquals(metrics_text.differences(nil), {})
end

function TestTerminal.test_no_line_is_wider_than_the_terminal()
  local shown, _, err = display {terminal = true, size = size_of(30)}
  shown:show {type = 'report', index = 0, metrics = {text = ('ä'):rep(200)}}
  local lines = screen_of(err.text)
  for _, line in ipairs(lines) do lu.assertTrue(require('base.text_width').of(line) < 30) end
  lu.assertTrue(lines[2]:find('^text=[ä]+…') ~= nil, 'characters stay whole')
end

os.exit(lu.LuaUnit.run(), true)
