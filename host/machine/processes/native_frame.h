// host/machine/processes/native_frame.h: a native frame as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rtrain::machine {

// Formats "at::native::add(…) (libtorch_cpu.so+0x1f20)"; the function is mangled or empty.
std::string native_frame_text(std::string_view function, std::string_view module, uint64_t offset);

// Returns the name for a profile, without arguments, template arguments and return type; "" for a
// function that only passes a call on: the dispatcher's, and a thread's first ones. For an unknown
// function, returns the module in brackets.
std::string shown_function(std::string_view function, std::string_view module);

}  // namespace rtrain::machine
