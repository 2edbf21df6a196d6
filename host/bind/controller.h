// host/bind/controller.h: the module `rtrain._controller`: a run, for the script's thread.
//
//   open(spec) → run             takes the run's name
//   run:run_id() → id
//   run:start()                  begins the run: events follow
//   run:next_event(timeout_s) → event or nil; the last one has type "finished"
//   run:answer(id, value), run:answer_error(id, error)
//                                answer the event {type = "call", id, name, argument}
//   run:request_stop(kind, by)   graceful shutdown: "predicate", "interrupt", "operator",
//                                "terminate"; `by`: who asks, for users; nil: the kind's text
//   run:add_event(attempt, level, text)
//                                adds a line to the run's record
//   run:close()                  ends everything of the run that is still running
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_controller(lua_State* L);

}  // namespace rtrain::bind
