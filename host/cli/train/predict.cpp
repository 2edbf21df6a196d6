// rtrain predict MODEL DATA: computes the predictions of a checkpoint's model for each row of a
// file (modules/rtrain/predict, which loads LibTorch).
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/bind/modules.h"
#include "host/cli/checkpoints/checkpoints.h"
#include "host/cli/parser/command.h"
#include "host/cli/parser/script_arguments.h"
#include "host/cli/processes/interrupt.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/claim/run_name.h"
#include "host/store/files/file.h"
#include "host/store/read/run_document.h"
#include "host/store/runs/source_store.h"

namespace rtrain::cli {
namespace {

struct PredictOptions {
  std::string model;
  std::string data;
  std::string prompt;
  bool chat = false;
  std::string function;
  std::string script;
  std::vector<std::string> set;
  std::string file;
  std::string part;
  std::string data_format;
  std::vector<std::string> columns;
  std::vector<std::string> keep;
  std::string transform;
  bool classes = false;
  bool compile = false;
  int64_t batch_size = 256;
  int64_t limit = 0;
  std::string device;
  std::string output;
  std::string output_format;
  std::string storage;
  std::vector<std::string> args;
};

// Returns the script's own arguments in a run's command: the words after --.
List arguments_of(const Value& command) {
  List out;
  if (!command.is_list()) return out;
  const List& words = command.as_list();
  const auto mark = std::find(words.begin(), words.end(), Value("--"));
  if (mark != words.end()) out.assign(mark + 1, words.end());
  return out;
}

// Returns MODEL in the form that modules/rtrain/predict expects. `lease` protects its files from
// removal.
Map model_of(const PredictOptions& options, std::optional<store::DirectoryLease>& lease) {
  if (options.model.find('/') != std::string::npos) {
    if (store::path_kind(options.model) != "folder") {
      throw Error(Code::kUsage, cat("predict: ", options.model, ": there is no such folder"));
    }
    return Map{{"folder", store::absolute_path(options.model)}};
  }
  // The colon in best:METRIC does not separate a checkpoint.
  const size_t colon =
      options.model.starts_with(store::kBestOf) ? std::string::npos : options.model.rfind(':');
  ListingOptions listing;
  listing.storage = options.storage;
  listing.run = options.model.substr(0, colon);
  store::OpenRun run = listing.open_run();
  const std::string name = colon == std::string::npos ? "best" : options.model.substr(colon + 1);
  const std::string path = find_checkpoint(run, name)["path"].as_string();
  lease.emplace(path);
  List files;
  for (const CheckpointFile& file : store::CheckpointFiles::verify(path).files)
    files.push_back(file.path);
  return Map{{"folder", path},
             {"files", std::move(files)},
             {"config", store::read_config(run.store.database(), run.ref.run_id)},
             {"args", arguments_of(store::read_run(run.store, run.ref)["environment"]["command"])},
             {"sources", store::read_sources(run.store.database(), run.ref.run_id)}};
}

List list_of(const std::vector<std::string>& texts) { return List(texts.begin(), texts.end()); }

Map request_of(const PredictOptions& options, Map request) {
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) request.set(name, value);
  };
  request.set("data", options.data);
  request.set("set", list_of(options.set));
  request.set("keep", list_of(options.keep));
  request.set("classes", options.classes);
  request.set("compile", options.compile);
  request.set("batch_size", options.batch_size);
  if (!options.columns.empty()) request.set("columns", list_of(options.columns));
  if (!options.args.empty()) request.set("args", list_of(unmarked(options.args)));
  if (options.limit > 0) request.set("limit", options.limit);
  if (!options.script.empty()) {
    request.set("script", options.script);
    request.del("sources");
  }
  set("model", options.function);
  set("file", options.file);
  set("part", options.part);
  set("as", options.data_format);
  set("transform", options.transform);
  set("device", options.device);
  set("output", options.output);
  set("format", options.output_format);
  return request;
}

// Calls run(request) of a module; on an interrupt that raises an error.
Value call_module(const char* module, const Map& request) {
  lua::State state;
  bind::add_host_modules(state);
  lua::push_module_function(state, module, "run");
  lua::push_value(state, request);
  {
    const Interrupt interrupt(state.get(), {SIGINT, SIGTERM});
    lua::protected_call(state, 1, 1);
  }
  return lua::to_value(state, -1, "what was predicted");
}

// Lets a language model write to stdout.
void write_on(const PredictOptions& options) {
  if (!options.data.empty()) {
    throw usage_error("predict: DATA does not go with --prompt and --chat");
  }
  std::optional<store::DirectoryLease> lease;
  Map request{{"folder", model_of(options, lease)["folder"]},
              {"set", list_of(options.set)},
              {"chat", options.chat}};
  if (!options.prompt.empty()) request.set("prompt", options.prompt);
  if (!options.device.empty()) request.set("device", options.device);
  call_module("text.predict", request);
}

void predict(const PredictOptions& options) {
  if (options.chat || !options.prompt.empty()) return write_on(options);
  if (options.data.empty()) {
    throw usage_error(
        "predict: DATA is missing: a file; or --prompt TEXT or --chat for a language model");
  }
  std::optional<store::DirectoryLease> lease;
  const Value done = call_module("rtrain.predict", request_of(options, model_of(options, lease)));
  std::cerr << done["model"].as_string() << " on " << done["device"].as_string() << ": "
            << counted(static_cast<size_t>(done["rows"].as_int()), "row")
            << (done["transform"].is_nil() ? ""
                                           : cat(", inputs by ", done["transform"].as_string()))
            << (options.output.empty() ? "" : cat(" to ", options.output)) << "\n";
}

void add_model_options(Command& command, PredictOptions& options) {
  command
      .option(
          "--model", &options.function,
          "the function of the script that returns the model (it is given the run's config), or "
          "its class; else build_model, make_model, create_model or its only class of a model")
      .value_name("NAME");
  command
      .option("--script", &options.script, "the script with it; else the one that the run has kept")
      .value_name("FILE");
  command
      .option("--set", &options.set,
              "a value of the config, as for rtrain run, or of generate where a language model "
              "writes: max_new_tokens, do_sample, temperature, top_k, top_p, …; repeatable")
      .repeatable()
      .value_name("KEY=VALUE");
  command.option("--file", &options.file, "of the checkpoint, where several hold tensors")
      .value_name("NAME");
  command
      .option("--part", &options.part,
              "of the file, the model's state dict; else as for checkpoint export")
      .value_name("NAME");
}

void add_data_options(Command& command, PredictOptions& options) {
  command.option("--as", &options.data_format, "what DATA is, where its name does not say it")
      .one_of({"parquet", "csv", "json", "idx", "numpy", "image", "text"});
  command
      .option("--columns", &options.columns,
              "what the model is given; else all columns but those of --keep; repeatable")
      .repeatable()
      .value_name("NAME");
  command
      .option("--keep", &options.keep,
              "a column of the data that goes into the output too; repeatable")
      .repeatable()
      .value_name("NAME");
  command
      .option("--transform", &options.transform,
              "a function of the script that makes the model's input of a batch, a table {column = "
              "values}, or a transform of images; else its preprocess, or transform; none: neither")
      .value_name("NAME");
  command.option("--batch-size", &options.batch_size, "rows at a time (default 256)")
      .value_name("N")
      .within(1, 1 << 24);
  command.option("--rows", &options.limit, "the first N rows alone").value_name("N").at_least(1);
  command.old_option("--limit", &options.limit, "--rows").at_least(1);
}

}  // namespace

void add_predict(Parser& parser) {
  auto options = std::make_shared<PredictOptions>();
  Command command =
      parser.command("predict", "Write what a checkpoint's model says about each row of a file");
  command
      .argument("MODEL", &options->model,
                "RUN (its best checkpoint), RUN:CHECKPOINT (a name, best or latest), or a "
                "checkpoint's folder, with a / in it")
      .required()
      .offers({.sources = {Source::kRuns}});
  command.argument("DATA", &options->data, "Parquet, CSV, JSON lines, idx, NumPy or images")
      .offers({.sources = {Source::kFiles}});
  command
      .option("-o,--output", &options->output,
              "the file to write: .json, .jsonl, .csv, .parquet; else JSON lines to stdout")
      .value_name("FILE");
  command.option("--format", &options->output_format, "of the output, where -o does not say it")
      .one_of({"json", "csv", "parquet"});
  command.flag("--classes", &options->classes,
               "adds the column class: the place of the largest value, from 0");
  command
      .option("--prompt", &options->prompt,
              "without DATA: what a language model writes after it; with --chat, an answer to it")
      .value_name("TEXT");
  command.flag("--chat", &options->chat,
               "without DATA: a language model answers each line of stdin, or --prompt");
  add_model_options(command, *options);
  add_data_options(command, *options);
  command.flag("--compile", &options->compile,
               "records what the model does with the first batches (torch.compile): for models of "
               "many small operators");
  command.option("--device", &options->device, "cpu, cuda or cuda:N; else cuda where there is one")
      .value_name("DEVICE")
      .offers({.words = {"cpu", "cuda"}});
  command.argument(
      "ARGS", &options->args,
      "after --: the script's own arguments; else those that the run was started with");
  command.option("--storage", &options->storage, "folder of the results").value_name("FOLDER");
  command.footer(
      "The script runs up to its first fit(), which trains nothing. Its function "
      "preprocess(batch)\n"
      "makes the inputs, or for each image its transform (test_transform, val_transform,\n"
      "eval_transform or transform, of vision.transforms). Without them a column of bytes of (h, "
      "w)\n"
      "or (h, w, c) is an image: it becomes (c, h, w) between 0 and 1, as ToTensor makes it. "
      "Columns\n"
      "of single numbers together are the features of a row.\n"
      "A checkpoint of XGBoostTrainer needs no script.\n"
      "Columns of the output: those of --keep, then prediction, or the names that the model\n"
      "returns. In CSV a vector has a column for each number: prediction_0, prediction_1");
  command.action([options] { predict(*options); });
}

}  // namespace rtrain::cli
