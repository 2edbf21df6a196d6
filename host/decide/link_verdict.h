// host/decide/link_verdict.h: which node is at fault for a bad link, from the nodes' reports on the
// links between them. Pure.
//
// A link is bad when it drops packets: for many of the last answers over it, packets had to be sent
// again. A link is also bad when the nodes at both ends have reported for some time that nothing
// comes through: both nodes live. Where a node itself is not heard of, node_timeout_s decides.
//
// Of the two nodes the one with more bad links is at fault. Where both have equally many it is the
// one with the higher number. Node 0 is never named, since the run needs it: the other node is.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rtrain::decide {

// A node's report on its link to `peer`: how many of the last answers came only after packets had
// been sent again, and for how long an answer that is due has not come.
struct SeenLink {
  int peer = 0;
  int num_slow = 0;
  int num_answers = 0;
  double silent_s = 0;
};

struct LinkFinding {
  int node;  // the node at fault
  int peer;  // the node at the other end
  std::string text;
};

// Links that a check has found to fail, by their two ends.
struct FailedLinks {
  std::set<std::pair<int, int>> links = {};  // in both directions
  std::set<int> refusing = {};               // nodes that refuse connections: they are at fault
};

// Returns nodes to leave out, so that no failed link remains, each with the other end of one of its
// failed links: those that refuse connections, then the node with most failed links, and so on.
std::vector<std::pair<int, int>> at_fault(FailedLinks failed);

class LinkVerdict {
 public:
  // Adds a report of this node.
  void add(int node, const SeenLink& link, double now_s);
  // Removes the reports of this node, and those of other nodes on their links to it.
  void drop(int node);
  // Returns the finding on a bad link, once, after the time that reports on other links need.
  std::optional<LinkFinding> decide(double now_s);

 private:
  struct Seen {
    SeenLink last;
    double at_s = 0;
    double silent_since_s = 0;  // since when nothing comes through; 0: answers come
  };
  using Ends = std::pair<int, int>;  // the node that reports, the other end

  bool is_fresh(const Seen& seen, double now_s) const;
  bool drops(const Ends& ends, double now_s) const;
  bool is_silent(const Ends& ends, double now_s) const;
  bool is_bad(const Ends& ends, double now_s) const;
  double weight(int node, double now_s) const;

  std::map<Ends, Seen> seen_;
  std::optional<double> bad_since_s_;
};

}  // namespace rtrain::decide
