-- rtrain.nodes: what `--nodes` may say, which commands come of it, what nodes answer.

local lu = require 'luaunit'
local checks = require 'rtrain.nodes.checks'
local delivery = require 'rtrain.nodes.delivery'
local environment = require 'rtrain.nodes.environment'
local far_job = require 'rtrain.launch.far_job'
local joined_files = require 'rtrain.nodes.joined_files'
local launch = require 'rtrain.launch'
local node_list = require 'rtrain.nodes.node_list'
local refusal = require 'refusal'
local remote = require 'rtrain.nodes.remote'
local ssh = require 'rtrain.nodes.ssh'
local steps = require 'rtrain.nodes.steps'
local submit = require 'rtrain.nodes.submit'

local function with_file(text, use)
  local path = os.tmpname()
  local file = assert(io.open(path, 'w'))
  file:write(text)
  file:close()
  local out = use(path)
  os.remove(path)
  return out
end

-- Returns what a shell on this machine prints for the text.
local function shell_output(text)
  return with_file(text, function(path)
    local pipe = io.popen('/bin/sh ' .. path .. ' 2>&1')
    local out = pipe:read '*a'
    pipe:close()
    return out
  end)
end

TestNodeList = {}

local function targets(text)
  local out = {}
  for i, node in ipairs(node_list.parse(text)) do out[i] = node.slots and node.target .. '=' .. node.slots or node.target end
  return table.concat(out, ' ')
end

function TestNodeList.test_names_users_slots_and_addresses()
  lu.assertEquals(targets 'gpu1', 'gpu1')
  lu.assertEquals(targets 'gpu1,me@gpu2:4, n-3.lab:16', 'gpu1 me@gpu2=4 n-3.lab=16')
  lu.assertEquals(targets '[fe80::1%eth0]:2,me@[::2],10.0.0.7:1', 'fe80::1%eth0=2 me@::2 10.0.0.7=1')
end

function TestNodeList.test_a_file_has_comments_and_slots_as_of_mpirun()
  lu.assertEquals(with_file('# laboratory\ngpu1\n\n me@gpu2 slots=4 # the new one\r\ngpu3:2,gpu4\n', targets),
    'gpu1 me@gpu2=4 gpu3=2 gpu4')
end

function TestNodeList.test_this_machine_needs_no_ssh()
  local nodes = node_list.parse 'localhost,gpu1,me@localhost.lab'
  lu.assertEquals({nodes[1].is_local, nodes[2].is_local, nodes[3].is_local}, {true, false, false})
end

function TestNodeList.test_what_is_no_node_is_refused()
  for text, reason in next, {
    ['-oProxyCommand=x'] = "does not begin with '-'", ['me@-x'] = "does not begin with '-'", ['-l@gpu1'] = "does not begin",
    ['gpu1;reboot'] = 'expected the name', ['$(id)'] = 'expected the name', ['a`b`'] = 'expected the name',
    ["gpu1'"] = 'expected the name', ['gpu1:0'] = '1 to 1024', ['gpu1:many'] = 'only :N', ['gpu1:4:5'] = 'in brackets',
    ['fe80::1'] = 'in brackets', ['[gpu1'] = 'expected the name', [''] = 'no node', [','] = 'no node',
    ['gpu1,gpu2,me@gpu1'] = 'occurs twice', ['localhost,127.0.0.1'] = 'occurs twice', ['./nowhere'] = 'no file',
  } do
    local message, failure = refusal.message_of(node_list.parse, text)
    lu.assertStrContains(message, reason)
    lu.assertEquals(failure.code, 'usage')
  end
end

TestSsh = {}

function TestSsh.test_the_command_is_one_word_and_the_name_cannot_be_an_option()
  local words = ssh.words({target = 'me@gpu1', is_local = false}, '/run/c', "echo 'two  words'")
  lu.assertEquals({unpack(words, #words - 2)}, {'--', 'me@gpu1', "echo 'two  words'"})
  local all = table.concat(words, ' ')
  for _, setting in ipairs {'BatchMode=yes', 'ConnectTimeout=', 'ServerAliveInterval=', 'ControlPath=/run/c/%C'} do
    lu.assertStrContains(all, setting)
  end
  lu.assertEquals(ssh.words({is_local = true}, '/run/c', 'true'), {'/bin/sh', '-c', 'true'})
end

function TestSsh.test_errors_are_explained_with_the_line_of_ssh()
  local node = {target = 'gpu2'}
  for output, expected in next, {
    ['No ED25519 host key is known for gpu2 and you have requested strict checking.\nHost key verification failed.'] =
      {'Host key verification failed.', '`ssh gpu2` shows it'},
    ['@@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@@@@@\nHost key verification failed.'] =
      {'WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!', 'ssh-keygen -R gpu2'},
    ['gpu2: Permission denied (publickey).'] = {'gpu2: Permission denied (publickey).', 'ssh-copy-id gpu2'},
    ['ssh: connect to host gpu2 port 22: Connection refused'] =
      {'ssh: connect to host gpu2 port 22: Connection refused', 'no ssh server'},
    ['cat: write error: No space left on device'] = {'cat: write error: No space left on device', 'disk is full'},
  } do
    local problem, advice = ssh.explain(node, output, 255)
    lu.assertEquals(problem, expected[1])
    lu.assertStrContains(advice, expected[2])
  end
  lu.assertEquals((ssh.explain(node, '', 3)), 'exit status 3, without a word')
end

TestChecks = {}

local GOOD = {
  os = 'Linux', arch = 'x86_64', glibc = 'ldd (Debian GLIBC 2.36-9+deb12u14) 2.36', free = '9000000', ['end'] = 'yes',
}

local function problems_with(changes, bytes)
  local facts = {}
  for name, value in next, GOOD do facts[name] = value end
  for name, value in next, changes do facts[name] = value ~= 'none' and value or nil end
  local out = {}
  for i, each in ipairs(checks.problems(facts, {arch = 'x86_64', glibc = '2.28'}, bytes or 0)) do out[i] = each.problem end
  return table.concat(out, '; ')
end

function TestChecks.test_a_node_that_fits_has_no_problem()
  lu.assertEquals(problems_with {}, '')
  lu.assertEquals(problems_with {glibc = 'glibc 2.28'}, '')
end

function TestChecks.test_all_that_a_node_lacks_is_said()
  lu.assertStrContains(problems_with {arch = 'aarch64'}, 'its processor is aarch64')
  lu.assertStrContains(problems_with {glibc = 'glibc 2.17'}, 'glibc 2.17, and this rtrain needs 2.28')
  lu.assertStrContains(problems_with {glibc = ''}, 'no GNU C library')
  lu.assertStrContains(problems_with {os = 'Darwin'}, 'Darwin')
  lu.assertStrContains(problems_with {['end'] = 'none'}, 'not run our commands')
  lu.assertStrContains(problems_with({free = '100000'}, 90e6), 'has 102.4 MB free')
  lu.assertEquals(problems_with {arch = 'riscv64', lacks = 'sha256sum'},
    'its processor is riscv64, and this rtrain is for x86_64; it has no sha256sum')
end

function TestChecks.test_a_clock_that_differs_is_a_warning()
  lu.assertNil(checks.clock({time = '1000'}, 1003))
  lu.assertStrContains(checks.clock({time = '1000'}, 1060), '60 s behind')
end

function TestChecks.test_the_addresses_of_node_0()
  local facts = {connection = '10.0.0.1 5000 10.0.0.2 22', addresses = '10.0.0.2 192.168.1.2 fe80::1 127.0.0.1', host = 'gpu1'}
  lu.assertEquals(checks.addresses(facts, {host = 'lab', is_local = false}, {}),
    {'10.0.0.2', '192.168.1.2', 'gpu1', 'lab'})
  lu.assertEquals(checks.addresses({host = 'here'}, {host = 'localhost', is_local = true}, facts), {'10.0.0.1', 'here'})
end

function TestChecks.test_the_needed_glibc_is_the_newest_that_a_symbol_names()
  lu.assertEquals(checks.needed_glibc '\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.4\0 GLIBC_2.99 \0', '2.34')
end

TestRemote = {}

function TestRemote.test_the_script_of_facts_runs_in_a_plain_shell()
  local home = os.tmpname()
  os.remove(home)
  local text = ('export XDG_CACHE_HOME=%s\n'):format(home) .. remote.facts {{hash = ('a'):rep(64), size = 3}}
  local facts = remote.parse_facts('Welcome!\n' .. shell_output(text))
  os.execute('rm -rf ' .. home)
  lu.assertEquals(facts['end'], 'yes')
  lu.assertEquals(facts.os, 'Linux')
  lu.assertTrue(tonumber(facts.free) > 0)
  lu.assertEquals(facts.folder, home .. '/rtrain/nodes')
  lu.assertNil(facts.lacks)
end

function TestRemote.test_words_of_the_user_reach_a_shell_quoted()
  local nasty = "a'b $(touch /tmp/rtrain-injected) `id`\nEND OF INPUT\nrm -rf x"
  local text = remote.start({{'RTRAIN_NODE_RANK', '0'}}, {'printf', '%s', nasty})
  local last = text:match '\nexec (.*)$'
  lu.assertEquals(shell_output('exec ' .. last), nasty)
  local made = shell_output(remote.prepare('j', text, 'k'):gsub('cd "[^\n]*\n', 'cd "$(mktemp -d)"\n', 1) .. '\ncat start\n')
  lu.assertEquals(made, text)
  local line = remote.line('printf "%s" ' .. "'" .. 'x y' .. "'")
  lu.assertEquals(shell_output(line), 'x y')
end

function TestRemote.test_a_file_goes_once_to_each_node_and_only_its_rest()
  local files = {{hash = 'a', size = 10}, {hash = 'b', size = 20}, {hash = 'b', size = 20}, {hash = 'c', size = 5}}
  local missing, bytes = delivery.missing(files, {['has.a'] = '10', ['part.b'] = '8', ['part.c'] = '9'})
  lu.assertEquals({#missing, missing[1].file.hash, missing[1].offset, missing[2].offset}, {2, 'b', 8, 0})
  lu.assertEquals(bytes, 12 + 5)
end

-- Returns a new folder, which `use` gets, and removes it.
local function with_folder(use)
  local path = os.tmpname()
  os.remove(path)
  os.execute('mkdir ' .. path)
  use(path)
  os.execute('rm -rf ' .. path)
end

function TestRemote.test_small_files_come_in_one_stream()
  with_folder(function(home)
    local missing = {{file = {path = '/nowhere', size = 2 ^ 21, hash = 'large'}, offset = 0}, {file = {size = 5}, offset = 3}}
    local hashes = {}
    for i, text in ipairs {'one\n', '', 'end 0\nthree', ('x'):rep(70000)} do
      local path = ('%s/file%d'):format(home, i)
      local file = io.open(path, 'w')
      file:write(text)
      file:close()
      hashes[i] = shell_output('sha256sum <' .. path):match '%x+'
      missing[#missing + 1] = {file = {path = path, size = #text, hash = hashes[i]}, offset = 0}
    end
    local made = {}
    local sent = joined_files.of(missing, home, made)
    lu.assertEquals({#sent, sent[1].file.hash, sent[2].offset, sent[3].file.is_joined}, {3, 'large', 3, true})
    lu.assertIs(joined_files.of(missing, home, made)[3].file, sent[3].file)
    local take = ('export XDG_CACHE_HOME=%s; mkdir -p %s/rtrain/nodes/files; '):format(home, home)
    local joined = sent[3].file.path
    local function receive(input, is_packed)
      return shell_output(('%s%s | sh -c %s; echo $?'):format(take, input,
        "'" .. remote.receive_joined(is_packed):gsub("'", "'\\''") .. "'"))
    end
    lu.assertEquals(receive('head -c 90 ' .. joined, false), 'the transfer has broken off\n66\n')
    lu.assertEquals(shell_output(('ls %s/rtrain/nodes/files'):format(home)), hashes[1] .. '\n')
    lu.assertEquals(receive(('sed s/three/THREE/ %s | gzip'):format(joined), true), 'the copy differs\n65\n')
    lu.assertEquals(receive('gzip <' .. joined, true), '0\n')
    for i, hash in ipairs(hashes) do
      lu.assertEquals(shell_output(('cd %s; cmp file%d rtrain/nodes/files/%s; echo $?'):format(home, i, hash)), '0\n')
    end
  end)
end

function TestRemote.test_nodes_get_the_python_environment_at_the_same_place_and_the_data()
  with_folder(function(home)
    os.execute(('mkdir -p %s/venv/lib/python3.11/site-packages/torch %s/here/bin'):format(home, home))
    io.open(home .. '/here/pyvenv.cfg', 'w'):close()
    local getenv = function(name) return ({VIRTUAL_ENV = '/home/me/venv'})[name] end
    lu.assertEquals(environment.python(home .. '/here/bin/rtrain', getenv), home .. '/here')
    lu.assertEquals(environment.python('/usr/bin/rtrain', getenv), '/home/me/venv')
    local function there(given)
      local text = ('HOME=%s PATH=/bin; unset VIRTUAL_ENV; %scd %s\n'):format(home, given.own or 'unset RTRAIN_DATA; ', home)
      return shell_output(text .. environment.script(given) .. 'echo "$VIRTUAL_ENV $PATH $RTRAIN_DATA"')
    end
    lu.assertEquals(there {python = '/home/me/venv', home = '/home/me', data = '/the data'},
      ('%s/venv %s/venv/bin:/bin /the data\n'):format(home, home))
    lu.assertEquals(there {python = '/home/me/other', home = '/home/me'}, ' /bin \n')
    lu.assertEquals(there {data = '/data', own = 'export RTRAIN_DATA=/own; '}, ' /bin /own\n')
    lu.assertEquals(there {data = '/data', data_place = "work/my 'data'", own = 'export RTRAIN_DATA=/own; '},
      (" /bin %s/../work/my 'data'\n"):format(home))
  end)
end

TestSteps = {}

local function plan_of(nodes)
  return {nodes = node_list.parse(nodes), job = 'abc', key = ('k'):rep(64), port = 20001, program = {'../rtrain'},
    words = {'../rtrain', 'run', 'train.lua'}, command = {'rtrain', 'run', 'my train.lua', '--nodes', nodes}, environment = '',
    is_detached = false,
    files = {{path = '/x/rtrain', place = 'rtrain', hash = ('a'):rep(64), size = 3}}}
end

function TestSteps.test_the_key_is_on_no_command_line()
  local plan = plan_of 'gpu1,gpu2'
  local ways = {nil, '10.0.0.2'}
  for _, list in ipairs {steps.facts(plan), steps.make(plan), steps.ask_rtrain(plan, 'env'), steps.ways(plan, {{}, {'a'}}),
    steps.prepare(plan, ways), steps.start(plan)} do
    for _, each in ipairs(list) do lu.assertNotStrContains(each.command, plan.key) end
  end
  lu.assertStrContains(steps.prepare(plan, ways)[1].text, plan.key)
end

function TestSteps.test_node_0_knows_the_command_of_the_user_and_tells_the_names_of_runs()
  with_folder(function(home)
    local plan = plan_of 'gpu1,gpu2'
    local lists = steps.prepare(plan, {nil, '10.0.0.2'})
    lu.assertNotStrContains(lists[2].text, '>command')
    shell_output(('XDG_CACHE_HOME=%s; mkdir -p %s/rtrain/nodes/jobs/abc\n'):format(home, home) .. lists[1].text)
    local work, allocation = home .. '/rtrain/nodes/jobs/abc/work', {engine = 'ssh', job_id = 'abc'}
    lu.assertEquals(far_job.command(allocation, work), {'rtrain', 'run', 'my train.lua', '--nodes', 'gpu1,gpu2'})
    lu.assertNil(far_job.command({engine = 'slurm', job_id = 'abc'}, work))
    lu.assertNil(far_job.command({engine = 'ssh', job_id = 'other'}, work))
    for _, name in ipairs {'one', 'two'} do far_job.add_run(allocation, work, name) end
    lu.assertEquals(shell_output(('export XDG_CACHE_HOME=%s; '):format(home) .. remote.runs 'abc'), 'one\ntwo\n')
  end)
end

function TestSteps.test_the_variables_are_those_of_the_launcher()
  local plan = plan_of 'gpu1:3,gpu2:4'
  local text = steps.prepare(plan, {nil, '10.0.0.2'})[2].text
  local variables = {}
  for name, value in text:gmatch '(RTRAIN_[%w_]+)=([%w.]+)' do variables[name] = value end
  local found = launch.find(function(name) return variables[name] end, {parent = function() return 1 end})
  lu.assertEquals({found.engine, found.num_nodes, found.node_rank, found.group, found.port, found.master.addr,
    found.workers_per_node, found.has_own_disks}, {'ssh', 2, 1, 'abc', 20001, '10.0.0.2', 4, true})
end

function TestSteps.test_node_0_listens_at_all_its_addresses_if_the_others_use_several()
  local plan = plan_of 'a,b,c'
  lu.assertStrContains(steps.prepare(plan, {nil, '10.0.0.2', '10.0.0.2'})[1].text, 'RTRAIN_MASTER_ADDR=10.0.0.2')
  lu.assertNotStrContains(steps.prepare(plan, {nil, '10.0.0.2', '192.168.0.2'})[1].text, 'RTRAIN_MASTER_ADDR')
end

function TestSteps.test_a_dry_run_shows_every_command_and_no_key()
  local plan = plan_of 'gpu1,gpu2'
  local key, text = plan.key, submit.text_of(plan)
  lu.assertNotStrContains(text, key)
  for _, part in ipairs {
    'ssh -T', 'sha256sum', 'ln -f', 'env --json', 'reach --token abc --port 20001 --seconds 10 gpu1', '../rtrain agent',
    'start detached',
  } do
    lu.assertStrContains(text, part)
  end
end

os.exit(lu.LuaUnit.run())
