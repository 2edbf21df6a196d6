// host/text/template/lexer.h: the words of a Jinja template, with white space around tags left out
// as trim_blocks and lstrip_blocks say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rtrain::text {

enum class LexemeKind {
  kText,         // between tags
  kBlockBegin,   // {%
  kBlockEnd,     // %}
  kOutputBegin,  // {{
  kOutputEnd,    // }}
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Lexeme {
  LexemeKind kind = LexemeKind::kEnd;
  std::string text;  // of a string: what it stands for
  int line = 1;
};

// The last one is kEnd. Throws Error(kArgument) with the line.
std::vector<Lexeme> lex_template(std::string_view source);

// "chat template, line 3: …"
[[noreturn]] void refuse_template(int line, std::string_view what);

}  // namespace rtrain::text
