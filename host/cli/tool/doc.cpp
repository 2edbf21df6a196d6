// rtrain doc [NAME]: shows the docstring of a function, class or method of the library, a guide, or
// search results for words. Lua (rtrain.doc) finds the docstrings and guides; LibTorch is loaded
// only for operators. --html writes all of it as a site.
#include <sys/ioctl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "host/base/text/named_text.h"
#include "host/base/text/text.h"
#include "host/bind/modules.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/colour.h"
#include "host/cli/screen/listing.h"
#include "host/dash/script_bundle.h"
#include "host/lua/convert.h"
#include "host/lua/embed.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"

namespace rtrain::cli {
namespace {

struct DocOptions {
  std::vector<std::string> words;
  std::string stubs;
  std::string html;
  bool json = false;
};

constexpr int kPipeColumns = 80;

int output_columns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                         : kPipeColumns;
}

// Returns what the pages of a site are made of, besides the modules and guides.
Map site_material() {
  const std::vector<NamedText> web = lua::embedded_web_files();
  Map files;
  for (const NamedText& file : web) {
    if (!file.name.ends_with(".js")) files.set(file.name, file.text);
  }
  files.set("site/site.js", dash::bundle_scripts(web, "site/site.js"));
  Map documents;
  for (const NamedText& document : lua::embedded_documents()) {
    documents.set(document.name, document.text);
  }
  return Map{{"web", std::move(files)}, {"documents", std::move(documents)}};
}

Map to_map(const DocOptions& options) {
  Map out{{"json", options.json}, {"columns", output_columns()}, {"colour", wants_colour()}};
  if (!options.words.empty()) out.set("name", join(options.words, " "));
  if (!options.stubs.empty()) out.set("stubs", options.stubs);
  if (!options.html.empty()) {
    out.set("html", options.html);
    out.set("material", site_material());
  }
  return out;
}

void run_doc(const DocOptions& options) {
  lua::State state;
  bind::add_host_modules(state);
  lua::push_module_function(state, "rtrain.doc", "run");
  lua::push_value(state, to_map(options));
  lua::protected_call(state, 1, 1);
  const bool writes_files = !options.stubs.empty() || !options.html.empty();
  if (options.json && !writes_files) print_json(lua::to_value(state, -1, "doc"));
}

}  // namespace

void add_doc(Parser& parser) {
  auto options = std::make_shared<DocOptions>();
  Command command =
      parser.command("doc", "Explain a function, class or module, or search for words");
  command.argument("NAME", &options->words,
                   "torch.matmul, nn.Linear, x:view, train.report, torch.optim, guide/failures, or "
                   "words to search for; without it: the modules and guides");
  command.flag("--json", &options->json, "one JSON document");
  command
      .option("--stubs", &options->stubs,
              "write declarations of the whole library for Lua language servers")
      .value_name("FOLDER");
  command
      .option("--html", &options->html,
              "write the guides, the whole library and the examples as a site: open its index.html")
      .value_name("FOLDER");
  command.action([options] { run_doc(*options); });
}

}  // namespace rtrain::cli
