// host/cli/machine/variables.h: the environment variables that rtrain reads: one list for the
// command `rtrain env --variables` and for the guide that is generated from it (scripts/documents).
//
// Every RTRAIN_ name in host/ and modules/ stands in it, and every variable of another program
// whose name is read as a literal: tests/e2e/test_variables.py compares.
#pragma once

#include <span>
#include <string_view>

namespace rtrain {

struct Variable {
  std::string_view group;
  std::string_view name;
  std::string_view otherwise;  // what holds where it is not set; "" for nothing
  std::string_view meaning;
};

// In the order in which they are shown: those of one group together.
std::span<const Variable> variables();

}  // namespace rtrain
