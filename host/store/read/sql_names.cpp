#include "host/store/read/sql_names.h"

#include <cctype>

namespace rtrain::store {
namespace {

bool begins_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalpha(byte) != 0 || c == '_' || byte >= 0x80;
}

bool continues_name(char c) {
  return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '$';
}

class Scanner {
 public:
  explicit Scanner(std::string_view sql) : sql_(sql) {}

  std::vector<SqlName> run() {
    while (at_ < sql_.size()) step();
    return std::move(names_);
  }

 private:
  char next(size_t ahead = 0) const { return at_ + ahead < sql_.size() ? sql_[at_ + ahead] : '\0'; }

  void step() {
    const char c = next();
    if (c == '\'') {
      quoted('\'');
    } else if (c == '"' || c == '`') {
      add_quoted(c);
    } else if (c == '[') {
      add_quoted(']');
    } else if (c == '-' && next(1) == '-') {
      skip_behind("\n");
    } else if (c == '/' && next(1) == '*') {
      skip_behind("*/");
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      while (continues_name(next())) ++at_;  // numbers such as 1e5, 0xff
    } else if (begins_name(c)) {
      add_plain();
    } else {
      ++at_;
    }
  }

  void skip_behind(std::string_view end) {
    const size_t found = sql_.find(end, at_ + 2);
    at_ = found == std::string_view::npos ? sql_.size() : found + end.size();
  }

  // Reads the quoted text that begins here. A doubled quote stands for one.
  std::string quoted(char end) {
    std::string out;
    for (++at_; at_ < sql_.size(); ++at_) {
      if (next() == end && next(1) == end && end != ']') {
        ++at_;
      } else if (next() == end) {
        ++at_;
        break;
      }
      out += next();
    }
    return out;
  }

  void add_quoted(char end) {
    const size_t begin = at_;
    std::string name = quoted(end);
    names_.push_back({begin, at_, std::move(name), true});
  }

  void add_plain() {
    const size_t begin = at_;
    while (continues_name(next())) ++at_;
    const size_t end = at_;
    if (next() == '\'') return;  // x'53514c'
    const size_t behind = sql_.find_first_not_of(" \t\r\n", at_);
    const bool is_function = behind != std::string_view::npos && sql_[behind] == '(';
    std::string name(sql_.substr(begin, end - begin));
    if (!is_function) names_.push_back({begin, end, std::move(name), false});
  }

  std::string_view sql_;
  size_t at_ = 0;
  std::vector<SqlName> names_;
};

}  // namespace

std::vector<SqlName> names_in_sql(std::string_view sql) { return Scanner(sql).run(); }

}  // namespace rtrain::store
