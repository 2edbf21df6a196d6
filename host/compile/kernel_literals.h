// host/compile/kernel_literals.h: numbers and types of a region, as text of CUDA C++.
#pragma once

#include <string>

#include "host/compile/region.h"

namespace rtrain::compile {

std::string constant_text(float value);
const char* type_text(Type type);
// A float as a number of the type, for memory.
std::string stored_text(Type type, const std::string& value);

}  // namespace rtrain::compile
