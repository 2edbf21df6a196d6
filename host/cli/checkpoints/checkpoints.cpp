// rtrain checkpoint ls|verify|export|prune RUN: the checkpoints of a run.
#include "host/cli/checkpoints/checkpoints.h"

#include <algorithm>
#include <cctype>
#include <memory>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/store/read/checkpoint_rows.h"

namespace rtrain::cli {
namespace {

// Returns for example "best latest", "missing" or "validation failed".
std::string marks(const Value& checkpoint) {
  std::vector<std::string> words;
  if (checkpoint["best"].as_bool()) words.emplace_back("best");
  if (checkpoint["latest"].as_bool()) words.emplace_back("latest");
  if (!checkpoint["kept"].bool_or(true)) words.push_back(checkpoint["state"].as_string());
  std::string status = checkpoint["status"].as_string();
  for (char& c : status) c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  if (status != "committed") words.push_back(status);
  return join(words, " ");
}

void print_checkpoints(const List& checkpoints, size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& checkpoint : checkpoints) {
    rows.push_back({checkpoint["name"].as_string(), cat(checkpoint["index"].as_int()),
                    cat(checkpoint["attempt"].as_int()), human_time(checkpoint["created_at"]),
                    human_size(checkpoint["size_bytes"].as_int()), marks(checkpoint),
                    human_metrics(checkpoint["metrics"])});
  }
  print_table({{.header = "NAME", .key = true},
               {"INDEX", true},
               {"ATTEMPT", true},
               {"CREATED (UTC)"},
               {"SIZE", true},
               {""},
               {.header = "METRICS", .fills = true}},
              rows, width);
}

}  // namespace

void list_checkpoints(const CheckpointsOptions& options) {
  store::OpenRun run = options.open_run();
  const List checkpoints = store::checkpoint_rows(run.store, run.ref, options.all);
  if (options.for_programs()) return options.print(checkpoints);
  print_checkpoints(checkpoints, options.width());
}

Value find_checkpoint(store::OpenRun& run, const std::string& name) {
  const List checkpoints = store::checkpoint_rows(run.store, run.ref, false);
  std::vector<std::string> names;
  for (const Value& checkpoint : checkpoints) {
    const bool is_meant = (name == "best" && checkpoint["best"].as_bool()) ||
                          (name == "latest" && checkpoint["latest"].as_bool()) ||
                          checkpoint["name"] == Value(name);
    if (is_meant) return checkpoint;
    names.push_back(checkpoint["name"].as_string());
  }
  const auto near = nearest_name(name, names);
  throw Error(Code::kUsage,
              cat("the run '", run.ref.name, "' has no checkpoint '", name, "'",
                  near ? cat(": did you mean '", *near, "'?") : "",
                  names.empty() ? ": none is kept" : cat(" (kept are ", join(names, ", "), ")")));
}

namespace {

void add_name(Command& command, CheckpointsOptions& options, const std::string& without) {
  command.argument("NAME", &options.name, cat("a checkpoint's name, best or latest; ", without))
      .offers({.sources = {Source::kCheckpoints}});
}

void add_ls(Command& checkpoint) {
  auto options = std::make_shared<CheckpointsOptions>();
  Command command = checkpoint.command("ls", "List the checkpoints of a run");
  add_run_argument(command, *options);
  command.flag("--dropped", &options->all, "also those that were dropped");
  add_listing_options(command, *options);
  add_wide_option(command, *options);
  command.footer(
      "Keys of --json, for each checkpoint: name, path, uri (in an object store), index, attempt,\n"
      "metrics, size_bytes, created_at, status (of its validation: COMMITTED,\n"
      "PENDING_VALIDATION, VALIDATED, VALIDATION_FAILED, VALIDATION_TIMEOUT), latest, best;\n"
      "problem where the validation failed; with --dropped: kept, state");
  command.action([options] { list_checkpoints(*options); });
}

void add_verify(Command& checkpoint) {
  auto options = std::make_shared<CheckpointsOptions>();
  Command command =
      checkpoint.command("verify", "Compare every file with the hash in its manifest");
  add_run_argument(command, *options);
  add_name(command, *options, "without it: all");
  add_listing_options(command, *options);
  command.footer(
      "Keys of --json, for each checkpoint: name, path, files, size_bytes, ok, problems (file,\n"
      "problem). The exit code is 4 when a file differs from what was saved");
  command.action([options] { verify_checkpoints(*options); });
}

void add_export(Command& checkpoint) {
  auto options = std::make_shared<CheckpointsOptions>();
  Command command =
      checkpoint.command("export", "Copy a checkpoint, or write its tensors as one file");
  add_run_argument(command, *options);
  add_name(command, *options, "without it: best");
  command.option("-o,--output", &options->output, "the folder to make, or the file")
      .value_name("PATH")
      .required();
  Option safetensors = command.flag("--safetensors", &options->safetensors,
                                    "the tensors of its state dict as one safetensors file");
  command.option("--file", &options->file, "of the checkpoint, where several hold tensors")
      .value_name("NAME")
      .needs(safetensors);
  command
      .option("--part", &options->part,
              "of the file, as optimizer or parts.model; else the state dict that it is, or has "
              "as model, model_state_dict or state_dict; else all tensors")
      .value_name("NAME")
      .needs(safetensors);
  add_listing_options(command, *options);
  command.footer(
      "Keys of --json: run, name, output, files; with --safetensors file, part, tensors, left_out");
  command.action([options] { export_checkpoint(*options); });
}

void add_prune(Command& checkpoint) {
  auto options = std::make_shared<CheckpointsOptions>();
  Command command = checkpoint.command("prune", "Remove all but the best ones and the latest");
  add_run_argument(command, *options);
  command
      .option("--keep", &options->keep, "the best N by the run's score (default 1), and the latest")
      .value_name("N")
      .at_least(0);
  command.flag("-y,--yes", &options->yes, "do not ask; needed without a terminal");
  command.flag("--dry-run", &options->dry_run, "say what would be removed");
  add_listing_options(command, *options);
  command.footer(
      "Keys of --json, for each checkpoint: name, path, size_bytes, best, latest, keep, removed");
  command.action([options] { prune_checkpoints(*options); });
}

}  // namespace

void add_checkpoint(Parser& parser) {
  Command checkpoint =
      parser.command("checkpoint", "The checkpoints of a run: list, verify, export, prune");
  add_ls(checkpoint);
  add_verify(checkpoint);
  add_export(checkpoint);
  add_prune(checkpoint);
}

}  // namespace rtrain::cli
