#include "host/text/patterns/ruby_syntax.h"

#include <cctype>
#include <utility>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::text {
namespace {

constexpr std::string_view kWordSet = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
// Outside of sets Oniguruma also counts the other numbers of Latin-1 among the characters of words.
constexpr std::string_view kWordOutside =
    "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}";
constexpr std::string_view kSpaceSet = "\\t-\\r\\x{85}\\p{Z}";
constexpr std::string_view kHexSet = "0-9A-Fa-f";

class Rewriter {
 public:
  explicit Rewriter(std::string_view in) : in_(in) {}

  std::string run() {
    while (at_ < in_.size()) step();
    return std::move(out_);
  }

 private:
  bool at_end() const { return at_ >= in_.size(); }
  bool starts(std::string_view text) const { return in_.substr(at_).starts_with(text); }

  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(Code::kArgument,
                cat("pattern '", in_, "': ", what, " at byte ", at_ + 1, " is not supported"));
  }

  // Where the last thing that can be repeated begins in out_.
  void begin_atom() { atom_ = out_.size(); }

  void step() {
    const char c = in_[at_];
    if (c == '\\') {
      begin_atom();
      escape(false);
    } else if (c == '[') {
      begin_atom();
      set();
    } else if (c == '(') {
      open_group();
    } else if (c == ')') {
      if (!groups_.empty()) {
        atom_ = groups_.back();
        groups_.pop_back();
      }
      copy(1);
    } else if (c == '{') {
      interval();
    } else {
      if (c != '*' && c != '+' && c != '?') begin_atom();
      copy(1);
    }
  }

  void copy(size_t count) {
    out_ += in_.substr(at_, count);
    at_ += count;
  }

  void open_group() {
    groups_.push_back(out_.size());
    if (starts("(?#")) {
      const size_t end = in_.find(')', at_);
      at_ = end == in_.npos ? in_.size() : end + 1;
      groups_.pop_back();
      return;
    }
    if (starts("(?~")) refuse("the absence operator");
    if (!starts("(?") || at_ + 2 >= in_.size()) return copy(1);
    const char next = in_[at_ + 2];
    if (next != '-' && std::isalpha(static_cast<unsigned char>(next)) == 0) return copy(2);
    copy(2);
    // Ruby's m lets the dot match a line break, PCRE2's s does.
    for (; !at_end() && in_[at_] != ':' && in_[at_] != ')'; ++at_) {
      out_ += in_[at_] == 'm' ? 's' : in_[at_];
    }
    if (!at_end() && in_[at_] == ')') groups_.pop_back();
    if (!at_end()) copy(1);
  }

  // {n,m}+ repeats the interval in Ruby, and makes it possessive in PCRE2.
  void interval() {
    const size_t close = in_.find('}', at_);
    const bool is_interval =
        close != in_.npos && close > at_ + 1 &&
        in_.substr(at_ + 1, close - at_ - 1).find_first_not_of("0123456789,") == in_.npos;
    if (!is_interval) {
      begin_atom();
      out_ += '\\';
      return copy(1);
    }
    const std::string_view inside = in_.substr(at_ + 1, close - at_ - 1);
    if (inside.starts_with(',')) {
      out_ += "{0";
      ++at_;
    }
    copy(close + 1 - at_);
    if (at_end() || (in_[at_] != '+' && in_[at_] != '*')) return;
    out_.insert(atom_, "(?:");
    out_ += ')';
  }

  void put_set(std::string_view members, bool is_negated, bool in_set) {
    if (in_set) {
      if (is_negated) refuse("a negated class in a set");
      out_ += members;
    } else {
      out_ += cat(is_negated ? "[^" : "[", members, "]");
    }
  }

  void escape(bool in_set) {
    if (at_ + 1 >= in_.size()) {
      throw Error(Code::kArgument, cat("pattern '", in_, "' ends with a backslash"));
    }
    const char c = in_[at_ + 1];
    const std::string_view word = kWordOutside;
    at_ += 2;
    switch (c) {
      case 'w':
        return put_set(in_set ? kWordSet : kWordOutside, false, in_set);
      case 'W':
        return put_set(kWordOutside, true, in_set);
      case 's':
        return put_set(kSpaceSet, false, in_set);
      case 'S':
        if (in_set) break;
        return put_set(kSpaceSet, true, in_set);
      case 'h':
        return put_set(kHexSet, false, in_set);
      case 'H':
        return put_set(kHexSet, true, in_set);
      case 'b':
        if (in_set) break;
        out_ += cat("(?:(?<=[", word, "])(?![", word, "])|(?<![", word, "])(?=[", word, "]))");
        return;
      case 'B':
        if (in_set) break;
        out_ += cat("(?:(?<=[", word, "])(?=[", word, "])|(?<![", word, "])(?![", word, "]))");
        return;
      case 'u':
        if (at_ + 4 > in_.size()) refuse("\\u without four digits");
        out_ += cat("\\x{", in_.substr(at_, 4), "}");
        at_ += 4;
        return;
      case 'Q':
      case 'E':
      case 'C':
        out_ += c;
        return;
      case 'y':
      case 'Y':
      case 'M':
        at_ -= 2;
        refuse("this escape");
      case 'p':
      case 'P': {
        out_ += cat("\\", c);
        const size_t close = in_.find('}', at_);
        if (at_end() || in_[at_] != '{' || close == in_.npos) return;
        return copy(close + 1 - at_);
      }
      default:
        break;
    }
    out_ += cat("\\", c);
    if (static_cast<unsigned char>(c) >= 0x80) out_.erase(out_.size() - 2, 1);
  }

  // A set; one inside it that is not negated joins it.
  void set() {
    copy(1);
    if (starts("^")) copy(1);
    if (starts("]")) {
      out_ += '\\';
      copy(1);
    }
    members();
    if (at_end()) throw Error(Code::kArgument, cat("pattern '", in_, "': a set has no end"));
    copy(1);
  }

  void members() {
    while (!at_end() && in_[at_] != ']') {
      if (starts("&&")) refuse("an intersection of sets");
      if (in_[at_] == '\\') {
        escape(true);
      } else if (starts("[:")) {
        named_set();
      } else if (in_[at_] == '[') {
        inner_set();
      } else {
        copy(1);
      }
    }
  }

  // "[:punct:]": PCRE2's sets of these names have other members.
  void named_set() {
    static constexpr std::pair<std::string_view, std::string_view> kSets[] = {
        {"[:alnum:]", "\\p{Alphabetic}\\p{Nd}"},
        {"[:alpha:]", "\\p{Alphabetic}"},
        {"[:blank:]", "\\t\\p{Zs}"},
        {"[:cntrl:]", "\\p{Cc}"},
        {"[:digit:]", "\\p{Nd}"},
        {"[:lower:]", "\\p{Lowercase}"},
        {"[:punct:]", "\\p{P}\\p{S}"},
        {"[:space:]", kSpaceSet},
        {"[:upper:]", "\\p{Uppercase}"},
        {"[:word:]", kWordSet},
    };
    for (const auto& [name, members] : kSets) {
      if (!starts(name)) continue;
      out_ += members;
      at_ += name.size();
      return;
    }
    const size_t end = in_.find(":]", at_);
    copy(end == in_.npos ? 1 : end + 2 - at_);
  }

  void inner_set() {
    if (in_.find(']', at_) == in_.npos) refuse("a '['");
    if (++depth_ > 50) refuse("a set so deep in others");
    ++at_;
    if (starts("^")) refuse("a negated set in a set");
    members();
    if (at_end()) throw Error(Code::kArgument, cat("pattern '", in_, "': a set has no end"));
    ++at_;
    --depth_;
  }

  std::string_view in_;
  size_t at_ = 0;
  std::string out_;
  size_t atom_ = 0;
  int depth_ = 0;
  std::vector<size_t> groups_;
};

}  // namespace

std::string to_pcre2(std::string_view expression) { return Rewriter(expression).run(); }

}  // namespace rtrain::text
