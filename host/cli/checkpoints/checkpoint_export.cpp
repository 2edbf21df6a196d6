// rtrain checkpoint export: a checkpoint's files as a folder, or its tensors as one
// safetensors file (modules/rtrain/results/checkpoint_export.lua, which loads LibTorch).
#include <iostream>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/bind/modules.h"
#include "host/cli/checkpoints/checkpoints.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/files/file.h"
#include "host/store/files/folder_copy.h"

namespace rtrain::cli {
namespace {

// Returns the strings that safetensors stores next to the tensors.
Map metadata_of(const store::Manifest& manifest) {
  return Map{{"format", "pt"},
             {"rtrain_run", manifest.run},
             {"rtrain_run_id", manifest.run_id},
             {"rtrain_checkpoint", manifest.name},
             {"rtrain_metrics", to_json(manifest.metrics)}};
}

// Returns {file, part, tensors, left_out}.
Value write_safetensors(const CheckpointsOptions& options, const store::Manifest& manifest,
                        const std::string& path) {
  List files;
  for (const CheckpointFile& file : manifest.files) files.push_back(file.path);
  Map request{{"folder", path},
              {"files", std::move(files)},
              {"output", options.output},
              {"metadata", metadata_of(manifest)}};
  if (!options.file.empty()) request.set("file", options.file);
  if (!options.part.empty()) request.set("part", options.part);
  lua::State state;
  bind::add_host_modules(state);
  lua::push_module_function(state, "rtrain.results.checkpoint_export", "to_safetensors");
  lua::push_value(state, request);
  lua::protected_call(state, 1, 1);
  return lua::to_value(state, -1, "the export");
}

void print_exported(const Map& row) {
  const Value out = row;
  std::cerr << "wrote " << out["output"].as_string() << ": ";
  if (out["tensors"].is_nil()) {
    std::cerr << counted(static_cast<size_t>(out["files"].as_int()), "file");
  } else {
    const std::string part = out["part"].string_or("");
    std::cerr << counted(static_cast<size_t>(out["tensors"].as_int()), "tensor") << " of "
              << out["file"].as_string() << (part.empty() ? "" : cat(", ", part));
  }
  std::cerr << " of " << out["name"].as_string() << "\n";
  if (!out["left_out"].is_list() || out["left_out"].as_list().empty()) return;
  std::vector<std::string> names;
  for (const Value& name : out["left_out"].as_list()) names.push_back(name.as_string());
  std::cerr << "rtrain: not tensors, and left out: " << join(names, ", ") << "\n";
}

}  // namespace

void export_checkpoint(const CheckpointsOptions& options) {
  if (options.output.empty()) throw Error(Code::kUsage, "checkpoint export: -o PATH is required");
  store::OpenRun run = options.open_run();
  const Value checkpoint =
      find_checkpoint(run, options.name.empty() ? std::string("best") : options.name);
  const std::string& path = checkpoint["path"].as_string();
  const store::DirectoryLease lease(path);
  // Verifies first, so that a damaged checkpoint is not exported.
  const store::Manifest manifest = store::CheckpointFiles::verify(path);
  Map row{{"run", run.ref.name}, {"name", manifest.name}, {"output", options.output}};
  if (options.safetensors) {
    const Value written = write_safetensors(options, manifest, path);
    for (const auto& [key, value] : written.as_map()) row.set(key, value);
  } else {
    if (store::path_exists(options.output)) {
      throw Error(Code::kUsage, cat("-o ", options.output, ": it is there already"));
    }
    store::copy_tree(path, options.output);
    row.set("files", static_cast<int64_t>(manifest.files.size()));
  }
  if (options.for_programs()) return options.print(row);
  print_exported(row);
}

}  // namespace rtrain::cli
