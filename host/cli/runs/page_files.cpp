#include "host/cli/runs/page_files.h"

#include <string_view>

#include "host/base/text/text.h"
#include "host/dash/script_bundle.h"
#include "host/lua/embed.h"

namespace rtrain::cli {
namespace {

constexpr const char* kScript = "main.js";
constexpr std::string_view kSite = "site/";  // of rtrain doc --html

std::string type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return http::kJsonType;
}

}  // namespace

std::vector<dash::PageFile> page_files() {
  std::vector<dash::PageFile> out;
  const std::vector<NamedText> files = lua::embedded_web_files();
  for (const NamedText& page : files) {
    if (page.name.starts_with(kSite)) continue;
    const bool is_script = page.name.ends_with(".js");
    if (is_script && page.name != kScript) continue;
    const bool is_first = page.name == "index.html";
    out.push_back({.path = is_first ? "/" : cat("/", page.name),
                   .type = type_of(page.name),
                   .bytes = is_script ? dash::bundle_scripts(files, kScript) : page.text});
  }
  return out;
}

}  // namespace rtrain::cli
