#include "host/decide/slow/shares.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "host/base/error.h"
#include "host/base/sum_tree.h"
#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

constexpr double kGain = 1.15;         // a step took that many times as long
constexpr double kLeastGainS = 0.002;  // less can come from the machine's other work

double longest(const std::vector<int>& shares, const std::vector<double>& each_s) {
  double out = 0;
  for (size_t i = 0; i < shares.size(); ++i) out = std::max(out, shares[i] * each_s[i]);
  return out;
}

std::string text_of(const std::vector<int>& shares) {
  std::string out;
  for (const int each : shares) out += cat(out.empty() ? "" : ", ", each);
  return out;
}

}  // namespace

std::vector<int> even_shares(int num_virtual, int num_ranks) {
  std::vector<int> out;
  for (int rank = 0; rank < num_ranks; ++rank) {
    const LeafRange range = LeafRange::of(num_virtual, rank, num_ranks);
    out.push_back(range.end - range.begin);
  }
  return out;
}

// One virtual rank after the other goes to the process that is through with it first, which makes
// the longest time as short as it can be.
std::optional<std::vector<int>> better_shares(const std::vector<int>& shares,
                                              const std::vector<double>& work_s) {
  RT_CHECK(shares.size() == work_s.size());
  std::vector<double> each_s;  // for one virtual rank
  for (size_t i = 0; i < shares.size(); ++i) {
    if (!(work_s[i] > 0)) return std::nullopt;
    each_s.push_back(work_s[i] / shares[i]);
  }
  std::vector<int> out(shares.size(), 1);
  const int num_virtual = std::accumulate(shares.begin(), shares.end(), 0);
  for (int left = num_virtual - static_cast<int>(out.size()); left > 0; --left) {
    size_t first = 0;
    for (size_t i = 1; i < out.size(); ++i) {
      if ((out[i] + 1) * each_s[i] < (out[first] + 1) * each_s[first]) first = i;
    }
    ++out[first];
  }
  const double before_s = longest(shares, each_s);
  const double after_s = longest(out, each_s);
  if (before_s < kGain * after_s || before_s - after_s < kLeastGainS) return std::nullopt;
  return out;
}

Shares::Shares(int num_virtual, int num_ranks) {
  if (num_virtual > 0) even_ = now_ = next_ = even_shares(num_virtual, num_ranks);
}

void Shares::go_on_from(const Shares& before) {
  if (before.next_.size() == now_.size()) now_ = next_ = before.next_;
}

bool Shares::is_unbalanced(const std::vector<double>& work_s) {
  if (now_.empty() || next_ != now_) return false;
  auto better = better_shares(now_, work_s);
  if (!better) return false;
  wanted_ = std::move(*better);
  return true;
}

std::string Shares::change() {
  next_ = wanted_;
  return cat(text_of(now_), " → ", text_of(next_));
}

std::vector<int> Shares::uneven() const { return now_ == even_ ? std::vector<int>() : now_; }

}  // namespace rtrain::decide
