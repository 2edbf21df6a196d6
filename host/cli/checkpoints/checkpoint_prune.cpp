// rtrain checkpoint prune: removes all checkpoints but the best and the latest.
#include <algorithm>
#include <iostream>
#include <set>

#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/cli/checkpoints/checkpoints.h"
#include "host/cli/screen/confirm.h"
#include "host/decide/checkpoints/retention.h"
#include "host/store/read/checkpoint_rows.h"
#include "host/store/read/run_document.h"
#include "host/store/upkeep/run_editor.h"

namespace rtrain::cli {
namespace {

// Applies the run's own retention rule with another number of checkpoints.
std::vector<size_t> to_drop(store::OpenRun& run, const List& checkpoints, int64_t keep) {
  decide::RetentionPolicy policy = decide::RetentionPolicy::from_value(
      store::read_details(run.store.database(), run.ref.run_id)["checkpoint_config"]);
  policy.num_to_keep = keep;
  std::vector<Value> metrics;
  std::set<size_t> pending;
  for (const Value& checkpoint : checkpoints) {
    if (checkpoint["status"] == Value("PENDING_VALIDATION")) pending.insert(metrics.size());
    metrics.push_back(checkpoint["metrics"]);
  }
  return decide::checkpoints_to_drop(policy, metrics, pending);
}

}  // namespace

void prune_checkpoints(const CheckpointsOptions& options) {
  constexpr int64_t kBestAlone = 1;
  store::OpenRun run = options.open_run();
  store::RunEditor editor(options.storage_path());
  editor.check_removable(run.ref, "pruned");
  const List checkpoints = store::checkpoint_rows(run.store, run.ref, false);
  const auto positions = to_drop(run, checkpoints, options.keep < 0 ? kBestAlone : options.keep);
  std::vector<std::string> names;
  int64_t total = 0;
  for (const size_t position : positions) {
    names.push_back(checkpoints[position]["name"].as_string());
    total += checkpoints[position]["size_bytes"].as_int();
  }
  const std::string left = counted(checkpoints.size() - names.size(), "checkpoint");
  if (!options.dry_run && !names.empty()) {
    if (!confirm(cat("remove ", counted(names.size(), "checkpoint"), " of the run ", run.ref.name,
                     ", ", human_size(total), ", and keep ", left),
                 options.yes)) {
      std::cerr << "nothing was removed\n";
      return;
    }
    editor.drop_checkpoints(run.ref, names);
  }
  List rows;
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    const bool goes = std::find(positions.begin(), positions.end(), i) != positions.end();
    rows.push_back(Map{{"name", checkpoints[i]["name"]},
                       {"path", checkpoints[i]["path"]},
                       {"size_bytes", checkpoints[i]["size_bytes"]},
                       {"best", checkpoints[i]["best"]},
                       {"latest", checkpoints[i]["latest"]},
                       {"keep", !goes},
                       {"removed", goes && !options.dry_run}});
  }
  if (options.for_programs()) return options.print(rows);
  for (const Value& row : rows) {
    if (row["keep"].as_bool()) continue;
    std::cout << row["name"].as_string() << "  " << human_size(row["size_bytes"].as_int()) << "\n";
  }
  std::cerr << (options.dry_run ? "would remove " : "removed ")
            << counted(names.size(), "checkpoint") << ", " << human_size(total) << "; " << left
            << " kept\n";
}

}  // namespace rtrain::cli
