// rtrain init [TEMPLATE] FOLDER: creates a folder with a training script that runs unchanged. Lua
// (rtrain.project) writes the files.
#include <algorithm>
#include <memory>

#include "host/bind/modules.h"
#include "host/cli/parser/command.h"
#include "host/lua/convert.h"
#include "host/lua/embed.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"

namespace rtrain::cli {
namespace {

struct InitOptions {
  std::string first;
  std::string second;
  std::string model;
};

// A single argument is the folder; the template has the same name if such a template exists, else
// it is "blank".
Map request_of(const InitOptions& options) {
  Map request{{"template", options.first}, {"folder", options.second}};
  if (options.second.empty()) {
    const std::vector<std::string> names = lua::embedded_templates();
    const bool is_template = std::find(names.begin(), names.end(), options.first) != names.end();
    request.set("template", is_template ? options.first : "blank");
    request.set("folder", options.first);
  }
  if (!options.model.empty()) request.set("model", options.model);
  return request;
}

void run_init(const InitOptions& options) {
  lua::State state;
  bind::add_host_modules(state);
  lua::push_module_function(state, "rtrain.project", "run");
  lua::push_value(state, request_of(options));
  lua::protected_call(state, 1, 0);
}

}  // namespace

void add_init(Parser& parser) {
  auto options = std::make_shared<InitOptions>();
  Command command = parser.command(
      "init", "Make a folder with a training script that runs as it is: rtrain init mnist hello");
  command
      .argument(
          "TEMPLATE", &options->first,
          "mnist, cifar, tabular, gpt, pretrain, finetune or blank; may be left out: blank, or "
          "the folder's name where that is a template")
      .required()
      .offers({.sources = {Source::kFolders}, .words = lua::embedded_templates()});
  command.argument("FOLDER", &options->second,
                   "where to; it may exist, without files of these names");
  command
      .option("--model", &options->model,
              "for finetune: the folder of the language model, with config.json and its tokenizer")
      .value_name("FOLDER")
      .offers({.sources = {Source::kFolders}});
  command.footer(
      "mnist    a convolutional network on grey images, training loop and checkpoints\n"
      "cifar    a convolutional network on coloured images, with train.loop and augmentation\n"
      "tabular  a small network on the rows of a table, with rtrain.data\n"
      "gpt      a small GPT on characters\n"
      "pretrain a GPT-2 of 124M parameters from random weights, on your text\n"
      "finetune adapters (LoRA) or all weights of a language model, on questions and answers\n"
      "blank    two layers on data that is made in the script, to begin with\n"
      "None needs a download: without MNIST or CIFAR-10 in $RTRAIN_DATA, shapes are drawn.");
  command.action([options] { run_init(*options); });
}

}  // namespace rtrain::cli
