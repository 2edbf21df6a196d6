#include "host/cli/live/flame_file.h"

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/screen/listing.h"
#include "host/plot/flame_graph.h"
#include "host/store/files/file.h"

namespace rtrain::cli {

void check_flame_path(const std::string& path) {
  if (path.ends_with(".svg") || path.ends_with(".json") || path.ends_with(".folded")) return;
  throw Error(Code::kUsage, cat("-o ", path,
                                ": expected a name that ends in .svg (a flame graph), .json (for "
                                "speedscope.app) or .folded (for flamegraph.pl)"));
}

profile::SampledStacks read_stacks(const std::string& path) {
  try {
    return profile::from_speedscope(from_json(store::read_text(path)));
  } catch (const Error& e) {
    throw Error(Code::kEnvironment, cat(path, ": ", e.message()));
  }
}

void write_flame(const std::vector<profile::SampledStacks>& ranks, const std::string& title,
                 const std::string& path) {
  profile::SampledStacks all;
  if (ranks.size() == 1) {
    all = ranks[0];
  } else {
    for (const profile::SampledStacks& rank : ranks) all.add(rank);
  }
  all.name = title;
  if (path.ends_with(".svg")) return write_output(path, plot::svg_flame_graph(all, title));
  if (path.ends_with(".folded")) return write_output(path, profile::to_folded(all));
  write_output(path, to_json(profile::to_speedscope(all)) + "\n");
}

}  // namespace rtrain::cli
