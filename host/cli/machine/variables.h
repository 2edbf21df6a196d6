// host/cli/machine/variables.h: the environment variables that rtrain reads: one list for the
// command `rtrain env --variables` and for the generated guide (scripts/documents).
//
// It must have every RTRAIN_ name in host/ and modules/, and every variable of another program that
// is read by a literal name: tests/e2e/cli/test_variables.py compares.
#pragma once

#include <span>
#include <string_view>

namespace rtrain::cli {

struct Variable {
  std::string_view group;
  std::string_view name;
  std::string_view otherwise;  // value if it is not set; "" for none
  std::string_view meaning;
};

// In the order of the output; variables of a group are consecutive.
std::span<const Variable> variables();

}  // namespace rtrain::cli
