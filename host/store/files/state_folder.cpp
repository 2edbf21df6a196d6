#include "host/store/files/state_folder.h"

#include <cstdlib>

#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::store {

std::string state_folder() {
  const char* set = std::getenv("XDG_STATE_HOME");
  const bool is_set = set != nullptr && set[0] == '/';
  return cat(is_set ? set : absolute_path("~/.local/state"), "/rtrain");
}

}  // namespace rtrain::store
