// host/decide/row_keepers.h: of a sharded model, which rank keeps a copy of which rank's rows, and
// who has which rows after a loss (train.elastic). Pure.
#pragma once

#include <optional>
#include <vector>

namespace rtrain::decide {

// Returns for each rank the one that keeps its rows. `nodes`: the node of each rank. Each rank
// keeps the rows of one other rank. They are on different nodes, but for ranks of a node that has
// more than half of all. A run ends with its first node, so a copy there is never lost alone.
std::vector<int> row_keepers(const std::vector<int>& nodes);

// What a rank has of the group before a loss.
struct RowPlace {
  int size = 0;   // of that group; 0: this is a new process, which has nothing
  int rank = -1;  // its own there
  int kept = -1;  // the rank whose rows it keeps too; -1: none, or not all of them yet
};

struct RowHolder {
  int rank = -1;         // of the group after the loss
  bool is_kept = false;  // it has a copy: the rank itself is lost
};

// Returns for each rank of the group before who has its rows. nullopt where a rank was lost with
// the one that kept its rows, and where the ranks have not all come from one group.
std::optional<std::vector<RowHolder>> row_holders(const std::vector<RowPlace>& places);

// Whether the ranks that are left keep the rows that they should. REQUIRES: the group has the size
// of the one before.
bool keeps_rows(const std::vector<RowPlace>& places, const std::vector<int>& keepers);

}  // namespace rtrain::decide
