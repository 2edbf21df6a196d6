// rtrain note: the old name of `rtrain edit --note`.
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
  std::optional<std::string> text;
  bool append = false;
};

void note_run(const Options& options) {
  if (options.append && !options.text) throw Error(Code::kUsage, "note --append: give a TEXT");
  const store::RunRef run = options.open_run().ref;
  store::RunEditor editor(options.storage_path());
  std::string note;
  if (!options.text) {
    note = editor.note(run);
  } else if (options.append) {
    note = editor.append_note(run, *options.text);
  } else {
    note = *options.text;
    editor.set_note(run, note);
  }
  if (options.for_programs()) {
    return options.print(Map{{"name", run.name}, {"run_id", run.run_id}, {"note", note}});
  }
  if (!options.text && !note.empty()) std::cout << note << "\n";
}

}  // namespace

void add_note(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.old_command("note", "edit RUN --note TEXT");
  add_run_argument(command, *options);
  command.argument("TEXT", &options->text,
                   "the note; \"\" removes it, without TEXT the run's note is printed");
  command.flag("--append", &options->append, "as another line of the note that is there");
  add_listing_options(command, *options);
  command.footer("Keys of --json: name, run_id, note");
  command.action([options] { note_run(*options); });
}

}  // namespace rtrain::cli
