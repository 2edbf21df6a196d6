#include "host/text/template/parser.h"

#include <algorithm>
#include <initializer_list>

#include "host/base/text/text.h"
#include "host/text/template/expression_parser.h"

namespace rtrain::text {
namespace {

class Parser : public ExpressionParser {
 public:
  explicit Parser(std::string_view source) : ExpressionParser(source) {}

  Statements run() {
    Statements out = statements({});
    if (now().kind != LexemeKind::kEnd) refuse_template(now().line, "a tag that ends nothing");
    return out;
  }

 private:
  // Up to a block of one of these names, which stays.
  Statements statements(std::initializer_list<std::string_view> ends) {
    const Depth depth(*this);
    Statements out;
    while (now().kind != LexemeKind::kEnd) {
      if (now().kind == LexemeKind::kBlockBegin &&
          std::find(ends.begin(), ends.end(), after().text) != ends.end()) {
        return out;
      }
      Statement made;
      made.line = now().line;
      if (now().kind == LexemeKind::kText) {
        made.text = take().text;
      } else if (now().kind == LexemeKind::kOutputBegin) {
        ++at_;
        made.kind = Statement::Kind::kOutput;
        made.value = expression();
        expect(LexemeKind::kOutputEnd, "'}}'");
      } else {
        made = block();
      }
      out.push_back(std::move(made));
    }
    if (ends.size() > 0) refuse_template(now().line, cat("'", *(ends.end() - 1), "' is missing"));
    return out;
  }

  // Skips "{% name %}" or, with more after the name, "{% name".
  std::string begin_block() {
    expect(LexemeKind::kBlockBegin, "'{%'");
    return name();
  }
  void skip_block() {
    begin_block();
    end_block();
  }

  Statement block() {
    Statement out;
    out.line = now().line;
    const std::string word = begin_block();
    if (word == "if") {
      if_block(out);
    } else if (word == "for") {
      for_block(out);
    } else if (word == "set") {
      set_block(out);
    } else if (word == "break" || word == "continue") {
      out.kind = word == "break" ? Statement::Kind::kBreak : Statement::Kind::kContinue;
      end_block();
    } else if (word == "generation") {
      out.kind = Statement::Kind::kBlock;
      end_block();
      out.body = statements({"endgeneration"});
      skip_block();
    } else {
      refuse_template(out.line, cat("the tag '", word, "' is not supported"));
    }
    return out;
  }

  void if_block(Statement& out) {
    const Depth depth(*this);
    out.kind = Statement::Kind::kIf;
    out.value = expression();
    end_block();
    out.body = statements({"elif", "else", "endif"});
    const int line = now().line;
    const std::string word = begin_block();
    if (word == "elif") {
      Statement next;
      next.line = line;
      if_block(next);
      out.other.push_back(std::move(next));
      return;
    }
    end_block();
    if (word == "endif") return;
    out.other = statements({"endif"});
    skip_block();
  }

  void for_block(Statement& out) {
    out.kind = Statement::Kind::kFor;
    do out.names.push_back(name());
    while (skip_operator(","));
    if (!skip_name("in")) refuse_template(now().line, cat("expected 'in', got ", shown()));
    out.value = alternatives();
    if (skip_name("if")) out.condition = alternatives();
    if (is_name("recursive")) refuse_template(now().line, "'recursive' is not supported");
    end_block();
    out.body = statements({"else", "endfor"});
    const std::string word = begin_block();
    end_block();
    if (word == "endfor") return;
    out.other = statements({"endfor"});
    skip_block();
  }

  void set_block(Statement& out) {
    out.kind = Statement::Kind::kSet;
    do {
      std::string target = name();
      if (skip_operator(".")) target += "." + name();
      out.names.push_back(std::move(target));
    } while (skip_operator(","));
    if (skip_operator("=")) {
      out.value = expression();
      return end_block();
    }
    if (is_operator("|")) refuse_template(now().line, "a filter of a 'set' block is not supported");
    end_block();
    out.body = statements({"endset"});
    skip_block();
  }
};

}  // namespace

Statements parse_template(std::string_view source) { return Parser(source).run(); }

}  // namespace rtrain::text
