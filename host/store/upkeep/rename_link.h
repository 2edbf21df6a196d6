// host/store/upkeep/rename_link.h: the link by which a run's new name leads to its folder while the
// run is being renamed.
#pragma once

#include <string>

namespace rtrain {

// Makes the link `path` to the folder of that name next to it. False, with errno, where it cannot
// be made.
bool make_rename_link(const std::string& path, const std::string& folder);
// Whether that is one that make_rename_link has made: nobody else writes its target in that form.
bool is_rename_link(const std::string& path);
// The name in the same folder that a link leads to, whoever has made it; empty for any other path.
std::string link_target(const std::string& path);

}  // namespace rtrain
