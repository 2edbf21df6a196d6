// host/store/upkeep/run_tag.h: which texts can be tags of runs.
#pragma once

#include <string>
#include <string_view>

namespace rtrain {

// Why no run can have that tag; empty when one can.
std::string tag_problem(std::string_view tag);

}  // namespace rtrain
