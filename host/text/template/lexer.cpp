#include "host/text/template/lexer.h"

#include <algorithm>
#include <cctype>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {

void refuse_template(int line, std::string_view what) {
  throw Error(Code::kArgument, cat("chat template, line ", line, ": ", what));
}

namespace {

bool is_name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {
    if (source_.ends_with('\n')) source_.remove_suffix(1);
    if (source_.ends_with('\r')) source_.remove_suffix(1);
  }

  std::vector<Lexeme> run() {
    while (at_ < source_.size()) {
      text();
      if (at_ < source_.size()) tag();
    }
    add(LexemeKind::kEnd, "");
    return std::move(out_);
  }

 private:
  bool starts(std::string_view what) const { return source_.substr(at_).starts_with(what); }
  void add(LexemeKind kind, std::string text) { out_.push_back({kind, std::move(text), line_}); }

  void advance(size_t count) {
    line_ +=
        static_cast<int>(std::count(source_.begin() + static_cast<ptrdiff_t>(at_),
                                    source_.begin() + static_cast<ptrdiff_t>(at_ + count), '\n'));
    at_ += count;
  }

  // Text up to the next tag, without the white space that the tag takes.
  void text() {
    size_t end = at_;
    while (end < source_.size()) {
      end = std::min(source_.find('{', end), source_.size());
      const char next = end + 1 < source_.size() ? source_[end + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') break;
      if (end < source_.size()) ++end;
    }
    std::string_view part = source_.substr(at_, end - at_);
    if (strips_next_) {
      while (!part.empty() && std::isspace(static_cast<unsigned char>(part[0])) != 0) {
        part.remove_prefix(1);
      }
    } else if (trims_next_) {
      if (part.starts_with('\n')) part.remove_prefix(1);
      if (part.starts_with("\r\n")) part.remove_prefix(2);
    }
    strips_next_ = trims_next_ = false;
    if (end < source_.size()) {
      const char sign = end + 2 < source_.size() ? source_[end + 2] : '\0';
      if (sign == '-') {
        while (!part.empty() && std::isspace(static_cast<unsigned char>(part.back())) != 0) {
          part.remove_suffix(1);
        }
      } else if (sign != '+' && source_[end + 1] != '{') {
        strip_indentation(part, end);
      }
    }
    if (!part.empty()) add(LexemeKind::kText, std::string(part));
    advance(end - at_);
  }

  // Takes blanks before a block that is the first thing of its line.
  void strip_indentation(std::string_view& part, size_t end) const {
    size_t begin = end;
    while (begin > 0 && (source_[begin - 1] == ' ' || source_[begin - 1] == '\t')) --begin;
    if (begin > 0 && source_[begin - 1] != '\n') return;
    const size_t blanks = std::min(end - begin, part.size());
    part.remove_suffix(blanks);
  }

  void tag() {
    const char kind = source_[at_ + 1];
    const int line = line_;
    advance(2);
    if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) advance(1);
    if (kind == '#') return comment(line);
    const bool is_block = kind == '%';
    add(is_block ? LexemeKind::kBlockBegin : LexemeKind::kOutputBegin, "");
    const std::string_view close = is_block ? "%}" : "}}";
    int open = 0;  // braces of maps
    while (true) {
      while (at_ < source_.size() && std::isspace(static_cast<unsigned char>(source_[at_])) != 0) {
        advance(1);
      }
      if (at_ >= source_.size()) refuse_template(line, "a tag has no end");
      const bool is_signed = starts("-") || starts("+");
      if (open == 0 && source_.substr(at_ + (is_signed ? 1 : 0)).starts_with(close)) {
        strips_next_ = source_[at_] == '-';
        trims_next_ = is_block && source_[at_] != '+';
        advance(close.size() + (is_signed ? 1 : 0));
        break;
      }
      if (source_[at_] == '{') ++open;
      if (source_[at_] == '}') --open;
      lexeme();
    }
    add(is_block ? LexemeKind::kBlockEnd : LexemeKind::kOutputEnd, "");
  }

  void comment(int line) {
    const size_t end = source_.find("#}", at_);
    if (end == source_.npos) refuse_template(line, "a comment has no end");
    strips_next_ = end > at_ && source_[end - 1] == '-';
    trims_next_ = end == at_ || source_[end - 1] != '+';
    advance(end + 2 - at_);
  }

  void lexeme() {
    const char c = source_[at_];
    if (c == '\'' || c == '"') return string(c);
    size_t end = at_;
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      while (end < source_.size() && std::isdigit(static_cast<unsigned char>(source_[end])) != 0) {
        ++end;
      }
      bool is_float = false;
      if (end + 1 < source_.size() && source_[end] == '.' &&
          std::isdigit(static_cast<unsigned char>(source_[end + 1])) != 0) {
        is_float = true;
        ++end;
        while (end < source_.size() &&
               std::isdigit(static_cast<unsigned char>(source_[end])) != 0) {
          ++end;
        }
      }
      add(is_float ? LexemeKind::kFloat : LexemeKind::kInteger,
          std::string(source_.substr(at_, end - at_)));
      return advance(end - at_);
    }
    if (is_name_part(c)) {
      while (end < source_.size() && is_name_part(source_[end])) ++end;
      add(LexemeKind::kName, std::string(source_.substr(at_, end - at_)));
      return advance(end - at_);
    }
    for (const std::string_view two : {"==", "!=", "<=", ">=", "//", "**"}) {
      if (!starts(two)) continue;
      add(LexemeKind::kOperator, std::string(two));
      return advance(2);
    }
    if (std::string_view("+-*/%~<>=.,:|()[]{}").find(c) == std::string_view::npos) {
      refuse_template(line_, cat("unexpected '", c, "'"));
    }
    add(LexemeKind::kOperator, std::string(1, c));
    advance(1);
  }

  void string(char quote) {
    std::string out;
    const int line = line_;
    size_t at = at_ + 1;
    for (;; ++at) {
      if (at >= source_.size()) refuse_template(line, "a string has no end");
      if (source_[at] == quote) break;
      if (source_[at] != '\\' || at + 1 >= source_.size()) {
        out += source_[at];
        continue;
      }
      at = escape(at + 1, out);
    }
    add(LexemeKind::kString, std::move(out));
    advance(at + 1 - at_);
  }

  // Returns the position of the escape's last character.
  size_t escape(size_t at, std::string& out) const {
    static constexpr std::string_view kNames = "ntrfvab0\\'\"";
    static constexpr std::string_view kValues("\n\t\r\f\v\a\b\0\\'\"", 11);
    const char c = source_[at];
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits > 0) {
      char32_t code = 0;
      for (size_t i = 1; i <= digits; ++i) {
        const char digit = at + i < source_.size() ? source_[at + i] : '\0';
        if (std::isxdigit(static_cast<unsigned char>(digit)) == 0) {
          refuse_template(line_, "a wrong escape in a string");
        }
        code = code * 16 + static_cast<char32_t>(std::stoi(std::string(1, digit), nullptr, 16));
      }
      if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        refuse_template(line_, "an escape that is not a character");
      }
      append_character(out, code);
      return at + digits;
    }
    const size_t known = kNames.find(c);
    if (known == kNames.npos) {
      out += '\\';
      if (c != '\n') out += c;
    } else {
      out += kValues[known];
    }
    return at;
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool strips_next_ = false, trims_next_ = false;
  std::vector<Lexeme> out_;
};

}  // namespace

std::vector<Lexeme> lex_template(std::string_view source) { return Lexer(source).run(); }

}  // namespace rtrain::text
