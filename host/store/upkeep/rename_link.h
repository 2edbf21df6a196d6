// host/store/upkeep/rename_link.h: the link from a run's new name to its folder while the run is
// being renamed.
#pragma once

#include <string>

namespace rtrain::store {

// Creates the link `path` to the folder of that name next to it. Returns false and sets errno on
// failure.
bool make_rename_link(const std::string& path, const std::string& folder);
// Whether make_rename_link has created the link: no other program writes targets in its form.
bool is_rename_link(const std::string& path);
// The name in the same folder that a link points to, whoever created it; empty for any other path.
std::string link_target(const std::string& path);

}  // namespace rtrain::store
