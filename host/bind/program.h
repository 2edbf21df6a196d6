// host/bind/program.h: the module `rtrain._program`: runs a user's program as a rank.
//
//   start({command, env, without}) → program   host/loop/processes/program.h
//   program:pid()
//   program:next(timeout_s, other_fd?) → 'nothing', 'ended', or 'line', line
//   program:write(line)
//   program:send(signal)
//   program:finish(timeout_s) → 'exited with code 0', exit code or nil; kills what still runs
//   program:last_words() → the last line that it has written to stderr
//   serve_status() → status          host/worker/status_endpoint.h
//   status:url(), status:token_path(), status:waiting_fd()
//   status:take() → connection, body; nothing if no request waits
//   status:accept(connection), status:refuse(connection, why)
//   free_port() → a TCP port that no process uses now
//   python_folder() → the folder that has the Python package of the executable, for PYTHONPATH
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_program(lua_State* L);

}  // namespace rtrain::bind
