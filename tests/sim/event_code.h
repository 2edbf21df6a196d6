// tests/sim/event_code.h: writes an event of the run's state machine as C++ for a unit test.
#pragma once

#include <string>

#include "host/decide/run/state_machine.h"

namespace rtrain::sim {

// Returns for example "event::Returned{1}".
std::string to_code(const decide::Event& event);

}  // namespace rtrain::sim
