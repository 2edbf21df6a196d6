// host/cli/train/nodes_run.h: `rtrain run --nodes A,B`: a run on nodes that ssh reaches. The module
// rtrain.nodes, in Lua, decides what happens there; run_far_session() waits for its end.
#pragma once

#include <string>
#include <vector>

#include "host/cli/parser/parser.h"
#include "host/cli/train/run_options.h"

namespace rtrain::cli {

struct NodesOptions {
  std::string nodes;
  std::vector<std::string> with;
  std::string bundle;
  bool detach = false;
};

void add_nodes_options(Command& command, NodesOptions& options);

// Returns the exit code of the run; of one that goes on by itself, 0.
int run_on_nodes(const NodesOptions& options, const RunOptions& run,
                 const std::vector<std::string>& command_line);

}  // namespace rtrain::cli
