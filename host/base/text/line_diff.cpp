#include "host/base/text/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "host/base/text/text.h"

namespace rtrain {
namespace {

using Lines = std::span<const std::string_view>;

constexpr size_t kContext = 3;
// If the texts differ in more lines, all of the difference is shown as replaced, because the search
// is quadratic.
constexpr int kMostChanges = 2000;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// The greedy algorithm of E. Myers, "An O(ND) difference algorithm and its variations" (1986). For
// each number of changes d it keeps, for each diagonal k = x - y, the largest x that d changes
// reach, and reconstructs the path from these.
class Myers {
 public:
  Myers(Lines a, Lines b, std::vector<DiffLine>& out)
      : a_(a), b_(b), n_(static_cast<int>(a.size())), m_(static_cast<int>(b.size())), out_(out) {}

  void run() {
    const int most = std::min(n_ + m_, kMostChanges);
    std::vector<int> furthest(2 * size(most) + 3, 0);
    const auto at = [&](int k) -> int& { return furthest[size(k + most + 1)]; };
    for (int d = 0; d <= most; ++d) {
      steps_.emplace_back(furthest.begin() + most + 1 - d - 1, furthest.begin() + most + 1 + d + 2);
      for (int k = -d; k <= d; k += 2) {
        const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
        int x = down ? at(k + 1) : at(k - 1) + 1;
        while (x < n_ && x - k < m_ && a_[size(x)] == b_[size(x - k)]) ++x;
        at(k) = x;
        if (x >= n_ && x - k >= m_) return read_back(d);
      }
    }
    for (const std::string_view line : a_) out_.push_back({'-', line});
    for (const std::string_view line : b_) out_.push_back({'+', line});
  }

 private:
  static size_t size(int n) { return static_cast<size_t>(n); }

  void read_back(int d) {
    std::vector<DiffLine> reversed;
    int x = n_;
    int y = m_;
    for (; d >= 0; --d) {
      const std::vector<int>& before = steps_[size(d)];
      const auto at = [&](int k) { return before[size(k + d + 1)]; };
      const int k = x - y;
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      const int from_x = d == 0 ? 0 : down ? at(k + 1) : at(k - 1);
      const int from_y = d == 0 ? 0 : from_x - (down ? k + 1 : k - 1);
      // The position behind the change, or the beginning: from that position on lines are equal.
      const int same_x = d == 0 || down ? from_x : from_x + 1;
      const int same_y = d > 0 && down ? from_y + 1 : from_y;
      while (x > same_x && y > same_y) {
        reversed.push_back({' ', a_[size(--x)]});
        --y;
      }
      if (d == 0) break;
      if (down) {
        reversed.push_back({'+', b_[size(--y)]});
      } else {
        reversed.push_back({'-', a_[size(--x)]});
      }
    }
    out_.insert(out_.end(), reversed.rbegin(), reversed.rend());
  }

  Lines a_;
  Lines b_;
  int n_;
  int m_;
  std::vector<DiffLine>& out_;
  std::vector<std::vector<int>> steps_;
};

// The range of the hunk's lines [begin, end) in one of the texts: "12,3".
std::string range(std::span<const DiffLine> lines, size_t begin, size_t end, char other) {
  const auto count = [&](size_t from, size_t to) {
    return std::count_if(lines.begin() + static_cast<ptrdiff_t>(from),
                         lines.begin() + static_cast<ptrdiff_t>(to),
                         [other](const DiffLine& line) { return line.sign != other; });
  };
  const auto length = count(begin, end);
  return cat(count(0, begin) + (length == 0 ? 0 : 1), ",", length);
}

}  // namespace

std::vector<DiffLine> diff_lines(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> left = lines_of(a);
  const std::vector<std::string_view> right = lines_of(b);
  size_t same = 0;
  const size_t least = std::min(left.size(), right.size());
  while (same < least && left[same] == right[same]) ++same;
  size_t tail = 0;
  while (tail < least - same && left[left.size() - 1 - tail] == right[right.size() - 1 - tail]) {
    ++tail;
  }
  std::vector<DiffLine> out;
  for (size_t i = 0; i < same; ++i) out.push_back({' ', left[i]});
  Myers(Lines(left).subspan(same, left.size() - same - tail),
        Lines(right).subspan(same, right.size() - same - tail), out)
      .run();
  for (size_t i = left.size() - tail; i < left.size(); ++i) out.push_back({' ', left[i]});
  return out;
}

std::string unified_diff(std::string_view a, std::string_view b, std::string_view a_name,
                         std::string_view b_name) {
  const std::vector<DiffLine> lines = diff_lines(a, b);
  std::string out;
  const auto changed = [&](size_t from) {
    while (from < lines.size() && lines[from].sign == ' ') ++from;
    return from;
  };
  for (size_t first = changed(0); first < lines.size();) {
    const size_t begin = first - std::min(first, kContext);
    size_t last = first;  // the last changed line of this hunk
    for (size_t next = first; next < lines.size() && next <= last + 2 * kContext + 1;
         next = changed(next + 1)) {
      last = next;
    }
    const size_t end = std::min(last + 1 + kContext, lines.size());
    if (out.empty()) out = cat("--- ", a_name, "\n+++ ", b_name, "\n");
    out += cat("@@ -", range(lines, begin, end, '+'), " +", range(lines, begin, end, '-'), " @@\n");
    for (size_t i = begin; i < end; ++i) out += cat(lines[i].sign, lines[i].text, "\n");
    first = changed(end);
  }
  return out;
}

}  // namespace rtrain
