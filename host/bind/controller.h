// host/bind/controller.h: the module `rtrain._controller`: a run as the script's thread sees it.
//
//   open(spec) → run             takes the name
//   run:run_id() → id
//   run:start()                  begins: from here on there are events
//   run:next_event(timeout_s) → event or nil; the last one has type "finished"
//   run:answer(id, value), run:answer_error(id, error)
//                                answer the event {type = "call", id, name, argument}
//   run:request_stop(kind, by)   ends in order: "predicate", "interrupt", "operator", "terminate";
//                                `by`: who or what asks, for people; nil: the kind says it
//   run:add_event(attempt, level, text)
//                                a line in the run's record
//   run:close()                  stops what still runs
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

// Pushes the module.
int open_controller(lua_State* L);

}  // namespace rtrain
