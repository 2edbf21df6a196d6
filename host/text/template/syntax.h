// host/text/template/syntax.h: the tree of a Jinja template.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/base/value.h"

namespace rtrain::text {

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind {
    kLiteral,      // literal
    kName,         // text
    kList,         // parts
    kMap,          // parts: key, value, …
    kUnary,        // text: "not", "-", "+"; parts: one
    kBinary,       // text: the operator; parts: two
    kConditional,  // parts: condition, value, other value or null
    kMember,       // parts: object; text: name
    kItem,         // parts: object, key
    kSlice,        // parts: object, begin, end, step; null for none
    kCall,         // parts: what is called, arguments; named
    kFilter,       // text; parts: value, arguments; named
    kTest,         // text; parts: value, arguments
  };
  Kind kind = Kind::kLiteral;
  int line = 1;
  std::string text;
  Value literal;
  std::vector<ExpressionPointer> parts;
  std::vector<std::pair<std::string, ExpressionPointer>> named;
};

struct Statement;
using Statements = std::vector<Statement>;

struct Statement {
  enum class Kind {
    kText,    // text
    kOutput,  // value
    kIf,      // value, body, other
    kFor,     // names, value, condition or null, body, other
    kSet,     // names, value; or body where that is null
    kBreak,
    kContinue,
    kBlock,  // body
  };
  Kind kind = Kind::kText;
  int line = 1;
  std::string text;
  std::vector<std::string> names;  // "name", or "namespace.field"
  ExpressionPointer value, condition;
  Statements body, other;
};

}  // namespace rtrain::text
