-- The display of a run: turns events of a controller into text.
local lu = require 'luaunit'
local failure = require 'rtrain.results.failure'
local FirstLoop = require 'rtrain.run.first_loop'
local metrics_text = require 'rtrain.metrics.text'
local displays = require 'displays'
local Eta = require 'rtrain.display.eta'

local display, FINISHED, HOSTILE, hostile_text = displays.make, displays.FINISHED, displays.HOSTILE, displays.hostile_text

local function run_of(shown)
  shown:show {type = 'state', state = 'RUNNING', attempt = 1}
  shown:show {type = 'report', index = 0, attempt = 1, metrics = {accuracy = 0.123456789, epoch = 1},
              ranks = {{epoch = 1}, {epoch = 1}}}
  shown:show {type = 'output', rank = 1, stream = 'stdout', text = 'hello', attempt = 1}
  shown:show {type = 'output', rank = 0, stream = 'stderr', text = 'careful', attempt = 1}
  shown:show {type = 'report', index = 1, attempt = 1, metrics = {accuracy = 0.9, epoch = 2}, checkpoint = '/r/x/ckpt',
              ranks = {{loss = 1}, {loss = 2}}}
  shown:show(FINISHED)
end

TestPipe = {}

function TestPipe.test_one_line_for_each_report_and_the_way_back()
  local shown, out, err = display {score = {checkpoint_score_attribute = 'accuracy'}}
  run_of(shown)
  lu.assertEquals(out.text, '[rank 1] hello\n')
  local lines = {}
  for line in err.text:gmatch '[^\n]+' do lines[#lines + 1] = line end
  lu.assertEquals(lines[1], 'report 0  epoch=1 accuracy=0.12346')
  lu.assertEquals(lines[2], '[rank 0] careful')
  lu.assertEquals(lines[3], 'report 1  epoch=2 accuracy=0.9  checkpoint ckpt')
  lu.assertStrMatches(lines[4], 'run mine FINISHED after .*, 2 reports')
  lu.assertEquals(lines[5], 'best accuracy 0.9 in /r/mine/checkpoints/a')
  lu.assertEquals(lines[6], 'checkpoint /r/mine/checkpoints/b')
  lu.assertEquals({lines[7], lines[8]}, {'rtrain plot mine accuracy', 'rtrain show mine'})
  lu.assertEquals(#lines, 8)
  lu.assertNil(err.text:find('[\27\r]'))
end

function TestPipe.test_the_start_says_who_computes_where()
  local shown, _, err = display {devices = 'CPU', backend = 'shm'}
  for attempt, workers in ipairs {2, 2, 1} do
    shown:show {type = 'state', state = 'RUNNING', num_workers = workers, attempt = attempt}
  end
  lu.assertEquals(err.text, 'rtrain: 2 workers, shm, CPU\nrtrain: 1 worker, CPU\n', 'told again where it has changed')
end

function TestPipe.test_the_first_loop_says_which_samples_each_worker_takes()
  local said = {}
  local first = FirstLoop(function(attempt, text) said[#said + 1] = attempt .. ' ' .. text end)
  local function run(attempt, workers, ...)
    first:add {type = 'state', state = 'RUNNING', num_workers = workers, attempt = attempt}
    for _, event in ipairs {...} do
      event.type, event.attempt, event.rank, event.batch = 'loop', attempt, 0, 1
      first:add(event)
    end
    return table.remove(said)
  end
  lu.assertEquals(run(1, 2, {batch_size = 32, samples = 50, dataset_size = 100}, {batch_size = 64}),
    '1 batches of 32 on each worker, 64 together; 50 of 100 samples each')
  lu.assertNil(run(2, 2, {batch_size = 32, samples = 50, dataset_size = 100}), 'as the attempt before')
  lu.assertEquals(run(3, 1, {batch_size = 32, samples = 100, dataset_size = 100}), '3 batches of 32, 100 samples an epoch')
  lu.assertEquals(run(4, 2, {batch_size = 32, samples = 100, dataset_size = 100}),
    '4 batches of 32 on each worker, 64 together; all of 100 samples each: prepare_data_loader deals them out')
  lu.assertEquals(run(5, 2, {}, {batch_size = 8}), '5 batches of 8 on each worker, 16 together')
  first:add {type = 'loop', attempt = 6, rank = 0, batch = 1, batch_size = 4}
  lu.assertNil(run(5, 2), 'the other rank does not run yet')
  lu.assertEquals(run(6, 2), '6 batches of 4 on each worker, 8 together')
end

-- Displays a run as a pipe sees it; the test sets the clock.
local function at_times(options)
  local shown, _, err = display(options or {}, 1)
  local function at(now, event)
    shown._clock = function() return now end
    if event then shown:show(event) end
    shown:tick()
    return err.text
  end
  at(0, {type = 'state', state = 'RUNNING', num_workers = 1, attempt = 1})
  return at
end

function TestPipe.test_a_long_epoch_has_a_line_now_and_then()
  local at = at_times()
  lu.assertEquals(at(29, {type = 'loop', rank = 0, batch = 50, batches = 200, rate = 2}), '')
  lu.assertEquals(at(31), 'batch  50/200  2.0 it/s  1 min 13 s left\n')
  lu.assertEquals(at(40, {type = 'loop', rank = 0, batch = 70, batches = 200, rate = 2}), at(31), 'not yet again')
  lu.assertStrContains(at(70, {type = 'loop', rank = 0, batch = 130, rate = 0.5}), '\nbatch 130  2.0 s/it\n')
  local before = at(71, {type = 'report', index = 0, metrics = {loss = 1}, ranks = {{}}})
  lu.assertEquals(at(200), before, 'a loop that was reported is over')
end

local function batch(number, rate, batches)
  return {type = 'loop', rank = 0, batch = number, batches = batches or 200, rate = rate}
end

function TestPipe.test_the_first_epoch_says_how_long_it_will_take()
  local at = at_times {eta = Eta {epochs = 3}}
  lu.assertEquals(at(10, batch(1)), '')
  lu.assertEquals(at(10.5, batch(2, 4)), '', 'the first batches are slower than later ones')
  local said = 'rtrain: the first epoch takes about 50.0 s (200 batches), all 3 about 2 min 30 s\n'
  lu.assertEquals(at(11, batch(4, 4)), said)
  lu.assertEquals(at(13, batch(30, 10)), said, 'once')
end

function TestPipe.test_a_short_epoch_and_one_of_unknown_length_say_nothing()
  local at = at_times()
  at(10, batch(1))
  lu.assertEquals(at(12, {type = 'loop', rank = 0, batch = 90, rate = 45}), '', 'its length is not known')
  lu.assertEquals(at(12, batch(90, 45)), '', 'it takes 4.4 s')
  at = at_times {quiet = true}
  at(10, batch(1))
  lu.assertEquals(at(12, batch(3, 1)), '', 'quiet')
  at = at_times()
  at(10, batch(1))
  local reported = at(10, {type = 'report', index = 0, metrics = {loss = 1}, ranks = {{}}})
  at(11, batch(1))
  lu.assertEquals(at(13, batch(3, 1)), reported, 'the first epoch is over')
end

function TestPipe.test_a_search_of_the_learning_rate_shows_its_steps_alone()
  local at = at_times {quiet = true, steps_only = true}
  lu.assertEquals(at(29, batch(50, 2)), '')
  local text = at(31)
  lu.assertEquals(text, 'step  50/200  2.0 it/s  1 min 13 s left\n')
  lu.assertEquals(at(32, {type = 'report', index = 0, metrics = {loss = 1}, ranks = {{}}}), text)
end

function TestPipe.test_the_end_says_how_to_plot_the_run()
  local function last_lines(options, ...)
    local shown, _, err = display(options)
    for i, metrics in ipairs {...} do shown:show {type = 'report', index = i - 1, metrics = metrics, ranks = {{}}} end
    shown:show {type = 'finished', status = 'FINISHED', path = '/r/mine'}
    return err.text:match 'rtrain .*$'
  end
  local epoch = {epoch = 1, accuracy = 0.5, train_loss = 2}
  lu.assertEquals(last_lines({}, epoch, epoch), 'rtrain plot mine train_loss\nrtrain show mine\n')
  local options = {score = {checkpoint_score_attribute = 'accuracy'}, storage_option = ' --storage /r'}
  lu.assertEquals(last_lines(options, epoch, epoch),
    'rtrain plot mine accuracy --storage /r\nrtrain show mine --storage /r\n')
  lu.assertEquals(last_lines({}, {step = 1, ['f 1'] = 2}, {step = 2, ['f 1'] = 3}),
    "rtrain plot mine 'f 1'\nrtrain show mine\n")
  lu.assertEquals(last_lines({}, epoch), 'rtrain show mine\n', 'one point makes no curve')
  lu.assertEquals(last_lines({}, {step = 1}, {step = 2}), 'rtrain show mine\n')
end

function TestPipe.test_quiet_shows_the_workers_output_alone()
  local shown, out, err = display {quiet = true, terminal = true}
  run_of(shown)
  lu.assertEquals({out.text, err.text}, {'[rank 1] hello\n', '[rank 0] careful\n'})
end

function TestPipe.test_a_retry_is_told()
  local shown, _, err = display {}
  shown:show {type = 'attempt_failed', attempt = 1, next_attempt = 2, will_retry = true,
              error = {code = 'worker_lost', message = 'rank 1 (pid 7) was killed by SIGKILL'}}
  lu.assertEquals(err.text, 'rtrain: attempt 1 failed: rank 1 (pid 7) was killed by SIGKILL; attempt 2 begins\n')
end

function TestPipe.test_the_delay_of_a_retry_and_why_there_is_none()
  local shown, _, err = display {}
  shown:show {type = 'attempt_failed', attempt = 2, next_attempt = 3, will_retry = true, delay_s = 1.84,
              reason = 'retry 2 of 3',
              error = {code = 'user', message = 'a.lua:1: boom\nmore'}}
  shown:show {type = 'attempt_failed', attempt = 3, will_retry = false, delay_s = 0, reason = 'all 2 retries are used up',
              error = {code = 'user', message = 'a.lua:1: boom'}}
  shown:show {type = 'attempt_failed', attempt = 1, will_retry = false, reason = '', error = {message = 'x'}}
  lu.assertEquals(err.text, 'rtrain: attempt 2 failed: a.lua:1: boom; attempt 3 begins in 1.8 s (retry 2 of 3)\n'
    .. 'rtrain: no further attempt: all 2 retries are used up\n')
end

function TestPipe.test_reports_that_were_not_shown_are_counted()
  local shown, _, err = display {}
  shown:show {type = 'report', index = 999, count = 1000, metrics = {}, ranks = {{}}}
  shown:show {type = 'finished', status = 'FINISHED', reports = 2000, path = '/r/mine'}
  lu.assertStrContains(err.text, ', 2000 reports\n')
end

function TestPipe.test_of_many_reports_few_have_a_line()
  local now = 0
  local shown, out, err = display {}
  shown._clock = function() return now end
  for index = 0, 99 do
    now = index / 100
    shown:show {type = 'report', index = index, metrics = {step = index}, ranks = {{}}}
  end
  local lines = select(2, err.text:gsub('\n', ''))
  lu.assertEquals(lines, 20)
  shown:show {type = 'output', rank = 0, stream = 'stdout', text = 'hello'}
  lu.assertEquals(out.text, '[rank 0] hello\n')
  lu.assertEquals(select(2, err.text:gsub('\n', '')), 20, 'what is printed brings no line with it')
  now = 1.5
  shown:tick()
  lu.assertStrContains(err.text, 'report 99  step=99  (79 reports before it not shown)\n')
  shown:show {type = 'report', index = 100, metrics = {step = 100}, ranks = {{}}}
  shown:show {type = 'finished', status = 'FINISHED', path = '/r/mine'}
  lu.assertStrContains(err.text, 'report 100  step=100\nrun mine FINISHED', 'the last one is always there')
end

function TestPipe.test_bytes_are_left_as_they_are()
  local out, err = hostile_text {out_is_terminal = false, err_is_terminal = false}
  lu.assertEquals(out, '[rank 0] ' .. HOSTILE .. '\n')
  lu.assertEquals(err, 'rtrain: ' .. HOSTILE .. '\n')
end

function TestPipe.test_waiting_and_running_are_told_apart()
  local shown, _, err = display {clock = nil}
  shown._started, shown._clock = 0, function() return 100 end
  shown:show {type = 'finished', status = 'FINISHED', reports = 2, waited_s = 70, path = '/r/mine'}
  lu.assertStrContains(err.text, 'FINISHED after 1 min 40 s (1 min 10 s waiting for its resources, 30.0 s running), 2 reports')
end

function TestPipe.test_a_line_break_in_a_name_or_a_value_leaves_a_report_on_one_line()
  lu.assertEquals(metrics_text.line {['loss\nof b'] = 1, text = 'a\tb\r'}, 'loss\\nof b=1 text=a\\tb\\r')
end

TestErrors = {}

function TestErrors.test_the_same_error_on_all_ranks_is_told_once()
  local told = {code = 'user', message = 'train.lua:5: boom',
    traceback = '  train.lua:5: in function <line 3>\n  (+2 rtrain frames)'}
  told.ranks = {[0] = {code = 'user', message = told.message}, [1] = {code = 'user', message = told.message}}
  local err = failure.make(told)
  lu.assertStrContains(err.message, 'same error on ranks 0-1:\ntrain.lua:5: boom')
  lu.assertNil(err.traceback:find('train.lua:5', 1, true))
  lu.assertEquals(err.code, 'user')
end

function TestErrors.test_the_cause_first_and_lost_peers_not_at_all()
  local err = failure.make {
    code = 'user', message = 'a.lua:1: bad', traceback = '  a.lua:1: in function f\n  a.lua:9: in function <line 7>',
    ranks = {[0] = {code = 'peer_lost', message = 'gone'}, [1] = {code = 'user', message = 'a.lua:1: bad'},
             [3] = {code = 'user', message = 'a.lua:2: other\nmore'}}}
  lu.assertStrContains(err.message, 'rank 1 raised an error:\na.lua:1: bad')
  lu.assertStrContains(err.message, 'also rank 3: a.lua:2: other')
  lu.assertNil(err.message:find('rank 0', 1, true))
  lu.assertEquals(err.traceback, '  a.lua:9: in function <line 7>')
end

function TestErrors.test_every_ranks_error_is_an_error_object()
  local told = {code = 'user', message = 'a.lua:1: bad'}
  local from_store = failure.make {code = 'user', message = 'a.lua:1: bad', ranks = {['0'] = told}}
  lu.assertEquals(tostring(from_store.ranks[0]), 'a.lua:1: bad')
  lu.assertEquals(from_store.ranks[0].code, 'user')
end

function TestErrors.test_the_line_is_shown_also_where_lua_cuts_the_name_of_the_script()
  local script, saved = os.tmpname(), arg
  local file = io.open(script, 'w')
  file:write('-- first\n  error("boom")\n')
  file:close()
  rawset(_G, 'arg', {[0] = script})
  local err = failure.make {code = 'user', message = ('...%s:2: boom'):format(script:sub(3))}
  rawset(_G, 'arg', saved)
  os.remove(script)
  lu.assertStrContains(err.message, 'boom\n      error("boom")')
end

TestStopping = {}

function TestStopping.test_it_says_who_asks_and_for_how_long_it_may_take()
  local shown, _, err = display {}
  shown:show {type = 'stopping', attempt = 1, kind = 'terminate', by = 'SIGTERM', grace_s = 30}
  shown:show {type = 'stopping', attempt = 1, kind = 'resize', by = 'resize', grace_s = 30}
  shown:show {type = 'stopping', attempt = 1, kind = 'resize', by = 'resize', grace_s = 0}
  shown:show {type = 'stopping', attempt = 1, kind = 'interrupt', by = 'SIGINT', grace_s = 0}
  lu.assertEquals(err.text, 'rtrain: SIGTERM: the run stops at its next checkpoint, at the latest in 30.0 s\n' ..
    'rtrain: another size of the group: the attempt stops at its next checkpoint, at the latest in 30.0 s\n' ..
    'rtrain: another size of the group: the attempt stops at its next checkpoint\n' ..
    'rtrain: SIGINT: the run is being stopped (once more: kill it)\n')
end

function TestStopping.test_what_is_tried_out_has_no_checkpoint_to_stop_at()
  local shown, _, err = display {is_tryout = true}
  shown:show {type = 'stopping', attempt = 1, kind = 'interrupt', by = 'SIGINT', grace_s = 30}
  lu.assertEquals(err.text, 'rtrain: SIGINT: the script stops, at the latest in 30.0 s (once more: kill it)\n')
end

function TestStopping.test_the_live_block_counts_down()
  local shown, _, err = display {terminal = true}
  shown:show {type = 'stopping', attempt = 1, kind = 'terminate', by = 'SIGTERM', grace_s = 30}
  shown:tick()
  lu.assertStrContains(err.text, 'stopping, at the latest in 2')
end

-- behaviour: equal errors are one
function TestErrors.test_equal_errors_are_grouped_also_where_their_numbers_differ()
  local ranks = {}
  for rank = 0, 3 do ranks[rank] = {code = 'user', message = ('a.lua:1: batch %d has 0x%d'):format(rank * 17, rank)} end
  ranks[4] = {code = 'user', message = 'a.lua:9: batch 1 has 0x1'}
  local err = failure.make {code = 'user', rank = 2, message = ranks[2].message, ranks = ranks}
  lu.assertStrContains(err.message, 'same error on ranks 0-3 (numbers differ):\na.lua:1: batch 34 has 0x2')
  lu.assertStrContains(err.message, 'also rank 4: a.lua:9: batch 1 has 0x1')
  lu.assertNil(err.message:find('batch 17', 1, true))
  lu.assertEquals(err.ranks[1].message, ranks[1].message)
end

-- behaviour: long errors are cut
function TestErrors.test_long_errors_are_shortened_with_a_pointer_to_the_log()
  local text = ('a'):rep(500) .. ('b'):rep(3000) .. ('c'):rep(500)
  local told = {code = 'user', kind = 'WorkerGroupError', rank = 1, message = text}
  told.ranks = {[1] = {code = 'user', message = text}}
  local err = failure.make(told, {path = '/runs/x', attempt = 2})
  lu.assertStrContains(err.message, ('a'):rep(500) .. ' ...')
  lu.assertStrContains(err.message, '... ' .. ('c'):rep(500))
  lu.assertNil(err.message:find('b', 500, true) and err.message:find(('b'):rep(10), 1, true))
  lu.assertStrContains(err.message, '3000 characters left out: all of it is in /runs/x/logs/attempt-2/rank-1.log')
  lu.assertEquals(#err.ranks[1].message, 4000)
  lu.assertEquals(err.kind, 'WorkerGroupError')
end

os.exit(lu.LuaUnit.run(), true)
