#include "host/text/patterns/ruby_syntax.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <utility>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/patterns/regex.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

constexpr std::string_view kWordSet = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
// Outside of sets Oniguruma also counts the other numbers of Latin-1 among the characters of words.
constexpr std::string_view kWordOutside =
    "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}";
constexpr std::string_view kSpaceSet = "\\t-\\r\\x{85}\\p{Z}";
constexpr std::string_view kHexSet = "0-9A-Fa-f";

// One character, of which a set of PCRE2 has some and other expressions match the rest.
struct OneOf {
  std::string members;
  std::vector<std::string> others;
};

std::string expression_of(const OneOf& set, bool is_negated) {
  if (set.others.empty() && set.members.empty()) return is_negated ? "(?s:.)" : "(?!)";
  const bool is_special =
      !set.members.empty() && std::string_view("^.=:").find(set.members[0]) != std::string::npos;
  const std::string members = cat(is_special ? "\\" : "", set.members, "]");
  if (set.others.empty()) return cat(is_negated ? "[^" : "[", members);
  std::vector<std::string> parts = set.others;
  if (!set.members.empty()) parts.insert(parts.begin(), cat("[", members));
  if (is_negated) return cat("(?:(?!", join(parts, "|"), ")(?s:.))");
  return parts.size() == 1 ? parts[0] : cat("(?>", join(parts, "|"), ")");
}

bool is_script(std::string_view name) {
  try {
    const Regex compiled(cat("\\p{sc:", name, "}"), name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The set of all characters that this expression matches, without regard to case.
std::string members_of(const std::string& expression, std::string_view shown) {
  std::string all;
  for (char32_t code = 0; code <= 0x10ffff; ++code) {
    if (code < 0xd800 || code > 0xdfff) append_character(all, code);
  }
  std::vector<Match> runs;
  Regex(cat("(?:", expression, ")++"), shown).find(all, runs);
  std::string out;
  char digits[40];
  for (const Match& run : runs) {
    if (!run.is_match) continue;
    const char32_t last = character_at(all, start_of_last(all, run.end)).code;
    std::snprintf(digits, sizeof(digits), "\\x{%x}-\\x{%x}",
                  static_cast<unsigned>(character_at(all, run.begin).code),
                  static_cast<unsigned>(last));
    out += digits;
  }
  return out;
}

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
        atom_ = groups_.back().begin;
        ignores_case_ = groups_.back().outer_ignores_case;
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
    groups_.push_back({out_.size(), ignores_case_});
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
    bool is_on = true;
    for (; !at_end() && in_[at_] != ':' && in_[at_] != ')'; ++at_) {
      out_ += in_[at_] == 'm' ? 's' : in_[at_];
      if (in_[at_] == '-') is_on = false;
      if (in_[at_] == 'i') ignores_case_ = is_on;
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
    if (!in_set) {
      out_ += cat(is_negated ? "[^" : "[", members, "]");
    } else if (is_negated) {
      others_.push_back(cat("[^", members, "]"));
    } else {
      out_ += members;
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
        return put_set(in_set ? kWordSet : kWordOutside, true, in_set);
      case 's':
        return put_set(kSpaceSet, false, in_set);
      case 'S':
        if (in_set) {
          out_ += "\\S\\x{180e}";
          return;
        }
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
        has_property_ = true;
        out_ += cat("\\", c);
        const size_t close = in_.find('}', at_);
        if (at_end() || in_[at_] != '{' || close == in_.npos) return;
        copy(starts("{^") ? 2 : 1);
        // In PCRE2 the name alone has the script's extensions too, "。" with Han.
        if (is_script(in_.substr(at_, close - at_))) out_ += "sc:";
        return copy(close + 1 - at_);
      }
      default:
        break;
    }
    out_ += cat("\\", c);
    if (static_cast<unsigned char>(c) >= 0x80) out_.erase(out_.size() - 2, 1);
  }

  void set() {
    has_property_ = false;
    auto [made, is_negated] = read_set();
    // The set is made first and then ignores case: "[a-z&&[^A]]" has the a, and so the A. PCRE2
    // does that for single characters alone.
    if (ignores_case_ && (has_property_ || !made.others.empty())) {
      if (++num_resolved_ > 100) refuse("the 101st set that ignores case");
      made = {members_of(expression_of(made, false), in_), {}};
    }
    out_ += expression_of(made, is_negated);
  }

  // A set, and whether it is negated.
  std::pair<OneOf, bool> read_set() {
    if (++depth_ > 50) refuse("a set so deep in others");
    const OneOf outer = take_set();
    can_begin_range_ = false;
    ++at_;
    const bool is_negated = starts("^");
    if (is_negated) ++at_;
    if (starts("]")) {
      out_ += '\\';
      copy(1);
      can_begin_range_ = true;
    }
    std::string intersection;
    while (!at_end() && in_[at_] != ']') {
      if (!starts("&&")) {
        member();
        continue;
      }
      at_ += 2;
      can_begin_range_ = false;
      intersection += cat("(?=", expression_of(take_set(), false), ")");
    }
    if (at_end()) throw Error(Code::kArgument, cat("pattern '", in_, "': a set has no end"));
    ++at_;
    OneOf made = take_set();
    if (!intersection.empty()) {
      made = {"", {cat("(?:", intersection, expression_of(made, false), ")")}};
    }
    out_ = outer.members;
    others_ = outer.others;
    can_begin_range_ = false;
    --depth_;
    return {std::move(made), is_negated};
  }

  // What was read of the set.
  OneOf take_set() { return {std::exchange(out_, {}), std::exchange(others_, {})}; }

  void member() {
    const bool can_begin_range = std::exchange(can_begin_range_, false);
    if (in_[at_] == '-') {
      hyphen(can_begin_range);
    } else if (starts("[:")) {
      named_set();
    } else if (in_[at_] == '[') {
      inner_set();
    } else {
      const bool is_class = is_class_at(at_);
      character();
      can_begin_range_ = !is_class;
    }
  }

  void character() {
    if (in_[at_] == '\\') return escape(true);
    const size_t bytes = bytes_of_first(static_cast<unsigned char>(in_[at_]));
    copy(std::min(bytes, in_.size() - at_));
  }

  bool is_class_at(size_t at) const {
    constexpr std::string_view kClasses = "wWsSdDhHpP";
    return in_[at] == '\\' && at + 1 < in_.size() && kClasses.find(in_[at + 1]) != in_.npos;
  }

  // Where it makes no range, as in "[\d-z]", PCRE2 wants a backslash.
  void hyphen(bool can_begin_range) {
    const bool is_range = can_begin_range && at_ + 1 < in_.size() && in_[at_ + 1] != ']' &&
                          in_[at_ + 1] != '[' && !starts("-&&") && !is_class_at(at_ + 1);
    if (!is_range) out_ += '\\';
    copy(1);
    if (is_range) character();
    can_begin_range_ = !is_range;
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
    const bool is_negated = starts("[:^");
    for (const auto& [name, members] : kSets) {
      const std::string_view end = name.substr(2);
      if (!in_.substr(at_ + (is_negated ? 3 : 2)).starts_with(end)) continue;
      at_ += name.size() + (is_negated ? 1 : 0);
      has_property_ = true;
      return put_set(members, is_negated, true);
    }
    const size_t end = in_.find(":]", at_);
    copy(end == in_.npos ? 1 : end + 2 - at_);
  }

  // One that is not negated joins the set around it.
  void inner_set() {
    if (in_.find(']', at_) == in_.npos) refuse("a '['");
    auto [inner, is_negated] = read_set();
    if (is_negated) {
      others_.push_back(expression_of(inner, true));
      return;
    }
    others_.insert(others_.end(), inner.others.begin(), inner.others.end());
    out_ += inner.members;
  }

  std::string_view in_;
  size_t at_ = 0;
  std::string out_;
  std::vector<std::string> others_;  // of the set that is being read, whose members are out_
  size_t atom_ = 0;
  int depth_ = 0;
  int num_resolved_ = 0;
  bool ignores_case_ = false;
  bool has_property_ = false;     // the set has a \p{…} or [:…:]
  bool can_begin_range_ = false;  // the last member of the set is one character
  struct Group {
    size_t begin = 0;
    bool outer_ignores_case = false;
  };
  std::vector<Group> groups_;
};

}  // namespace

std::string to_pcre2(std::string_view expression) { return Rewriter(expression).run(); }

}  // namespace rtrain::text
