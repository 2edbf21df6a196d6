// host/text/template/expression_parser.h: reads the expressions of a template.
#pragma once

#include <string>
#include <string_view>

#include "host/text/template/lexeme_reader.h"
#include "host/text/template/syntax.h"

namespace rtrain::text {

class ExpressionParser : public LexemeReader {
 protected:
  explicit ExpressionParser(std::string_view source) : LexemeReader(source) {}

  ExpressionPointer expression();
  ExpressionPointer alternatives();

 private:
  using Kind = Expression::Kind;

  ExpressionPointer make(Kind kind, std::string text = "") const;
  ExpressionPointer binary(std::string op, ExpressionPointer left, ExpressionPointer right) const;
  ExpressionPointer conjunction();
  ExpressionPointer negation();
  // a < b < c is (a < b) and (b < c) in Jinja; no template has it, and it is refused.
  ExpressionPointer comparison();
  std::string comparison_operator();
  ExpressionPointer sum();
  ExpressionPointer concatenation();
  ExpressionPointer product();
  ExpressionPointer power();
  ExpressionPointer unary(bool with_filters);
  ExpressionPointer literal(Value value) const;
  ExpressionPointer number();
  ExpressionPointer primary();
  ExpressionPointer name_or_constant();
  // (a), or a tuple, which is a list here.
  ExpressionPointer parenthesis();
  ExpressionPointer called(ExpressionPointer value);
  ExpressionPointer postfixes(ExpressionPointer value);
  ExpressionPointer subscript(ExpressionPointer object);
  void arguments(Expression& call);
  ExpressionPointer filters(ExpressionPointer value);
  ExpressionPointer test(ExpressionPointer value);
  // Whether what follows is an argument of a test without parentheses: "is divisibleby 3".
  bool begins_argument() const;
};

}  // namespace rtrain::text
