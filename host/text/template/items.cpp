#include "host/text/template/items.h"

#include <cmath>

#include "host/base/codec/json.h"
#include "host/base/text/text.h"
#include "host/text/template/lexer.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

constexpr size_t kLongestWalk = 1 << 20;

}  // namespace

bool is_true(const Item& item) {
  if (item.space) return true;
  if (!item.value) return false;
  const Value& v = *item.value;
  if (v.is_bool()) return v.as_bool();
  if (v.is_number()) return v.as_float() != 0;
  if (v.is_string()) return !v.as_string().empty();
  if (v.is_list()) return !v.as_list().empty();
  return v.is_map() && !v.as_map().empty();
}

bool equal(const Value& a, const Value& b) {
  const auto number = [](const Value& v) {
    return v.is_bool() ? static_cast<double>(v.as_bool()) : v.as_float();
  };
  const bool both_numbers = (a.is_number() || a.is_bool()) && (b.is_number() || b.is_bool());
  return both_numbers ? number(a) == number(b) : a == b;
}

namespace {

std::string quoted(const std::string& text) {
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      if (c == '\\' || c == quote) out += '\\';
      out += c;
    }
  }
  return out += quote;
}

std::string python_text(const Value& value);  // str()

std::string python_repr(const Value& value) {
  return value.is_string() ? quoted(value.as_string()) : python_text(value);
}

std::string python_text(const Value& value) {
  if (value.is_nil()) return "None";
  if (value.is_bool()) return value.as_bool() ? "True" : "False";
  if (value.is_string()) return value.as_string();
  if (value.is_int()) return std::to_string(value.as_int());
  if (value.is_large()) return std::to_string(value.as_large());
  if (value.is_float()) {
    const std::string text = format_double(value.as_float());
    const bool is_whole = text.find_first_not_of("-0123456789") == text.npos;
    return is_whole ? text + ".0" : text;
  }
  std::string out;
  if (value.is_list()) {
    for (const Value& item : value.as_list()) out += (out.empty() ? "" : ", ") + python_repr(item);
    return "[" + out + "]";
  }
  for (const auto& [key, item] : value.as_map()) {
    out += cat(out.empty() ? "" : ", ", quoted(key_text(key)), ": ", python_repr(item));
  }
  return "{" + out + "}";
}

}  // namespace

std::string text_of(const Item& item) {
  if (item.space) return "<Namespace>";
  return item.value ? python_text(*item.value) : "";
}

namespace {

void write_json(const Value& value, int indent, int depth, std::string& out) {
  const bool is_list = value.is_list();
  if (!is_list && !value.is_map()) {
    out += value.is_float() ? python_text(value) : to_json(value);
    return;
  }
  const auto line = [&](int levels) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<size_t>(indent) * static_cast<size_t>(levels), ' ');
  };
  bool is_first = true;
  const auto separate = [&] {
    if (!is_first) out += indent < 0 ? ", " : ",";
    is_first = false;
    line(depth + 1);
  };
  out += is_list ? '[' : '{';
  if (is_list) {
    for (const Value& item : value.as_list()) {
      separate();
      write_json(item, indent, depth + 1, out);
    }
  } else {
    for (const auto& [key, item] : value.as_map()) {
      separate();
      out += to_json(key_text(key)) + ": ";
      write_json(item, indent, depth + 1, out);
    }
  }
  if (!is_first) line(depth);
  out += is_list ? ']' : '}';
}

}  // namespace

std::string python_json(const Value& value, int indent) {
  std::string out;
  write_json(value, indent, 0, out);
  return out;
}

std::string kind_of(const Item& item) {
  if (item.space) return "a namespace";
  if (!item.value) return cat("'", item.name, "', which is undefined");
  if (item.value->is_nil()) return "none";
  return cat(item.value->is_int() ? "an " : "a ", item.value->type_name());
}

std::vector<Item> items_of(const Item& item, int line) {
  std::vector<Item> out;
  if (item.is_list()) {
    for (const Value& each : item.value->as_list()) out.push_back(item.part(each));
  } else if (item.is_map()) {
    for (const auto& [key, value] : item.value->as_map()) {
      out.push_back(Item::of(key_text(key)));
    }
  } else if (item.is_string()) {
    if (item.value->as_string().size() > kLongestWalk) {
      refuse_template(line, "cannot go through the characters of so long a text");
    }
    for (const char32_t code : characters_of(item.value->as_string())) {
      out.push_back(Item::of(to_utf8(code)));
    }
  } else if (!item.is_undefined()) {
    refuse_template(line, cat("cannot go through ", kind_of(item)));
  }
  return out;
}

}  // namespace rtrain::text
