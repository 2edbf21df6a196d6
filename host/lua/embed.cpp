#include "host/lua/embed.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>

#include "host/base/text/text.h"

// Generated at build time: packaging/cmake/Embed.cmake.
extern const rtrain::lua::EmbeddedFile rtrain_embedded_files[];
extern const unsigned long rtrain_embedded_count;

namespace rtrain::lua {
namespace {

constexpr std::string_view kSuffix = ".lua";
constexpr std::string_view kInit = "/init";
constexpr std::string_view kGuides = "rtrain/guide/";
constexpr std::string_view kGuideSuffix = ".md";
constexpr std::string_view kTemplates = "templates/";
constexpr std::string_view kDocuments = "documents/";
constexpr std::string_view kPython = "python/";
constexpr std::string_view kPages = "web/";
constexpr std::string_view kNotices = "notices/";

// Templates that are examples.
struct ExampleTemplate {
  std::string_view name;
  std::string_view document;
};
constexpr ExampleTemplate kExampleTemplates[] = {
    {"finetune", "examples/llama_lora.lua"},
    {"pretrain", "examples/gpt2_pretrain.lua"},
};

std::span<const EmbeddedFile> files() { return {rtrain_embedded_files, rtrain_embedded_count}; }

std::optional<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

const char* module_folder() {
  const char* folder = std::getenv("RTRAIN_PATH");
  return folder != nullptr && *folder != '\0' ? folder : nullptr;
}

// Returns the embedded files with this ending and those in $RTRAIN_PATH: "torch/nn/init.lua".
// Templates and documents, which are not modules, are left out.
std::set<std::string> paths_ending_in(std::string_view suffix) {
  std::set<std::string> out;
  for (const EmbeddedFile& file : files()) {
    const std::string_view name = file.name;
    const bool is_other = name.starts_with(kTemplates) || name.starts_with(kDocuments);
    if (name.ends_with(suffix) && !is_other) out.insert(file.name);
  }
  const char* folder = module_folder();
  if (folder == nullptr || !std::filesystem::is_directory(folder)) return out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == suffix)
      out.insert(std::filesystem::relative(entry.path(), folder).generic_string());
  }
  return out;
}

std::string text_in(const EmbeddedFile& file) {
  return std::string(reinterpret_cast<const char*>(file.begin),
                     static_cast<size_t>(file.end - file.begin));
}

std::optional<std::string> text_of(const std::string& path) {
  if (const char* folder = module_folder()) {
    if (auto text = read_text(std::string(folder) + "/" + path)) return text;
  }
  for (const EmbeddedFile& file : files()) {
    if (path == file.name) return text_in(file);
  }
  return std::nullopt;
}

// Returns embedded files in the order in which the build put them there; ignores RTRAIN_PATH.
std::vector<NamedText> files_below(std::string_view folder) {
  std::vector<NamedText> out;
  for (const EmbeddedFile& file : files()) {
    const std::string_view name = file.name;
    if (!name.starts_with(folder)) continue;
    out.push_back({.name = std::string(name.substr(folder.size())), .text = text_in(file)});
  }
  return out;
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
  const std::set<std::string> paths = paths_ending_in(kSuffix);
  std::set<std::string> out;
  for (const std::string& path : paths) {
    std::string name = path.substr(0, path.size() - kSuffix.size());
    // torch/nn/init.lua, if it exists next to torch/nn.lua, is torch.nn.init.
    if (name.ends_with(kInit)) {
      const std::string folder = name.substr(0, name.size() - kInit.size());
      if (!paths.contains(cat(folder, kSuffix))) name = folder;
    }
    std::replace(name.begin(), name.end(), '/', '.');
    out.insert(std::move(name));
  }
  return {out.begin(), out.end()};
}

std::optional<std::string> find_guide(std::string_view name) {
  return text_of(cat(kGuides, name, kGuideSuffix));
}

std::vector<std::string> embedded_guides() {
  std::vector<std::string> out;
  for (const std::string& path : paths_ending_in(kGuideSuffix)) {
    if (path.starts_with(kGuides))
      out.push_back(
          path.substr(kGuides.size(), path.size() - kGuides.size() - kGuideSuffix.size()));
  }
  return out;
}

std::optional<std::string> find_template(std::string_view name) {
  for (const ExampleTemplate& example : kExampleTemplates) {
    if (name == example.name) return text_of(cat(kDocuments, example.document));
  }
  return text_of(cat(kTemplates, name, kSuffix));
}

std::vector<std::string> embedded_templates() {
  std::vector<std::string> out;
  for (const ExampleTemplate& example : kExampleTemplates) out.emplace_back(example.name);
  for (const EmbeddedFile& file : files()) {
    const std::string_view name = file.name;
    if (!name.starts_with(kTemplates)) continue;
    out.emplace_back(
        name.substr(kTemplates.size(), name.size() - kTemplates.size() - kSuffix.size()));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<NamedText> embedded_documents() { return files_below(kDocuments); }

std::vector<NamedText> embedded_python() { return files_below(kPython); }

std::vector<NamedText> embedded_web_files() { return files_below(kPages); }

std::vector<NamedText> embedded_notices() { return files_below(kNotices); }

}  // namespace rtrain::lua
