#include "host/store/upkeep/run_tag.h"

#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

constexpr size_t kMaxBytes = 100;

}  // namespace

std::string tag_problem(std::string_view tag) {
  if (tag.empty()) return "it is empty";
  if (tag.size() > kMaxBytes) {
    return cat("it has ", tag.size(), " bytes, ", kMaxBytes, " are allowed");
  }
  if (tag.find(',') != std::string_view::npos) return "it has a ','";
  if (terminal_line(tag) != tag) {
    return "it has a line break, another control character, or bytes that are not UTF-8";
  }
  return tag.front() == ' ' || tag.back() == ' ' ? "a space is its first or last character" : "";
}

}  // namespace rtrain::store
