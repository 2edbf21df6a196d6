#include "host/engine/runtime/line_range.h"

#include "host/base/text/text.h"
#include "host/base/users_line.h"
#include "host/engine/runtime/ranges.h"
#include "host/pages/progress_page.h"

namespace rtrain::engine {

std::string lua_line(lua_State* L) {
  lua_Debug info;
  for (int level = 0; lua_getstack(L, level, &info) != 0; ++level) {
    if (lua_getinfo(L, "Sl", &info) == 0 || info.currentline < 0) continue;
    std::string line = cat(info.short_src, ":", info.currentline);
    if (is_users_line(line)) return line;
  }
  return {};
}

void LineRange::begin(const std::string& line) {
  if (!line.empty()) range_ = new ProfileRange(cat(kLinePrefix, line));
}

void LineRange::end() { delete range_; }

}  // namespace rtrain::engine
