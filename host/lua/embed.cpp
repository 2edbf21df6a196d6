#include "host/lua/embed.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>

// Generated at build time: cmake/embed.cmake.
extern const rtrain::EmbeddedFile rtrain_embedded_files[];
extern const unsigned long rtrain_embedded_count;

namespace rtrain {
namespace {

std::span<const EmbeddedFile> files() { return {rtrain_embedded_files, rtrain_embedded_count}; }

std::optional<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::optional<std::string> text_of(const std::string& path) {
  if (const char* folder = std::getenv("RTRAIN_PATH"); folder != nullptr && *folder != '\0') {
    if (auto text = read_text(std::string(folder) + "/" + path)) return text;
  }
  for (const EmbeddedFile& file : files()) {
    if (path == file.name) {
      return std::string(reinterpret_cast<const char*>(file.begin),
                         static_cast<size_t>(file.end - file.begin));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ModuleText> find_module(std::string_view name) {
  std::string path(name);
  std::replace(path.begin(), path.end(), '.', '/');
  for (const std::string& candidate : {path + ".lua", path + "/init.lua"}) {
    if (auto text = text_of(candidate)) return ModuleText{candidate, std::move(*text)};
  }
  return std::nullopt;
}

std::vector<std::string> embedded_modules() {
  std::vector<std::string> out;
  for (const EmbeddedFile& file : files()) {
    std::string name = file.name;
    name.resize(name.size() - std::string_view(".lua").size());
    if (name.ends_with("/init")) name.resize(name.size() - std::string_view("/init").size());
    std::replace(name.begin(), name.end(), '/', '.');
    out.push_back(std::move(name));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace rtrain
