#include "host/machine/processes/native_frame.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "host/base/text/text.h"

namespace rtrain::machine {
namespace {

constexpr size_t kMaxName = 120;

std::string demangled(std::string_view function) {
  int status = 0;
  char* name = abi::__cxa_demangle(std::string(function).c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 ? std::string(name) : std::string(function);
  std::free(name);
  return out;
}

std::string cut(std::string name) {
  return name.size() > kMaxName ? cat(name.substr(0, kMaxName), "…") : name;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Returns the text without the parts between balanced pairs of brackets.
std::string without(const std::string& text, char open, char close) {
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_arrow = text[i] == '>' && i > 0 && text[i - 1] == '-';
    if (text[i] == open) ++depth;
    if (depth == 0) out.push_back(text[i]);
    if (text[i] == close && !is_arrow && depth > 0) --depth;
  }
  return out;
}

std::string short_name(std::string_view function) {
  std::string name = demangled(function);
  if (name.find("operator") != std::string::npos && name.find("operator()") == std::string::npos) {
    return name.substr(0, name.find('('));
  }
  name = name.substr(0, name.find(" [clone"));
  replace_all(name, "(anonymous namespace)", "{anonymous}");
  replace_all(name, "operator()", "operator{}");
  name = without(without(name, '<', '>'), '(', ')');
  if (name.ends_with(" const")) name.resize(name.size() - 6);
  // The part before a space is the return type.
  name = name.substr(name.rfind(' ') + 1);
  replace_all(name, "::operator{}", "");
  replace_all(name, "{anonymous}::", "");
  return name;
}

constexpr std::array kPassingOn = {"c10::impl::",
                                   "c10::Dispatcher::",
                                   "c10::KernelFunction::",
                                   "c10::OperatorHandle::",
                                   "c10::detail::",
                                   "std::",
                                   "start_thread",
                                   "clone3",
                                   "__clone",
                                   "_start",
                                   "__libc_start",
                                   "main",
                                   "execute_native_thread_routine",
                                   "__restore_rt"};

}  // namespace

std::string native_frame_text(std::string_view function, std::string_view module, uint64_t offset) {
  char place[32];
  std::snprintf(place, sizeof(place), "+0x%llx", static_cast<unsigned long long>(offset));
  const std::string where = cat(module.empty() ? "?" : module, place);
  return function.empty() ? where : cat(cut(demangled(function)), " (", where, ")");
}

std::string shown_function(std::string_view function, std::string_view module) {
  if (function.empty()) return module.empty() ? "(unknown)" : cat("[", module, "]");
  const std::string name = short_name(function);
  const bool passes_on = std::ranges::any_of(kPassingOn, [&](std::string_view prefix) {
    return prefix.ends_with(':') || prefix.starts_with("__libc") ? name.starts_with(prefix)
                                                                 : name == prefix;
  });
  return passes_on ? "" : cut(name);
}

}  // namespace rtrain::machine
