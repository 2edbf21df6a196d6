// host/base/random.h: random bytes from the kernel, for keys and unique names.
#pragma once

#include <cstddef>
#include <string>

namespace rtrain {

std::string random_bytes(size_t count);

// Returns that many lower-case hexadecimal digits.
std::string random_hex(int digits);

}  // namespace rtrain
