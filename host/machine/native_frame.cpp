#include "host/machine/native_frame.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>

#include "host/base/text.h"

namespace rtrain {
namespace {

constexpr size_t kMaxName = 120;

std::string demangled(std::string_view function) {
  int status = 0;
  char* name = abi::__cxa_demangle(std::string(function).c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 ? std::string(name) : std::string(function);
  std::free(name);
  if (out.size() > kMaxName) out = cat(out.substr(0, kMaxName), "…");
  return out;
}

}  // namespace

std::string native_frame_text(std::string_view function, std::string_view module, uint64_t offset) {
  char place[32];
  std::snprintf(place, sizeof(place), "+0x%llx", static_cast<unsigned long long>(offset));
  const std::string where = cat(module.empty() ? "?" : module, place);
  return function.empty() ? where : cat(demangled(function), " (", where, ")");
}

}  // namespace rtrain
