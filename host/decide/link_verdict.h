// host/decide/link_verdict.h: which node a bad link speaks against, from reports of the nodes on
// the links between them. Pure.
//
// A link is bad when it drops packets: for many of the last answers over it some had to be sent
// again. Or when the nodes at both its ends say, and keep saying, that nothing comes through: then
// both live. Where nothing at all is heard of a node, node_timeout_s decides.
//
// Of the two ends that one is at fault which has more bad links; where both have as many the later
// one. It is never node 0, which the run cannot do without: then the other end is named.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rtrain::decide {

// The report of a node on its link to another one: of its last answers, how many came only after
// packets had been sent again, and how long the one that is due has not come.
struct SeenLink {
  int peer = 0;
  int num_slow = 0;
  int num_answers = 0;
  double silent_s = 0;
};

struct LinkFinding {
  int node;  // that is at fault
  int peer;  // at the other end
  std::string text;
};

// The nodes without which no link is left that has failed, with one of their links each: one after
// the other the node with the most. `failed` has each link in both directions.
std::vector<std::pair<int, int>> at_fault(std::set<std::pair<int, int>> failed);

class LinkVerdict {
 public:
  void add(int node, const SeenLink& link, double now_s);
  // Nothing that was said of it counts.
  void drop(int node);
  // Once for each link, as soon as reports about other links have had time to come.
  std::optional<LinkFinding> decide(double now_s);

 private:
  struct Seen {
    SeenLink last;
    double at_s = 0;
    double silent_since_s = 0;  // when it was first said that nothing comes through; 0: it does
  };
  using Ends = std::pair<int, int>;  // who says it, and of the link to whom

  bool is_fresh(const Seen& seen, double now_s) const;
  bool drops(const Ends& ends, double now_s) const;
  bool is_silent(const Ends& ends, double now_s) const;
  bool is_bad(const Ends& ends, double now_s) const;
  double weight(int node, double now_s) const;

  std::map<Ends, Seen> seen_;
  std::optional<double> bad_since_s_;
};

}  // namespace rtrain::decide
