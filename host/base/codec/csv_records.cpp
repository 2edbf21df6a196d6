#include "host/base/codec/csv_records.h"

#include <algorithm>
#include <array>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

class CsvText {
 public:
  CsvText(std::string_view text, char separator) : text_(text), separator_(separator) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  bool at_end() const { return place_ >= text_.size(); }

  CsvRecord record() {
    CsvRecord out{.cells = {}, .line = line_};
    do {
      out.cells.push_back(at('"') ? quoted() : plain());
    } while (take(separator_));
    take('\r');
    if (!at_end() && !take('\n')) {
      throw Error(Code::kArgument, cat("line ", line_, ": a cell goes on behind its quotes"));
    }
    ++line_;
    return out;
  }

 private:
  bool at(char c) const { return !at_end() && text_[place_] == c; }
  bool take(char c) {
    if (!at(c)) return false;
    ++place_;
    return true;
  }

  std::string plain() {
    const size_t end = text_.find_first_of(std::array{separator_, '\n'}.data(), place_, 2);
    std::string_view cell = text_.substr(place_, end - place_);
    place_ += cell.size();
    if (!at(separator_) && cell.ends_with('\r')) cell.remove_suffix(1);
    return std::string(cell);
  }

  std::string quoted() {
    const size_t line = line_;
    std::string out;
    for (++place_; !at_end(); ++place_) {
      if (at('"')) {
        ++place_;
        if (!at('"')) return out;
      }
      if (at('\n')) ++line_;
      out += text_[place_];
    }
    throw Error(Code::kArgument, cat("line ", line, ": a quoted cell has no end"));
  }

  std::string_view text_;
  char separator_;
  size_t place_ = 0;
  size_t line_ = 1;
};

}  // namespace

char csv_separator(std::string_view text) {
  constexpr std::string_view kSeparators = ",;\t";
  std::array<size_t, kSeparators.size()> counts{};
  bool is_quoted = false;
  for (const char c : text) {
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted) continue;
    if (c == '\n') break;
    if (const size_t found = kSeparators.find(c); found != std::string_view::npos) ++counts[found];
  }
  const auto most = std::max_element(counts.begin(), counts.end());
  return kSeparators[static_cast<size_t>(most - counts.begin())];
}

std::vector<CsvRecord> read_csv_records(std::string_view text, char separator) {
  std::vector<CsvRecord> out;
  CsvText rest(text, separator);
  while (!rest.at_end()) {
    CsvRecord record = rest.record();
    if (record.cells.size() > 1 || !record.cells[0].empty()) out.push_back(std::move(record));
  }
  return out;
}

}  // namespace rtrain
