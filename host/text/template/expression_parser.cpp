#include "host/text/template/expression_parser.h"

#include <charconv>

namespace rtrain::text {

ExpressionPointer ExpressionParser::make(Kind kind, std::string text) const {
  auto out = std::make_unique<Expression>();
  out->kind = kind;
  out->line = now().line;
  out->text = std::move(text);
  return out;
}

ExpressionPointer ExpressionParser::binary(std::string op, ExpressionPointer left,
                                           ExpressionPointer right) const {
  auto out = make(Kind::kBinary, std::move(op));
  out->parts.push_back(std::move(left));
  out->parts.push_back(std::move(right));
  return out;
}

ExpressionPointer ExpressionParser::expression() {
  const Depth depth(*this);
  ExpressionPointer value = alternatives();
  Chain chain(*this);
  while (skip_name("if")) {
    chain.next();
    auto out = make(Kind::kConditional);
    out->parts.push_back(alternatives());
    out->parts.push_back(std::move(value));
    out->parts.push_back(skip_name("else") ? expression() : nullptr);
    value = std::move(out);
  }
  return value;
}

ExpressionPointer ExpressionParser::alternatives() {
  ExpressionPointer out = conjunction();
  Chain chain(*this);
  while (skip_name("or")) {
    chain.next();
    out = binary("or", std::move(out), conjunction());
  }
  return out;
}

ExpressionPointer ExpressionParser::conjunction() {
  ExpressionPointer out = negation();
  Chain chain(*this);
  while (skip_name("and")) {
    chain.next();
    out = binary("and", std::move(out), negation());
  }
  return out;
}

ExpressionPointer ExpressionParser::negation() {
  const Depth depth(*this);
  if (!skip_name("not")) return comparison();
  auto out = make(Kind::kUnary, "not");
  out->parts.push_back(negation());
  return out;
}

ExpressionPointer ExpressionParser::comparison() {
  ExpressionPointer out = sum();
  std::string op = comparison_operator();
  if (op.empty()) return out;
  out = binary(op, std::move(out), sum());
  if (!comparison_operator().empty()) {
    refuse_template(now().line, "a chain of comparisons is not supported");
  }
  return out;
}

std::string ExpressionParser::comparison_operator() {
  for (const char* op : {"==", "!=", "<=", ">=", "<", ">"}) {
    if (skip_operator(op)) return op;
  }
  if (skip_name("in")) return "in";
  if (is_name("not") && after().kind == LexemeKind::kName && after().text == "in") {
    at_ += 2;
    return "not in";
  }
  return "";
}

ExpressionPointer ExpressionParser::sum() {
  ExpressionPointer out = concatenation();
  Chain chain(*this);
  while (is_operator("+") || is_operator("-")) {
    chain.next();
    std::string op = take().text;
    out = binary(std::move(op), std::move(out), concatenation());
  }
  return out;
}

ExpressionPointer ExpressionParser::concatenation() {
  ExpressionPointer out = product();
  Chain chain(*this);
  while (skip_operator("~")) {
    chain.next();
    out = binary("~", std::move(out), product());
  }
  return out;
}

ExpressionPointer ExpressionParser::product() {
  ExpressionPointer out = power();
  Chain chain(*this);
  while (is_operator("*") || is_operator("/") || is_operator("//") || is_operator("%")) {
    chain.next();
    std::string op = take().text;
    out = binary(std::move(op), std::move(out), power());
  }
  return out;
}

ExpressionPointer ExpressionParser::power() {
  ExpressionPointer out = unary(true);
  Chain chain(*this);
  while (skip_operator("**")) {
    chain.next();
    out = binary("**", std::move(out), unary(true));
  }
  return out;
}

ExpressionPointer ExpressionParser::unary(bool with_filters) {
  const Depth depth(*this);
  ExpressionPointer out;
  if (is_operator("-") || is_operator("+")) {
    out = make(Kind::kUnary, take().text);
    out->parts.push_back(unary(false));
  } else {
    out = postfixes(primary());
  }
  return with_filters ? filters(std::move(out)) : std::move(out);
}

ExpressionPointer ExpressionParser::literal(Value value) const {
  auto out = make(Kind::kLiteral);
  out->literal = std::move(value);
  return out;
}

ExpressionPointer ExpressionParser::number() {
  const Lexeme lexeme = take();
  if (lexeme.kind == LexemeKind::kFloat) return literal(std::stod(lexeme.text));
  int64_t value = 0;
  const char* const end = lexeme.text.data() + lexeme.text.size();
  if (std::from_chars(lexeme.text.data(), end, value).ptr != end) {
    refuse_template(lexeme.line, cat("the number ", lexeme.text, " is too large"));
  }
  return literal(value);
}

ExpressionPointer ExpressionParser::primary() {
  switch (now().kind) {
    case LexemeKind::kName:
      return name_or_constant();
    case LexemeKind::kString: {
      std::string text = take().text;
      while (now().kind == LexemeKind::kString) text += take().text;
      return literal(std::move(text));
    }
    case LexemeKind::kInteger:
    case LexemeKind::kFloat:
      return number();
    default:
      break;
  }
  if (skip_operator("(")) return parenthesis();
  if (skip_operator("[")) {
    auto out = make(Kind::kList);
    while (!skip_operator("]")) {
      out->parts.push_back(expression());
      if (!is_operator("]")) expect_operator(",");
    }
    return out;
  }
  if (skip_operator("{")) {
    auto out = make(Kind::kMap);
    while (!skip_operator("}")) {
      out->parts.push_back(expression());
      expect_operator(":");
      out->parts.push_back(expression());
      if (!is_operator("}")) expect_operator(",");
    }
    return out;
  }
  refuse_template(now().line, cat("unexpected ", shown()));
}

ExpressionPointer ExpressionParser::name_or_constant() {
  const std::string word = take().text;
  if (word == "true" || word == "True") return literal(true);
  if (word == "false" || word == "False") return literal(false);
  if (word == "none" || word == "None") return literal(Value());
  return make(Kind::kName, word);
}

ExpressionPointer ExpressionParser::parenthesis() {
  if (skip_operator(")")) return make(Kind::kList);
  ExpressionPointer first = expression();
  if (skip_operator(")")) return first;
  auto out = make(Kind::kList);
  out->parts.push_back(std::move(first));
  while (!skip_operator(")")) {
    expect_operator(",");
    if (!is_operator(")")) out->parts.push_back(expression());
  }
  return out;
}

ExpressionPointer ExpressionParser::called(ExpressionPointer value) {
  auto out = make(Kind::kCall);
  out->parts.push_back(std::move(value));
  arguments(*out);
  return out;
}

ExpressionPointer ExpressionParser::postfixes(ExpressionPointer value) {
  for (Chain chain(*this);; chain.next()) {
    if (skip_operator(".")) {
      auto out = make(now().kind == LexemeKind::kInteger ? Kind::kItem : Kind::kMember);
      out->parts.push_back(std::move(value));
      if (out->kind == Kind::kItem) {
        out->parts.push_back(number());
      } else {
        out->text = name();
      }
      value = std::move(out);
    } else if (skip_operator("[")) {
      value = subscript(std::move(value));
    } else if (is_operator("(")) {
      value = called(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPointer ExpressionParser::subscript(ExpressionPointer object) {
  auto out = make(Kind::kItem);
  out->parts.push_back(std::move(object));
  const auto bound = [&]() -> ExpressionPointer {
    return is_operator(":") || is_operator("]") ? nullptr : expression();
  };
  out->parts.push_back(bound());
  while (skip_operator(":")) {
    out->kind = Kind::kSlice;
    out->parts.push_back(bound());
  }
  if (out->kind == Kind::kSlice) out->parts.resize(4);
  if (out->kind == Kind::kItem && out->parts[1] == nullptr) {
    refuse_template(now().line, "an empty subscript");
  }
  expect_operator("]");
  return out;
}

void ExpressionParser::arguments(Expression& call) {
  expect_operator("(");
  while (!skip_operator(")")) {
    if (is_operator("*") || is_operator("**")) {
      refuse_template(now().line, "'*' of arguments is not supported");
    }
    if (now().kind == LexemeKind::kName && after().kind == LexemeKind::kOperator &&
        after().text == "=") {
      std::string key = name();
      ++at_;
      call.named.emplace_back(std::move(key), expression());
    } else {
      call.parts.push_back(expression());
    }
    if (!is_operator(")")) expect_operator(",");
  }
}

ExpressionPointer ExpressionParser::filters(ExpressionPointer value) {
  for (Chain chain(*this);; chain.next()) {
    if (skip_operator("|")) {
      auto out = make(Kind::kFilter);
      out->parts.push_back(std::move(value));
      out->text = name();
      if (is_operator("(")) arguments(*out);
      value = std::move(out);
    } else if (skip_name("is")) {
      value = test(std::move(value));
    } else if (is_operator("(")) {
      value = called(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPointer ExpressionParser::test(ExpressionPointer value) {
  const bool is_negated = skip_name("not");
  auto out = make(Kind::kTest);
  out->parts.push_back(std::move(value));
  out->text = name();
  if (is_operator("(")) {
    arguments(*out);
  } else if (begins_argument()) {
    out->parts.push_back(postfixes(primary()));
  }
  if (!is_negated) return out;
  auto negated = make(Kind::kUnary, "not");
  negated->parts.push_back(std::move(out));
  return negated;
}

bool ExpressionParser::begins_argument() const {
  switch (now().kind) {
    case LexemeKind::kString:
    case LexemeKind::kInteger:
    case LexemeKind::kFloat:
      return true;
    case LexemeKind::kName:
      for (const char* word : {"else", "or", "and", "is", "if", "in", "not"}) {
        if (now().text == word) return false;
      }
      return true;
    default:
      return is_operator("[") || is_operator("{");
  }
}

}  // namespace rtrain::text
