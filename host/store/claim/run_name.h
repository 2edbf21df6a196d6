// host/store/claim/run_name.h: valid names of runs. The name is also that of the run's folder in
// the store. Pure.
#pragma once

#include <string>
#include <string_view>

namespace rtrain::store {

// Commands call the best run of a metric `best:METRIC`.
inline constexpr std::string_view kBestOf = "best:";

// Why the text cannot be a run's name, for a message; "" if it can.
std::string run_name_problem(const std::string& name);

}  // namespace rtrain::store
