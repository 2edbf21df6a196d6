#include "host/base/csv_records.h"

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

class CsvText {
 public:
  explicit CsvText(std::string_view text) : text_(text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  bool at_end() const { return place_ >= text_.size(); }

  CsvRecord record() {
    CsvRecord out{.cells = {}, .line = line_};
    do {
      out.cells.push_back(at('"') ? quoted() : plain());
    } while (take(','));
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
    const size_t end = text_.find_first_of(",\n", place_);
    std::string_view cell = text_.substr(place_, end - place_);
    place_ += cell.size();
    if (!at(',') && cell.ends_with('\r')) cell.remove_suffix(1);
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
  size_t place_ = 0;
  size_t line_ = 1;
};

}  // namespace

std::vector<CsvRecord> read_csv_records(std::string_view text) {
  std::vector<CsvRecord> out;
  CsvText rest(text);
  while (!rest.at_end()) {
    CsvRecord record = rest.record();
    if (record.cells.size() > 1 || !record.cells[0].empty()) out.push_back(std::move(record));
  }
  return out;
}

}  // namespace rtrain
