// rtrain edit RUN…: changes tags, note, name or archiving of runs.
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/store/upkeep/run_editor.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  std::vector<std::string> runs;
  std::vector<std::string> added;
  std::vector<std::string> removed;
  std::optional<std::string> note;
  std::optional<std::string> line;
  std::optional<std::string> name;
  bool archive = false;
  bool unarchive = false;

  bool changes_tags() const { return !added.empty() || !removed.empty(); }
  bool changes_something() const {
    return changes_tags() || note || line || name || archive || unarchive;
  }
};

void change(store::RunEditor& editor, const store::RunRef& run, const Options& options) {
  if (options.changes_tags()) editor.change_tags(run, options.added, options.removed);
  if (options.note) editor.set_note(run, *options.note);
  if (options.line) editor.append_note(run, *options.line);
  if (options.archive || options.unarchive) editor.set_archived(run, options.archive);
}

Map row_of(store::RunEditor& editor, const store::RunRef& run, const Options& options) {
  const std::vector<std::string> tags = editor.tags(run);
  Map row{{"name", run.name},
          {"run_id", run.run_id},
          {"tags", List(tags.begin(), tags.end())},
          {"note", editor.note(run)}};
  if (options.archive || options.unarchive) row.set("archived", options.archive);
  if (options.name) {
    row.set("name", *options.name);
    row.set("old_name", run.name);
    row.set("path", cat(options.storage_path(), "/", *options.name));
  }
  return row;
}

void print_changes(const Map& row, const Options& options) {
  const Value run = row;
  std::cerr << "run " << run["name"].as_string() << ":";
  std::vector<std::string> parts;
  if (options.changes_tags()) {
    std::vector<std::string> tags;
    for (const Value& tag : run["tags"].as_list()) tags.push_back(tag.as_string());
    parts.push_back(tags.empty() ? "no tags" : cat("tags ", join(tags, ", ")));
  }
  if (options.note || options.line) {
    parts.emplace_back(run["note"].as_string().empty() ? "no note" : "noted");
  }
  if (options.archive) parts.emplace_back("archived");
  if (options.unarchive) parts.emplace_back("listed again");
  if (options.name) {
    parts.push_back(
        cat("was ", run["old_name"].as_string(), ", its folder is ", run["path"].as_string()));
  }
  std::cerr << " " << join(parts, "; ") << "\n";
}

void edit(const Options& options) {
  if (!options.changes_something()) {
    throw Error(Code::kUsage,
                "edit: nothing to change: give --tag, --untag, --note, --append-note, --name, "
                "--archive or --unarchive (`rtrain show RUN` prints what there is)");
  }
  const std::vector<store::RunRef> runs = options.find_runs(options.runs);
  if (options.name && runs.size() != 1) {
    throw Error(Code::kUsage,
                cat("edit --name: one run can have the name, ", runs.size(), " are given"));
  }
  store::RunEditor editor(options.storage_path());
  // Checks everything that can be refused first, so that an error changes nothing.
  for (const store::RunRef& run : runs) editor.check_has_tags(run, options.removed);
  if (options.name) editor.rename(runs.front(), *options.name);
  List rows;
  for (const store::RunRef& run : runs) {
    change(editor, run, options);
    rows.emplace_back(row_of(editor, run, options));
  }
  if (options.for_programs()) return options.print(rows);
  for (const Value& row : rows) print_changes(row.as_map(), options);
}

}  // namespace

void add_edit(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command =
      parser.command("edit", "Change the tags, the note or the name of runs, or archive them");
  add_runs_argument(command, options->runs).required();
  command.option("--tag", &options->added, "add this tag")
      .value_name("TAG")
      .repeatable()
      .check(&new_tag_error);
  command.option("--untag", &options->removed, "remove this tag").value_name("TAG").repeatable();
  Option note = command.option("--note", &options->note, "the note; \"\" removes it");
  note.value_name("TEXT");
  command.option("--append-note", &options->line, "another line of the note")
      .value_name("TEXT")
      .excludes(note);
  command.option("--name", &options->name, "another name, for the folder too; of one run")
      .value_name("NAME");
  Option archive = command.flag("--archive", &options->archive,
                                "hide them from `rtrain ls` without --all; nothing is removed");
  command.flag("--unarchive", &options->unarchive, "list them again").excludes(archive);
  add_listing_options(command, *options);
  command.footer(
      "`rtrain ls --tag TAG` lists the runs that have a tag. Archived runs are never meant by\n"
      "'last' and best:. A live run, one that waits in a queue and one in an object store keep\n"
      "their names.\n"
      "Keys of --json, for each run: name, run_id, tags, note; with --archive or --unarchive\n"
      "archived; with --name old_name, path");
  command.action([options] { edit(*options); });
}

}  // namespace rtrain::cli
