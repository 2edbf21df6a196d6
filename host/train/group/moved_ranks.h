// host/train/group/moved_ranks.h: the ranks of lost nodes, which go on on other ones while the
// group's other ranks live (train.elastic).
//
// A node's ranks move together, and keep their places. Where they come to a node that has others
// they are a member of the group of their own, so that sums are made in the same order as before.
// Belongs to the control thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/decide/relocation.h"
#include "host/train/group/node_group.h"
#include "host/train/group/rank_copies.h"

namespace rtrain::train {

// The nodes of these ranks, in their order, with the number of their workers.
std::vector<decide::NodeWorkers> nodes_of(const NodeGroup& group, const std::vector<int>& ranks);
// The nodes of the other ranks.
std::vector<decide::NodeWorkers> nodes_without(const NodeGroup& group,
                                               const std::vector<int>& ranks);

// Moves these ranks to these nodes, which are in the order of nodes_of(). `make` gets the number of
// a node, and the order for its workers.
using MakeMember = std::function<NodeGroup::Member(int node, const node::NodeOrder& order)>;
void move_ranks(NodeGroup& group, const std::vector<int>& ranks, const std::vector<int>& nodes,
                const node::NodeOrder& order, const MakeMember& make);

// Starts the processes of a node that ranks have moved to, with the state that they had.
void start_moved(const NodeGroup::Member& member, const RankCopies& copies);
// "node n2 takes the place of the lost one of ranks 2-3".
std::string moved_text(const NodeGroup::Member& member);

}  // namespace rtrain::train
