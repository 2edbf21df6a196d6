#include "host/engine/runtime/ranges.h"

#include <memory>
#include <vector>

namespace rtrain::engine {
namespace {

thread_local std::vector<std::unique_ptr<ProfileRange>> pushed;

}  // namespace

std::string trace_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c == '"') c = '\'';
    if (c == '\\') c = '/';
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return out;
}

// Without a recording, a range only takes a place on the stack of ranges.
void push_range(const char* name) {
  const bool is_wanted = at::hasCallbacks();
  pushed.push_back(is_wanted ? std::make_unique<ProfileRange>(name) : nullptr);
}

void pop_range() {
  if (!pushed.empty()) pushed.pop_back();
}

}  // namespace rtrain::engine
