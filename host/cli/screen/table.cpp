#include "host/cli/screen/table.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/base/text/text_width.h"
#include "host/cli/screen/layout.h"

namespace rtrain::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr size_t kNarrowest = 20;
constexpr size_t kLeastFill = 24;

using Rows = std::vector<std::vector<std::string>>;

std::vector<size_t> column_widths(const std::vector<Column>& columns, const Rows& rows) {
  std::vector<size_t> widths;
  for (const Column& column : columns) widths.push_back(text_width(column.header));
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], text_width(row[i]));
  }
  return widths;
}

// Which columns share a block of the table, by their positions.
class Blocks {
 public:
  Blocks(const std::vector<Column>& columns, std::vector<size_t>& widths, size_t width)
      : widths_(widths), width_(std::max(width, kNarrowest)) {
    while (keys_ < columns.size() && columns[keys_].key) ++keys_;
    for (size_t i = 0; i < keys_; ++i) {
      widths_[i] = std::min(widths_[i], width_ / (2 * keys_));
    }
    const std::vector<size_t> shown = shown_columns(columns);
    left_out_ = columns.size() - shown.size();
    begin();
    for (size_t i = keys_; i < shown.size(); ++i) add(shown[i], columns[shown[i]].fills);
  }

  const std::vector<std::vector<size_t>>& all() const { return blocks_; }
  size_t keys() const { return keys_; }
  size_t left_out() const { return left_out_; }

 private:
  // The columns except for spare ones that do not fit in the first line.
  std::vector<size_t> shown_columns(const std::vector<Column>& columns) const {
    std::vector<size_t> order(columns.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return columns[i].spare; });
    std::vector<size_t> shown;
    size_t used = 0;
    for (const size_t i : order) {
      const size_t needed = widths_[i] + (shown.empty() ? 0 : kGap.size());
      if (columns[i].spare > 0 && used + needed > width_) continue;
      used += needed;
      shown.push_back(i);
    }
    std::ranges::sort(shown);
    return shown;
  }
  void begin() {
    blocks_.emplace_back();
    used_ = 0;
    for (size_t i = 0; i < keys_; ++i) put(i);
  }
  void put(size_t column) {
    used_ += (blocks_.back().empty() ? 0 : kGap.size()) + widths_[column];
    blocks_.back().push_back(column);
  }
  void add(size_t column, bool fills) {
    const bool is_first = blocks_.back().size() == keys_;
    const size_t needed = fills ? std::min(widths_[column], kLeastFill) : widths_[column];
    if (!is_first && used_ + kGap.size() + needed > width_) begin();
    const size_t before = used_ + (blocks_.back().empty() ? 0 : kGap.size());
    widths_[column] = std::min(widths_[column], width_ - before);
    put(column);
  }

  std::vector<size_t>& widths_;
  size_t width_;
  size_t keys_ = 0;
  size_t left_out_ = 0;
  size_t used_ = 0;
  std::vector<std::vector<size_t>> blocks_;
};

// How much of its beginning a key keeps when it is shortened. Keys often have equal beginnings or
// equal ends, so this is the one of four that leaves most of them distinct.
size_t head_of_keys(const Rows& rows, size_t column, size_t width) {
  const auto fits = [&](const auto& row) { return text_width(row[column]) <= width; };
  if (std::ranges::all_of(rows, fits)) return 0;
  size_t best = 0;
  size_t most = 0;
  for (const size_t head : {width / 2, width / 5, size_t{0}, 4 * width / 5}) {
    std::unordered_set<std::string> distinct;
    for (const auto& row : rows) distinct.insert(without_middle(row[column], width, head));
    if (distinct.size() > most) best = head;
    most = std::max(most, distinct.size());
  }
  return best;
}

// True for most cells, without copying them.
bool is_as_shown(const std::string& cell) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  return std::ranges::all_of(cell, is_plain) || terminal_cell(cell) == cell;
}

bool are_as_shown(const std::vector<Column>& columns, const Rows& rows) {
  return std::ranges::all_of(columns, is_as_shown, &Column::header) &&
         std::ranges::all_of(rows,
                             [](const auto& row) { return std::ranges::all_of(row, is_as_shown); });
}

}  // namespace

Table table_of(const std::vector<Column>& columns, const Rows& rows, size_t width) {
  if (!are_as_shown(columns, rows)) {
    std::vector<Column> headers = columns;
    Rows cells = rows;
    for (Column& column : headers) column.header = terminal_cell(column.header);
    for (auto& row : cells) {
      for (std::string& cell : row) cell = terminal_cell(cell);
    }
    return table_of(headers, cells, width);
  }
  std::vector<size_t> widths = column_widths(columns, rows);
  const Blocks blocks(columns, widths, width);
  std::vector<size_t> heads;
  for (size_t i = 0; i < blocks.keys(); ++i) heads.push_back(head_of_keys(rows, i, widths[i]));
  Table table;
  table.left_out = blocks.left_out();
  for (const std::vector<size_t>& block : blocks.all()) {
    const auto add_line = [&](const auto& cell) {
      std::string line;
      for (const size_t i : block) {
        const std::string text = i < heads.size() ? without_middle(cell(i), widths[i], heads[i])
                                                  : shortened(cell(i), widths[i]);
        const std::string padding(widths[i] - text_width(text), ' ');
        line +=
            cat(i == block.front() ? "" : kGap, columns[i].right ? padding + text : text + padding);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      table.lines.push_back(std::move(line));
    };
    if (!table.lines.empty()) table.lines.emplace_back();
    add_line([&](size_t i) { return columns[i].header; });
    for (const auto& row : rows) add_line([&](size_t i) { return row[i]; });
  }
  return table;
}

}  // namespace rtrain::cli
