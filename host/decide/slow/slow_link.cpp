#include "host/decide/slow/slow_link.h"

#include <algorithm>
#include <string>

namespace rtrain::decide {
namespace {

using Links = std::vector<LinkFacts>;

constexpr double kMore = 0.25;
constexpr double kTimes = 1.7;
constexpr uint64_t kLittle = 10;  // a connection with less than this part of the most is idle

double waiting(const LinkFacts& link) {
  return link.looks > 0 ? static_cast<double>(link.waits) / static_cast<double>(link.looks) : 0;
}

// The links that the rank uses.
Links used(const Links& links) {
  uint64_t most = 0;
  for (const LinkFacts& each : links) most = std::max(most, each.bytes);
  Links out;
  for (const LinkFacts& each : links) {
    if (each.bytes > 0 && each.bytes >= most / kLittle) out.push_back(each);
  }
  return out;
}

struct Mean {
  double sum = 0;
  int count = 0;

  void add(double number) {
    sum += number;
    ++count;
  }
  double value() const { return count > 0 ? sum / count : 0; }
};

bool is_first_of_node(const std::vector<Links>& ranks, size_t rank) {
  for (size_t i = 0; i < rank; ++i) {
    if (!ranks[i].empty() && ranks[i][0].own == ranks[rank][0].own) return false;
  }
  return true;
}

// How often data wait for the links of the node with this address.
double waiting_at(const std::vector<Links>& ranks, const std::string& address) {
  Mean out, in;
  for (const Links& links : ranks) {
    for (const LinkFacts& each : used(links)) {
      if (each.own == address) out.add(waiting(each));
      if (each.peer == address) in.add(waiting(each));
    }
  }
  return std::min(out.value(), in.value());
}

}  // namespace

void add_links(const Links& links, Links& sums) {
  for (const LinkFacts& each : links) {
    const auto known = std::ranges::find_if(sums, [&](const LinkFacts& other) {
      return other.own == each.own && other.peer == each.peer;
    });
    if (known == sums.end()) {
      sums.push_back(each);
      continue;
    }
    known->bytes += each.bytes;
    known->looks += each.looks;
    known->waits += each.waits;
  }
}

std::optional<LinkUse> link_use(const std::vector<Links>& ranks, size_t rank) {
  if (ranks[rank].empty() || !is_first_of_node(ranks, rank)) return std::nullopt;
  std::vector<double> others;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i == rank || ranks[i].empty() || !is_first_of_node(ranks, i)) continue;
    others.push_back(waiting_at(ranks, ranks[i][0].own));
  }
  if (others.size() < 2) return std::nullopt;
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>((others.size() - 1) / 2);
  std::nth_element(others.begin(), middle, others.end());
  return LinkUse{.own = waiting_at(ranks, ranks[rank][0].own), .others = *middle};
}

bool is_slow(const LinkUse& use) {
  return use.own - use.others >= kMore && use.own >= kTimes * use.others;
}

}  // namespace rtrain::decide
