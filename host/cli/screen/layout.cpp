#include "host/cli/screen/layout.h"

#include <algorithm>

#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/base/text/text_width.h"

namespace rtrain::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kMore = "…";
constexpr size_t kNarrowest = 20;
constexpr size_t kLeastFill = 24;
constexpr size_t kLongest = 80;  // the longest shown name or value

// Whether the byte continues a UTF-8 character.
bool is_inside_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Returns the length of the text's first line. Breaks between two parts if that leaves no short
// line, else at a space or after a comma.
size_t line_end(std::string_view text, size_t width) {
  if (text_width(text) <= width) return text.size();
  const auto is_break = [&](size_t at) {
    return at > 0 && at < text.size() && (text[at] == ' ' || text[at - 1] == ',');
  };
  const size_t most = bytes_that_fit(text, width);
  const size_t part = text.rfind(kGap, most);
  if (part != std::string_view::npos && part > most / 2) return part;
  for (size_t at = most; at > 0; --at) {
    if (is_break(at)) return at;
  }
  for (size_t at = most; at < text.size(); ++at) {
    if (is_break(at)) return at;
  }
  return text.size();
}

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
    begin();
    for (size_t i = keys_; i < columns.size(); ++i) add(i, columns[i].fills);
  }

  const std::vector<std::vector<size_t>>& all() const { return blocks_; }

 private:
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
  size_t used_ = 0;
  std::vector<std::vector<size_t>> blocks_;
};

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

std::string shortened(std::string_view text, size_t width) {
  if (text_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  const size_t room = width - 1;
  if (room > kGap.size()) {
    const size_t part = text.rfind(kGap, bytes_that_fit(text, room - kGap.size()));
    if (part != std::string_view::npos && part > 0) return cat(text.substr(0, part), kGap, kMore);
  }
  return cat(text.substr(0, bytes_that_fit(text, room)), kMore);
}

std::string brief_value(std::string_view text) {
  if (text_width(text) <= kLongest) return std::string(text);
  return cat(text.substr(0, bytes_that_fit(text, kLongest - 1)), kMore);
}

std::string brief_name(std::string_view text) {
  if (text_width(text) <= kLongest) return std::string(text);
  constexpr size_t kHalf = (kLongest - 1) / 2;
  size_t end = text.size() - kHalf;
  while (end < text.size() && is_inside_character(text[end])) ++end;
  return cat(text.substr(0, bytes_that_fit(text, kHalf)), kMore, text.substr(end));
}

std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  for (;;) {
    const size_t end = line_end(text, width);
    const std::string_view line = text.substr(0, end);
    lines.emplace_back(line.substr(0, line.find_last_not_of(' ') + 1));
    const size_t next = text.find_first_not_of(' ', end);
    if (next == std::string_view::npos) return lines;
    text.remove_prefix(next);
  }
}

std::vector<std::string> table_lines(const std::vector<Column>& columns, const Rows& rows,
                                     size_t width) {
  if (!are_as_shown(columns, rows)) {
    std::vector<Column> headers = columns;
    Rows cells = rows;
    for (Column& column : headers) column.header = terminal_cell(column.header);
    for (auto& row : cells) {
      for (std::string& cell : row) cell = terminal_cell(cell);
    }
    return table_lines(headers, cells, width);
  }
  std::vector<size_t> widths = column_widths(columns, rows);
  const Blocks blocks(columns, widths, width);
  std::vector<std::string> lines;
  for (const std::vector<size_t>& block : blocks.all()) {
    const auto add_line = [&](const auto& cell) {
      std::string line;
      for (const size_t i : block) {
        const std::string text = shortened(cell(i), widths[i]);
        const std::string padding(widths[i] - text_width(text), ' ');
        line +=
            cat(i == block.front() ? "" : kGap, columns[i].right ? padding + text : text + padding);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(std::move(line));
    };
    if (!lines.empty()) lines.emplace_back();
    add_line([&](size_t i) { return columns[i].header; });
    for (const auto& row : rows) add_line([&](size_t i) { return row[i]; });
  }
  return lines;
}

}  // namespace rtrain::cli
