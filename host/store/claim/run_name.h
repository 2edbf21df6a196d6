// host/store/claim/run_name.h: what a run may be called: its name is that of its folder in the
// store. Pure.
#pragma once

#include <string>

namespace rtrain {

// What keeps a text from being a run's name, for a message; empty: nothing.
std::string run_name_problem(const std::string& name);

}  // namespace rtrain
