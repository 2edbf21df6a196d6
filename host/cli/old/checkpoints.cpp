// rtrain checkpoints RUN [ACTION [NAME]]: the old name of `rtrain checkpoint`.
#include "host/cli/checkpoints/checkpoints.h"

#include <algorithm>
#include <array>
#include <memory>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"

namespace rtrain::cli {
namespace {

struct Action {
  const char* name;
  void (*call)(const CheckpointsOptions& options);
};

constexpr std::array kActions = {
    Action{"list", list_checkpoints}, Action{"verify", verify_checkpoints},
    Action{"export", export_checkpoint}, Action{"prune", prune_checkpoints}};

const Action* find_action(const std::string& name) {
  const auto* found = std::find_if(kActions.begin(), kActions.end(),
                                   [&](const Action& each) { return each.name == name; });
  return found == kActions.end() ? nullptr : found;
}

// RUN [ACTION [NAME]], or with the action first.
const Action& read_words(CheckpointsOptions& options, std::vector<std::string> words) {
  const bool in_front =
      words.size() > 1 && find_action(words[0]) != nullptr && find_action(words[1]) == nullptr;
  if (in_front) std::swap(words[0], words[1]);
  options.run = words[0];
  const std::string action = words.size() > 1 ? words[1] : "list";
  const Action* found = find_action(action);
  if (found == nullptr) {
    std::vector<std::string> names;
    for (const Action& each : kActions) names.emplace_back(each.name);
    throw Error(Code::kUsage, cat("checkpoints: unknown action '", action, "'",
                                  suggestion(action, names), " (", join(names, ", "), ")"));
  }
  options.action = action;
  if (words.size() > 2) options.name = words[2];
  if (words.size() > 3 || (words.size() > 2 && (action == "list" || action == "prune"))) {
    throw Error(Code::kUsage, cat("checkpoints ", action, ": unexpected '", words.back(), "'"));
  }
  return *found;
}

// Throws for an option that belongs to another action.
void check_options(const CheckpointsOptions& options) {
  const auto check = [&](bool given, const char* option, const char* action) {
    if (!given || options.action == action) return;
    throw Error(Code::kUsage, cat(option, " is for `rtrain checkpoints RUN ", action, "`"));
  };
  check(options.all, "--all", "list");
  check(!options.output.empty(), "-o", "export");
  check(options.safetensors, "--safetensors", "export");
  check(options.keep >= 0, "--keep", "prune");
  check(options.yes, "--yes", "prune");
  check(options.dry_run, "--dry-run", "prune");
  const bool of_tensors = options.action == "export" && options.safetensors;
  if (!of_tensors && !(options.file.empty() && options.part.empty())) {
    throw Error(Code::kUsage,
                "--file and --part are for `rtrain checkpoints RUN export "
                "--safetensors`");
  }
}

}  // namespace

void add_checkpoints(Parser& parser) {
  struct Parsed {
    CheckpointsOptions options;
    std::vector<std::string> words;
  };
  auto parsed = std::make_shared<Parsed>();
  CheckpointsOptions& options = parsed->options;
  Command command = parser.old_command("checkpoints", "checkpoint ls|verify|export|prune RUN");
  command
      .argument("RUN", &parsed->words,
                cat(kRunHelp,
                    "; then nothing, verify [NAME], export [NAME] or prune. NAME is a "
                    "checkpoint's, best (export without a NAME) or latest"))
      .required()
      .then_offers({.words = {"list", "verify", "export", "prune"}})
      .then_offers({.sources = {Source::kCheckpoints}});
  command.flag("--all", &options.all, "also those that were dropped");
  command.option("-o,--output", &options.output, "export: the folder to make, or the file")
      .value_name("PATH");
  command.flag("--safetensors", &options.safetensors,
               "export: the tensors of its state dict as one safetensors file");
  command.option("--file", &options.file, "of the checkpoint, where several hold tensors");
  command.option("--part", &options.part,
                 "of the file, as optimizer or parts.model; else the state dict that it is, or has "
                 "as model, model_state_dict or state_dict; else all tensors");
  command
      .option("--keep", &options.keep,
              "prune: the best N by the run's score (default 1), and the latest")
      .value_name("N")
      .at_least(0);
  command.flag("-y,--yes", &options.yes, "prune: do not ask; needed without a terminal");
  command.flag("--dry-run", &options.dry_run, "prune: say what would be removed");
  add_listing_options(command, options);
  add_wide_option(command, options);
  command.footer(
      "Keys of --json, for each checkpoint: name, path, uri (in an object store), index, attempt,\n"
      "metrics, size_bytes, created_at, status (of its validation: COMMITTED,\n"
      "PENDING_VALIDATION, VALIDATED, VALIDATION_FAILED, VALIDATION_TIMEOUT), latest, best;\n"
      "problem where the validation failed; with --all: kept, state. Of verify: name, path, "
      "files,\n"
      "size_bytes, ok, problems (file, problem). Of export: run, name, output, files; with\n"
      "--safetensors file, part, tensors, left_out. Of prune: name, path, size_bytes, best, "
      "latest,\n"
      "keep, removed. verify exits with 4 when a file differs from what was saved");
  command.action([parsed] {
    const Action& action = read_words(parsed->options, parsed->words);
    check_options(parsed->options);
    action.call(parsed->options);
  });
}

}  // namespace rtrain::cli
