#include "host/text/template/parser.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "host/base/text/text.h"
#include "host/text/template/lexer.h"

namespace rtrain::text {
namespace {

using Kind = Expression::Kind;

constexpr int kDeepest = 100;
constexpr int kLongestChain = 500;  // of operators, which make a tree as deep

class Parser {
 public:
  explicit Parser(std::string_view source) : lexemes_(lex_template(source)) {}

  Statements run() {
    Statements out = statements({});
    if (now().kind != LexemeKind::kEnd) refuse_template(now().line, "a tag that ends nothing");
    return out;
  }

 private:
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
    explicit Depth(Parser& parser) : parser(parser) {
      if (++parser.depth_ > kDeepest) {
        refuse_template(parser.now().line, cat("nested deeper than ", kDeepest, " levels"));
      }
    }
    ~Depth() { --parser.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    Parser& parser;
  };

  struct Chain {
    explicit Chain(const Parser& parser) : parser(parser) {}
    void next() {
      if (++length <= kLongestChain) return;
      refuse_template(parser.now().line,
                      cat("an expression of more than ", kLongestChain, " parts"));
    }
    const Parser& parser;
    int length = 0;
  };

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

  ExpressionPointer make(Kind kind, std::string text = "") const {
    auto out = std::make_unique<Expression>();
    out->kind = kind;
    out->line = now().line;
    out->text = std::move(text);
    return out;
  }

  ExpressionPointer binary(std::string op, ExpressionPointer left, ExpressionPointer right) const {
    auto out = make(Kind::kBinary, std::move(op));
    out->parts.push_back(std::move(left));
    out->parts.push_back(std::move(right));
    return out;
  }

  ExpressionPointer expression() {
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

  ExpressionPointer alternatives() {
    ExpressionPointer out = conjunction();
    Chain chain(*this);
    while (skip_name("or")) {
      chain.next();
      out = binary("or", std::move(out), conjunction());
    }
    return out;
  }

  ExpressionPointer conjunction() {
    ExpressionPointer out = negation();
    Chain chain(*this);
    while (skip_name("and")) {
      chain.next();
      out = binary("and", std::move(out), negation());
    }
    return out;
  }

  ExpressionPointer negation() {
    const Depth depth(*this);
    if (!skip_name("not")) return comparison();
    auto out = make(Kind::kUnary, "not");
    out->parts.push_back(negation());
    return out;
  }

  // a < b < c is (a < b) and (b < c) in Jinja; no template has it, and it is refused.
  ExpressionPointer comparison() {
    ExpressionPointer out = sum();
    std::string op = comparison_operator();
    if (op.empty()) return out;
    out = binary(op, std::move(out), sum());
    if (!comparison_operator().empty()) {
      refuse_template(now().line, "a chain of comparisons is not supported");
    }
    return out;
  }

  std::string comparison_operator() {
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

  ExpressionPointer sum() {
    ExpressionPointer out = concatenation();
    Chain chain(*this);
    while (is_operator("+") || is_operator("-")) {
      chain.next();
      std::string op = take().text;
      out = binary(std::move(op), std::move(out), concatenation());
    }
    return out;
  }

  ExpressionPointer concatenation() {
    ExpressionPointer out = product();
    Chain chain(*this);
    while (skip_operator("~")) {
      chain.next();
      out = binary("~", std::move(out), product());
    }
    return out;
  }

  ExpressionPointer product() {
    ExpressionPointer out = power();
    Chain chain(*this);
    while (is_operator("*") || is_operator("/") || is_operator("//") || is_operator("%")) {
      chain.next();
      std::string op = take().text;
      out = binary(std::move(op), std::move(out), power());
    }
    return out;
  }

  ExpressionPointer power() {
    ExpressionPointer out = unary(true);
    Chain chain(*this);
    while (skip_operator("**")) {
      chain.next();
      out = binary("**", std::move(out), unary(true));
    }
    return out;
  }

  ExpressionPointer unary(bool with_filters) {
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

  ExpressionPointer literal(Value value) const {
    auto out = make(Kind::kLiteral);
    out->literal = std::move(value);
    return out;
  }

  ExpressionPointer number() {
    const Lexeme lexeme = take();
    if (lexeme.kind == LexemeKind::kFloat) return literal(std::stod(lexeme.text));
    int64_t value = 0;
    const char* const end = lexeme.text.data() + lexeme.text.size();
    if (std::from_chars(lexeme.text.data(), end, value).ptr != end) {
      refuse_template(lexeme.line, cat("the number ", lexeme.text, " is too large"));
    }
    return literal(value);
  }

  ExpressionPointer primary() {
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

  ExpressionPointer name_or_constant() {
    const std::string word = take().text;
    if (word == "true" || word == "True") return literal(true);
    if (word == "false" || word == "False") return literal(false);
    if (word == "none" || word == "None") return literal(Value());
    return make(Kind::kName, word);
  }

  // (a), or a tuple, which is a list here.
  ExpressionPointer parenthesis() {
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

  ExpressionPointer postfixes(ExpressionPointer value) {
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
        auto out = make(Kind::kCall);
        out->parts.push_back(std::move(value));
        arguments(*out);
        value = std::move(out);
      } else {
        return value;
      }
    }
  }

  ExpressionPointer subscript(ExpressionPointer object) {
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

  void arguments(Expression& call) {
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

  ExpressionPointer filters(ExpressionPointer value) {
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
        auto out = make(Kind::kCall);
        out->parts.push_back(std::move(value));
        arguments(*out);
        value = std::move(out);
      } else {
        return value;
      }
    }
  }

  ExpressionPointer test(ExpressionPointer value) {
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

  // Whether what follows is an argument of a test without parentheses: "is divisibleby 3".
  bool begins_argument() const {
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

  std::vector<Lexeme> lexemes_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Statements parse_template(std::string_view source) { return Parser(source).run(); }

}  // namespace rtrain::text
