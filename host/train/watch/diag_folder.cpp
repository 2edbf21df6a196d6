#include "host/train/watch/diag_folder.h"

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::train {

std::string DiagFolder::name(int64_t unix_ms, int attempt) {
  std::string out;
  for (const char c : time_text(unix_ms)) {
    if (c == 'T') out += '-';
    if ((c >= '0' && c <= '9') || c == '.') out += c;
  }
  return cat(out, "-attempt-", attempt);
}

void DiagFolder::write(const std::string& folder,
                       const std::vector<std::pair<std::string, std::string>>& files) {
  store::make_folders(folder);
  for (const auto& [name, text] : files) {
    store::replace_text(cat(folder, "/", name), text);
  }
}

}  // namespace rtrain::train
