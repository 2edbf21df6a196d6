-- rtrain/nodes/remote.lua: the shell scripts that run on a node. They need a POSIX shell, sha256sum, and nothing of rtrain.
--
-- Everything is below ~/.cache/rtrain/nodes, which only the user can read:
--   files/<sha256>        each file once, whatever its name; <sha256>.part: a part of one, .part.<pid>: one that comes
--   jobs/<id>/work/…      hard links to them, under the names that they have here: the run's working folder
--   jobs/<id>/rtrain      the executable, likewise; lib/rtrain/ has the library of its package
--   jobs/<id>/data/…      files below $RTRAIN_DATA, likewise
--   jobs/<id>/environment sets variables for all that is called in the working folder
--   jobs/<id>/key         with it the nodes prove to each other that they belong to the job
--   jobs/<id>/command     on node 0: what the user has typed; jobs/<id>/runs: the names of the job's runs
--   jobs/<id>/start       starts this node's process; jobs/<id>/pid, /output: the process, what a detached one prints
--   jobs/<id>/list        the links, which are removed when later jobs have come

local shell = require 'rtrain.launch.submit.shell'
local system = require 'base._system'

local remote = {}

local KEPT_JOBS = 8

remote.FOLDER = '${XDG_CACHE_HOME:-$HOME/.cache}/rtrain/nodes'

-- Every line that the node prints for us begins with this, unlike what its shell prints at login.
local MARK = 'rtrain-node '

---Returns a command for the node's shell, whatever shell that is.
---@param script string one line
---@return string command
function remote.line(script) return 'exec /bin/sh -c ' .. shell.word(script) end

local FACTS = [=[
umask 077
dir="%s"
say() { printf '%s%%s=%%s\n' "$1" "$2"; }
say os "$(uname -s)"
say arch "$(uname -m)"
say host "$(uname -n)"
say glibc "$({ getconf GNU_LIBC_VERSION || ldd --version; } 2>/dev/null | head -n 1)"
say time "$(date +%%s)"
say connection "${SSH_CONNECTION-}"
say addresses "$({ hostname -I || ip -o -4 addr show | sed 's/.* inet \([0-9.]*\).*/\1/' | tr '\n' ' '; } 2>/dev/null)"
say gpus "$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')"
for tool in sha256sum df wc tail head; do command -v $tool >/dev/null 2>&1 || say lacks $tool; done
command -v gzip >/dev/null 2>&1 && say gzip yes
if problem=$(mkdir -p "$dir/files" "$dir/jobs" 2>&1) && problem=$({ : >"$dir/files/.test"; } 2>&1); then
  rm -f "$dir/files/.test"
  say folder "$dir"
  say free "$(df -Pk "$dir" | tail -n 1 | { read -r _ _ _ free _; echo $free; })"
  cd "$dir/files" || exit 4
  for file in %s; do
    hash=${file%%%%:*}
    size=${file#*:}
    if [ -f $hash ] && [ $(($(wc -c <$hash))) -eq $size ]; then say "has.$hash" $size
    elif [ -f $hash.part ]; then say "part.$hash" $(($(wc -c <$hash.part)))
    fi
  done
else
  say problem "$problem"
fi
say end yes
]=]

---Returns the script that says what the node is and has.
---@param files {hash: string, size: integer}[]
---@return string script
function remote.facts(files)
  local words = {}
  for i, file in ipairs(files) do words[i] = ('%s:%d'):format(file.hash, file.size) end
  return FACTS:format(remote.FOLDER, MARK, table.concat(words, ' '))
end

---Returns the lines of such a script as a table.
---@param output string
---@return table<string, string> facts
function remote.parse_facts(output)
  local facts = {}
  for line in output:gmatch '[^\r\n]+' do
    local name, value = line:match('^' .. MARK:gsub('%-', '%%-') .. '([%w.]+)=(.*)$')
    if name == 'lacks' and facts.lacks then value = facts.lacks .. ', ' .. value end
    if name then facts[name] = value end
  end
  return facts
end

-- Exit statuses of `receive`: the input has ended too early; the node has no such part, or not that file.
remote.INCOMPLETE, remote.DIFFERS = 66, 65

-- A receiver has its own part, and gives it back if it stays incomplete: several may bring the same file at a time.
local RECEIVE = [=[umask 077; cd "%s/files" || exit 4; f=%s; p=$f.part.$$; %s; %s >>$p || { mv -f $p $f.part; exit 4; }; ]=]
  .. [=[if [ $(($(wc -c <$p))) -lt %d ]; then mv -f $p $f.part; echo "the transfer has broken off"; exit %d; fi; ]=]
  .. [=[if [ "$(sha256sum <$p)" != "$f  -" ]; then rm -f $p; echo "the copy differs"; exit %d; fi; ]=]
  .. [=[chmod 500 $p && mv -f $p $f]=]
local TAKE_PART = [=[mv $f.part $p 2>/dev/null && [ $(($(wc -c <$p))) -eq %d ] || { echo "the part is gone"; exit %d; }]=]

---Returns the command that takes a file, or the rest of one, from its input. Bytes that have come stay when the connection
---breaks.
---@param file {hash: string, size: integer}
---@param offset integer how many bytes the node has
---@param is_packed boolean whether the input is packed with gzip
---@return string command
function remote.receive(file, offset, is_packed)
  local take = offset > 0 and TAKE_PART:format(offset, remote.DIFFERS) or ':'
  return remote.line(RECEIVE:format(remote.FOLDER, file.hash, take, is_packed and 'gzip -dc' or 'cat', file.size,
    remote.INCOMPLETE, remote.DIFFERS))
end

local RECEIVE_JOINED = [=[umask 077; cd "%s/files" || exit 4; p=joined.part.$$; %s{ while read -r f size; do ]=]
  .. [=[[ $f != end ] || exit 0; head -c $size >$p || exit 4; ]=]
  .. [=[[ $(($(wc -c <$p))) -eq $size ] || { rm -f $p; echo "the transfer has broken off"; exit %d; }; ]=]
  .. [=[[ "$(sha256sum <$p)" = "$f  -" ] || { rm -f $p; echo "the copy differs"; exit %d; }; ]=]
  .. [=[chmod 500 $p && mv -f $p $f || exit 4; done; echo "the transfer has broken off"; exit %d; }]=]

---Returns the command that takes the files of a joined one (rtrain.nodes.joined_files) from its input. Those that have come
---stay when the connection breaks.
---@param is_packed boolean whether the input is packed with gzip
---@return string command
function remote.receive_joined(is_packed)
  return remote.line(RECEIVE_JOINED:format(remote.FOLDER, is_packed and 'gzip -dc | ' or '', remote.INCOMPLETE,
    remote.DIFFERS, remote.INCOMPLETE))
end

local MAKE = [=[
set -eu
umask 077
cd "%s"
job=jobs/%s
mkdir -p $job/work
put() {
  case $2 in */*) mkdir -p "$job/${2%%/*}" ;; esac
  ln -f "files/$1" "$job/$2" 2>/dev/null || cp -f "files/$1" "$job/$2"
  printf '%%s\n' "$2" >>$job/list
}
%s
printf '%%s' %s >$job/environment
# The links of jobs before the last %d are removed if they have ended; what else is there, a script has written.
ls -t jobs | tail -n +%d | while read -r old; do
  if [ -f "jobs/$old/list" ] && ! { [ -f "jobs/$old/pid" ] && kill -0 "$(cat "jobs/$old/pid")" 2>/dev/null; }; then
    while IFS= read -r name; do rm -f "jobs/$old/$name"; done <"jobs/$old/list"
    for name in list start pid key output environment command runs; do rm -f "jobs/$old/$name"; done
    find "jobs/$old" -depth -type d -exec rmdir {} \; 2>/dev/null || :
  fi
done
find files -type f -links 1 -mtime +1 -exec rm -f {} \; 2>/dev/null || :
]=]

---Returns the script that makes the job's folder on a node, from files that the node has.
---@param job string
---@param files {hash: string, place: string}[]
---@param environment string the script that sets the variables
---@return string script
function remote.make(job, files, environment)
  local lines = {}
  for i, file in ipairs(files) do lines[i] = ('put %s %s'):format(file.hash, shell.word(file.place)) end
  return MAKE:format(remote.FOLDER, job, table.concat(lines, '\n'), shell.word(environment), KEPT_JOBS,
    KEPT_JOBS + 1)
end

local PREPARE = [=[
set -eu
umask 077
cd "%s/jobs/%s"
printf '%%s' %s >start
printf '%%s' '%s' >key
]=]

---Returns the script that prepares the start of a node's process. It is the input of a shell there, so the key is on no
---command line.
---@param job string
---@param start string the script that starts the process
---@param key string
---@return string script
function remote.prepare(job, start, key) return PREPARE:format(remote.FOLDER, job, shell.word(start), key) end

---Returns the lines behind those of `prepare` that note the command which the user has typed, for rtrain.launch.far_job.
---@param words string[]
---@return string script
function remote.note_command(words)
  return ("printf '%%s' %s >command\n"):format(shell.word(system.to_json(words)))
end

local START = [=[
#!/bin/sh
# Starts this node's process of the job; written by rtrain run --nodes. `sh start` starts it again after a reboot.
cd "$(dirname "$0")/work" || exit 4
. ../environment
export %s
case ${1-detached} in
  attached) # Each line of the input is a signal; its end is the end of the connection.
    exec 3<&0
    { while read -r signal; do kill -s "$signal" $$; done; kill -s HUP $$; } <&3 >/dev/null 2>&1 &
    exec 3<&- </dev/null ;;
  detached) exec </dev/null >>../output 2>&1 ;;
esac
echo $$ >../pid
exec %s
]=]

---Returns the script that starts the process of a node.
---@param variables {[1]: string, [2]: string}[]
---@param words string[] its command
---@return string script
function remote.start(variables, words)
  local settings = {}
  for i, variable in ipairs(variables) do settings[i] = ('%s=%s'):format(variable[1], shell.word(variable[2])) end
  settings[#settings + 1] = 'RTRAIN_SECRET_FILE="$PWD/../key"'
  return START:format(table.concat(settings, ' '), shell.command(words))
end

---Returns the command that starts the process and does not wait for it.
---@param job string
---@return string command
function remote.start_detached(job)
  return remote.line(('cd "%s/jobs/%s" || exit; if command -v setsid >/dev/null 2>&1; then setsid sh ./start detached; '
    .. 'else nohup sh ./start detached; fi </dev/null >/dev/null 2>&1 &'):format(remote.FOLDER, job))
end

---Returns the command that starts the process and is it.
---@param job string
---@param mode 'attached'|'terminal'
---@return string command
function remote.start_here(job, mode)
  return remote.line(('exec sh "%s/jobs/%s/start" %s'):format(remote.FOLDER, job, mode))
end

local LAST_LINES = 5

---Returns the command that prints the last lines of a process that was started and not waited for.
---@param job string
---@return string command
function remote.last_lines(job)
  return remote.line(('tail -n %d "%s/jobs/%s/output" 2>/dev/null; :'):format(LAST_LINES, remote.FOLDER, job))
end

local CALL = [=[cd "%s/jobs" && { cd %s/work 2>/dev/null || cd "$(ls -t | head -n 1)/work"; } && ]=]
  .. [=[{ [ ! -f ../environment ] || . ../environment; } && exec %s]=]

---Returns the command that prints the names of the job's runs, on node 0.
---@param job string
---@return string command
function remote.runs(job) return remote.line(('cat "%s/jobs/%s/runs" 2>/dev/null; :'):format(remote.FOLDER, job)) end

---Returns a command that calls rtrain in the job's folder, or in that of the newest job if this one's was removed.
---@param job string
---@param words string[] rtrain's words, the first is its program
---@return string command
function remote.call(job, words)
  return remote.line(CALL:format(remote.FOLDER, job, shell.command(words)))
end

return remote
