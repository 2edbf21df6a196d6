#include "host/compile/kernel_literals.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "host/compile/kernel_lines.h"

namespace rtrain::compile {

std::string constant_text(float value) {
  char text[40];
  if (!std::isfinite(value)) {
    std::snprintf(text, sizeof text, "__int_as_float(0x%08x)", std::bit_cast<uint32_t>(value));
    return text;
  }
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  const std::string number = text;
  const bool is_integer = number.find_first_of(".e") == std::string::npos;
  const std::string out = joined(number, is_integer ? ".0f" : "f");
  return number[0] == '-' ? joined("(", out, ")") : out;
}

const char* type_text(Type type) {
  switch (type) {
    case Type::kBool:
      return "bool";
    case Type::kInt64:
      return "long long";
    case Type::kFloat16:
      return "Float16";
    case Type::kBFloat16:
      return "BFloat16";
    case Type::kFloat32:
      break;
  }
  return "float";
}

std::string stored_text(Type type, const std::string& value) {
  if (type == Type::kFloat32) return value;
  return joined("As<", type_text(type), ">::of(", value, ")");
}

}  // namespace rtrain::compile
