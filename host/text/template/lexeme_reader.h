// host/text/template/lexeme_reader.h: the lexemes of a template, one after another, for parsers.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/text/text.h"
#include "host/text/template/lexer.h"

namespace rtrain::text {

// Wrong lexemes are Error(kArgument) with their line.
class LexemeReader {
 protected:
  explicit LexemeReader(std::string_view source) : lexemes_(lex_template(source)) {}

  const Lexeme& now() const { return lexemes_[at_]; }
  const Lexeme& after() const { return lexemes_[std::min(at_ + 1, lexemes_.size() - 1)]; }
  Lexeme take() { return lexemes_[at_ + 1 < lexemes_.size() ? at_++ : at_]; }
  bool is(LexemeKind kind, std::string_view text) const {
    return now().kind == kind && now().text == text;
  }
  bool is_operator(std::string_view text) const { return is(LexemeKind::kOperator, text); }
  bool is_name(std::string_view text) const { return is(LexemeKind::kName, text); }
  bool skip_operator(std::string_view text) {
    if (!is_operator(text)) return false;
    ++at_;
    return true;
  }
  bool skip_name(std::string_view text) {
    if (!is_name(text)) return false;
    ++at_;
    return true;
  }
  std::string shown() const {
    switch (now().kind) {
      case LexemeKind::kEnd:
        return "the end";
      case LexemeKind::kBlockEnd:
        return "'%}'";
      case LexemeKind::kOutputEnd:
        return "'}}'";
      default:
        return cat("'", now().text, "'");
    }
  }
  void expect_operator(std::string_view text) {
    if (!skip_operator(text)) {
      refuse_template(now().line, cat("expected '", text, "', got ", shown()));
    }
  }
  void expect(LexemeKind kind, std::string_view what) {
    if (now().kind != kind) refuse_template(now().line, cat("expected ", what, ", got ", shown()));
    ++at_;
  }
  void end_block() { expect(LexemeKind::kBlockEnd, "'%}'"); }
  std::string name() {
    if (now().kind != LexemeKind::kName) {
      refuse_template(now().line, cat("expected a name, got ", shown()));
    }
    return take().text;
  }

  // Guards against templates so deep that reading or running them would take all of the stack.
  struct Depth {
    explicit Depth(LexemeReader& reader) : reader(reader) {
      if (++reader.depth_ > kDeepest) {
        refuse_template(reader.now().line, cat("nested deeper than ", kDeepest, " levels"));
      }
    }
    ~Depth() { --reader.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    LexemeReader& reader;
  };

  struct Chain {
    explicit Chain(const LexemeReader& reader) : reader(reader) {}
    void next() {
      if (++length <= kLongestChain) return;
      refuse_template(reader.now().line,
                      cat("an expression of more than ", kLongestChain, " parts"));
    }
    const LexemeReader& reader;
    int length = 0;
  };

  size_t at_ = 0;

 private:
  static constexpr int kDeepest = 100;
  static constexpr int kLongestChain = 500;  // of operators, which make a tree as deep

  std::vector<Lexeme> lexemes_;
  int depth_ = 0;
};

}  // namespace rtrain::text
