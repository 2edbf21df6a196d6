// host/base/address_limit.h: the limit of a process's addresses, `ulimit -v`, in words.
#pragma once

#include <string>

namespace rtrain {

// " (`ulimit -v` allows a process 450000 KiB of addresses)"; empty where there is no limit.
std::string address_limit_text();

}  // namespace rtrain
