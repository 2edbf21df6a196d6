// host/store/upkeep/run_tag.h: which strings are valid tags.
#pragma once

#include <string>
#include <string_view>

namespace rtrain::store {

// Why the string cannot be a tag; "" if it can.
std::string tag_problem(std::string_view tag);

}  // namespace rtrain::store
