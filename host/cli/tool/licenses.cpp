#include "host/cli/tool/licenses.h"

#include "host/base/text/text.h"
#include "host/lua/embed.h"

namespace rtrain::cli {

std::string licenses_text() {
  constexpr size_t kWidth = 100;
  std::string out = "rtrain " RTRAIN_VERSION "\n";
  for (const NamedText& notice : lua::embedded_notices()) {
    const std::string head = cat("---- ", notice.name, " ");
    out += cat("\n", head, std::string(kWidth - head.size(), '-'), "\n\n", notice.text);
  }
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace rtrain::cli
