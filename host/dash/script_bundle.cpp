#include "host/dash/script_bundle.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::dash {
namespace {

Error wrong(const std::string& file, std::string_view line) {
  return Error(Code::kInternal, cat("web/", file, " cannot be put into one file: ", line));
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Import {
  std::string names;  // "{a, b}"
  std::string path;   // "./x.js", "../folder/x.js"
};

// Parses "import {a, b} from '../folder/x.js';".
std::optional<Import> parse_import(std::string_view line) {
  constexpr std::string_view kBegin = "import {";
  constexpr std::string_view kMiddle = "} from '";
  constexpr std::string_view kEnd = "';";
  const size_t middle = line.find(kMiddle);
  if (!line.starts_with(kBegin) || !line.ends_with(kEnd) || middle == std::string_view::npos) {
    return std::nullopt;
  }
  const size_t names = kBegin.size() - 1;
  const size_t file = middle + kMiddle.size();
  return Import{.names = std::string(line.substr(names, middle + 1 - names)),
                .path = std::string(line.substr(file, line.size() - kEnd.size() - file))};
}

// Returns the name of the file that `name` imports by this path.
std::string imported_name(const std::string& name, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(name).parent_path();
  return (folder / path).lexically_normal().generic_string();
}

// Returns x of "export const x = …" and "export class x …"; "" for any other line.
std::string exported_name(std::string_view line) {
  for (const std::string_view begin : {"export const ", "export class "}) {
    if (!line.starts_with(begin)) continue;
    const std::string_view rest = line.substr(begin.size());
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_word);
    return {rest.begin(), end};
  }
  return {};
}

// Knows which lines of a file are comments as a whole.
class CommentLines {
 public:
  // REQUIRES: called with each line of the file in turn.
  bool has(std::string_view line) {
    const std::string_view text = trim(line);
    if (!is_open_ && !text.starts_with("/**")) return text.starts_with("//");
    const size_t end = text.find("*/");
    is_open_ = end == std::string_view::npos;
    return is_open_ || end + 2 == text.size();
  }

 private:
  bool is_open_ = false;
};

class Bundle {
 public:
  explicit Bundle(std::span<const NamedText> files) : files_(files) {}

  void add(const std::string& name) {
    const auto state = states_.find(name);
    if (state != states_.end()) {
      if (state->second == State::kOpen) throw wrong(name, "it imports itself");
      return;
    }
    states_[name] = State::kOpen;
    const std::string body = body_of(file(name));
    out_ += body;
    states_[name] = State::kDone;
  }

  std::string text() && { return std::move(out_); }

 private:
  enum class State { kOpen, kDone };

  const NamedText& file(const std::string& name) const {
    const auto found = std::find_if(files_.begin(), files_.end(),
                                    [&](const NamedText& each) { return each.name == name; });
    if (found == files_.end()) throw wrong(name, "it is not there");
    return *found;
  }

  // Returns the line as a statement of a function. Adds its imports, and notes its exports.
  std::string statement(const std::string& name, const std::string& line,
                        std::vector<std::string>& exports) {
    if (line.find("</script") != std::string::npos || line.find("<!--") != std::string::npos) {
      throw wrong(name, line);
    }
    if (line.starts_with("import ")) {
      const auto import = parse_import(line);
      if (!import) throw wrong(name, line);
      const std::string imported = imported_name(name, import->path);
      add(imported);
      return cat("const ", import->names, " = modules['", imported, "'];");
    }
    if (!line.starts_with("export ")) return line;
    const std::string exported = exported_name(line);
    if (exported.empty()) throw wrong(name, line);
    exports.push_back(exported);
    return line.substr(std::string_view("export ").size());
  }

  std::string body_of(const NamedText& file) {
    std::string body;
    std::vector<std::string> exports;
    CommentLines comments;
    for (const std::string& line : split(file.text, '\n')) {
      if (comments.has(line)) continue;
      body += statement(file.name, line, exports);
      body += '\n';
    }
    return cat("modules['", file.name, "'] = (() => {\n", body, "return {", join(exports, ", "),
               "};\n})();\n");
  }

  std::span<const NamedText> files_;
  std::map<std::string, State> states_;
  std::string out_;
};

}  // namespace

std::string bundle_scripts(std::span<const NamedText> files, const std::string& first) {
  Bundle bundle(files);
  bundle.add(first);
  return cat("'use strict';\nconst modules = {};\n", std::move(bundle).text());
}

}  // namespace rtrain::dash
