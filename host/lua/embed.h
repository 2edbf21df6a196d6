// host/lua/embed.h: the Lua modules, the guides, the templates and the licences inside the
// executable.
//
// Their chunk names begin with "@rtrain://" even if RTRAIN_PATH takes their text from a folder, so
// that error positions and tracebacks tell the library's frames from the user's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/text/named_text.h"

namespace rtrain::lua {

inline constexpr std::string_view kLibraryPrefix = "@rtrain://";

inline bool is_library_source(std::string_view source) {
  return source.starts_with(kLibraryPrefix);
}

struct EmbeddedFile {
  const char* name;  // relative path below modules/: "torch/nn/init.lua"
  const unsigned char* begin;
  const unsigned char* end;
};

// The text of the module ("torch.nn" → torch/nn.lua or torch/nn/init.lua) and its path. The text
// comes from $RTRAIN_PATH if that folder has the module.
struct ModuleText {
  std::string path;
  std::string text;
};
std::optional<ModuleText> find_module(std::string_view name);

// The names of all embedded modules and of those in $RTRAIN_PATH, sorted.
std::vector<std::string> embedded_modules();

// The text of the guide ("failures" → rtrain/guide/failures.md), from $RTRAIN_PATH if it is there.
std::optional<std::string> find_guide(std::string_view name);

// The names of all guides, sorted.
std::vector<std::string> embedded_guides();

// The script that `rtrain init` writes for the name ("mnist" → templates/mnist.lua).
std::optional<std::string> find_template(std::string_view name);

// The names of all templates, sorted.
std::vector<std::string> embedded_templates();

// The examples, and the documents that are not guides: paths below the root of the source tree,
// "examples/hello.lua", "CHANGELOG.md".
std::vector<NamedText> embedded_documents();

// The files of the Python package, paths below python/.
std::vector<NamedText> embedded_python();

// The files of the dashboard and of `rtrain doc --html`: "index.html", "chart/axis.js".
std::vector<NamedText> embedded_web_files();

// LICENSE, NOTICE, then the licence of each Debian package that NOTICE names ("libuv1-dev"), in
// NOTICE's order.
std::vector<NamedText> embedded_notices();

}  // namespace rtrain::lua
