// rtrain diff A B: compares two runs: config, code, environment, metrics.
#include <algorithm>
#include <iostream>
#include <memory>

#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/base/text/text_width.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/colour.h"
#include "host/cli/screen/listing.h"
#include "host/store/read/run_comparison.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  std::string a;
  std::string b;
};

std::string cell(const Value& value) {
  return value.is_nil() ? "–" : terminal_cell(human_number(value));
}

std::string delta_text(const Value& delta) {
  if (delta.is_nil() || delta.as_float() == 0) return "";
  return cat(delta.as_float() > 0 ? "+" : "", human_number(delta));
}

class DiffPrinter {
 public:
  DiffPrinter(const Value& document, size_t width)
      : document_(document), width_(width), colours_(wants_colour()) {}

  void print() {
    std::cout << red("- ", document_["a"]["name"].as_string()) << "\n"
              << green("+ ", document_["b"]["name"].as_string()) << "\n";
    print_pairs("config");
    print_pairs("scaling");
    print_code();
    print_pairs("environment");
    print_metrics();
    if (!same_.empty()) std::cout << "\nthe same: " << join(same_, ", ") << "\n";
  }

 private:
  std::string painted(const char* colour, std::string_view text) const {
    return colours_ ? cat("\x1b[", colour, "m", text, "\x1b[0m") : std::string(text);
  }
  std::string red(std::string_view sign, std::string_view text) const {
    return painted("31", cat(sign, text));
  }
  std::string green(std::string_view sign, std::string_view text) const {
    return painted("32", cat(sign, text));
  }

  void print_pairs(const char* section) {
    const Map& rows = document_[section].as_map();
    if (rows.empty()) return same_.emplace_back(section), void();
    std::cout << "\n" << section << "\n";
    size_t width = 0;
    for (const auto& row : rows)
      width = std::max(width, text_width(terminal_cell(std::get<std::string>(row.first))));
    for (const auto& [key, both] : rows) {
      const std::string name = terminal_cell(std::get<std::string>(key));
      std::cout << "  " << name << std::string(width - text_width(name) + 2, ' ')
                << red("", cell(both["a"])) << " → " << green("", cell(both["b"])) << "\n";
    }
  }

  void print_code() {
    const Value& code = document_["code"];
    const List& files = code["files"].as_list();
    const Value& commit = code["git_commit"];
    const Value& dirty = code["git_dirty"];
    if (files.empty() && commit.is_nil() && dirty.is_nil())
      return same_.emplace_back("code"), void();
    std::cout << "\ncode\n";
    if (!commit.is_nil()) {
      std::cout << "  commit  " << red("", cell(commit["a"])) << " → "
                << green("", cell(commit["b"])) << "\n";
    }
    if (!dirty.is_nil()) print_dirty(dirty);
    for (const Value& file : files) {
      for (const std::string& line : split(trim(file["diff"].as_string()), '\n')) {
        std::cout << "  " << painted_line(terminal_text(line)) << "\n";
      }
    }
  }

  void print_dirty(const Value& dirty) {
    constexpr std::string_view kChanges = "changes since the commit";
    if (dirty["a"] == Value(true)) std::cout << "  " << red("- ", kChanges) << "\n";
    if (dirty["b"] == Value(true)) std::cout << "  " << green("+ ", kChanges) << "\n";
  }

  std::string painted_line(const std::string& line) const {
    if (line.starts_with("@@")) return painted("36", line);
    if (line.starts_with("-")) return painted("31", line);
    return line.starts_with("+") ? painted("32", line) : line;
  }

  void print_metrics() {
    const Map& rows = document_["metrics"].as_map();
    if (rows.empty()) return;
    std::vector<std::vector<std::string>> cells;
    for (const auto& [key, both] : rows) {
      cells.push_back({brief_name(std::get<std::string>(key)), brief_value(cell(both["a"])),
                       brief_value(cell(both["b"])), delta_text(both["delta"])});
    }
    std::cout << "\n";
    print_table({{.header = "METRIC", .key = true},
                 {document_["a"]["name"].as_string(), true},
                 {document_["b"]["name"].as_string(), true},
                 {"CHANGE", true}},
                cells, width_);
  }

  const Value& document_;
  size_t width_;
  bool colours_;
  std::vector<std::string> same_;
};

}  // namespace

void add_diff(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command =
      parser.command("diff", "Compare two runs: config, code, environment, last metrics");
  command.argument("A", &options->a, kRunHelp).required().offers({.sources = {Source::kRuns}});
  command.argument("B", &options->b, "the same").required().offers({.sources = {Source::kRuns}});
  add_listing_options(command, *options);
  add_wide_option(command, *options);
  command.footer(
      "Code is the script with its modules as they were when the run began, the commit, and what\n"
      "had been changed since it.\n"
      "Keys of --json: a and b (name, run_id); config, scaling and environment: of each key that\n"
      "differs a and b; code: git_commit where it differs, git_dirty where the changes since it do "
      "or\n"
      "may, files (kind: script, module or diff, path, diff); metrics: of each a, b, delta");
  command.action([options] {
    store::OpenRun a = store::open_run(options->storage_path(), options->a);
    const Value document = store::compare_runs(a.store, a.ref, a.store.find(options->b));
    if (options->for_programs()) return options->print(document);
    DiffPrinter(document, options->width()).print();
  });
}

}  // namespace rtrain::cli
