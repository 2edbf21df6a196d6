// Texts about the arguments of a call, for messages.
#include <algorithm>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/operators/boxed/arguments.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/list_items.h"

namespace rtrain::engine {
namespace {

using torch::jit::Stack;

std::string ordinal(size_t n) {
  static constexpr const char* kNames[] = {"1st", "2nd", "3rd"};
  return n <= 3 ? kNames[n - 1] : cat(n, "th");
}

// ": unknown dtype 'flaot32': did you mean 'float32'?"; "" if the value is not a string.
std::string dtype_problem(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TSTRING) return "";
  try {
    parse_dtype(lua_tostring(L, index));
  } catch (const Error& e) {
    return cat(": ", e.message());
  }
  return "";
}

std::string expected(const Param& param) {
  return param.kind == Kind::kReduction ? "0 (none), 1 (mean) or 2 (sum)" : param.type;
}

// For a dtype passed by position, as in LibTorch's C++ interface, instead of by keyword.
std::string dtype_advice(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TSTRING) return "";
  const std::string_view name = lua_tostring(L, index);
  return dtype_from_name(name) ? cat(": a dtype is a keyword, {dtype = '", name, "'}") : "";
}

}  // namespace

std::string Arguments::mismatch(const Overload& overload) const {
  Slots slots;
  const Keyword* culprit = nullptr;
  switch (assign(overload, slots, &culprit)) {
    case Fit::kTooMany:
      return cat("takes at most ", overload.positional, " positional arguments, got ", positional_,
                 dtype_advice(L_, positional_));
    case Fit::kGivenTwice:
      return cat("argument '", std::string_view(culprit->name),
                 "' is given by position and by keyword");
    case Fit::kUnknownKeyword: {
      std::vector<std::string> known;
      for (const Param& p : overload.params) known.push_back(p.shown);
      return cat("unknown keyword '", std::string_view(culprit->name), "'",
                 suggestion(culprit->name, known));
    }
    case Fit::kOuts:
      return overload.outs == 1 ? std::string("out is one Tensor")
                                : cat("out is a list of ", overload.outs, " Tensors");
    case Fit::kOk:
      break;
  }
  Stack stack;
  for (size_t i = 0; i < overload.params.size(); ++i) {
    const Param& param = overload.params[i];
    const int index = slots.index[i];
    if (is_none(index)) {
      if (param.has_default || param.optional) continue;
      if (param.keyword_only)
        return cat("keyword '", param.shown, "' (", param.type, ") is missing");
      return cat("argument '", param.shown, "' (", ordinal(i + 1), ", ", param.type,
                 ") is missing");
    }
    const bool gathered = slots.gathered && static_cast<int>(i) == overload.varargs;
    if (gathered ? gather(index, stack) : convert(index, param, stack)) continue;
    const bool is_dtype = std::string_view(param.type).starts_with("dtype");
    return cat("argument '", param.shown, "' (", ordinal(i + 1), "): expected ", expected(param),
               ", got ", describe_value(L_, index),
               is_dtype ? dtype_problem(L_, index) : item_problem(index, param));
  }
  return "arguments do not fit";
}

std::string Arguments::item_problem(int index, const Param& param) const {
  if (lua_type(L_, index) != LUA_TTABLE || !is_list_kind(param.kind)) return "";
  const auto size = static_cast<int>(lua_objlen(L_, index));
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(L_, index, i);
    const int item = lua_gettop(L_);
    const std::string problem =
        is_item(item, param) ? "" : cat(": item ", i, " is ", describe_value(L_, item));
    lua_pop(L_, 1);
    if (!problem.empty()) return problem;
  }
  const std::string problem = lua::list_problem(L_, index);
  return problem.empty() ? problem : cat(": ", problem);
}

std::string Arguments::describe(const Overload& overload) const {
  Slots slots;
  const Keyword* culprit = nullptr;
  if (assign(overload, slots, &culprit) != Fit::kOk) return {};
  std::string out;
  for (size_t i = 0; i < overload.params.size(); ++i) {
    if (slots.index[i] == 0) continue;
    const bool gathered = slots.gathered && static_cast<int>(i) == overload.varargs;
    out += cat(out.empty() ? "" : ", ", overload.params[i].shown, ": ",
               gathered ? join_numbers(slots.index[i]) : describe_value(L_, slots.index[i]));
  }
  return out;
}

std::string Arguments::given() const {
  std::string out;
  for (int i = 1; i <= positional_; ++i) out += cat(i > 1 ? ", " : "", describe_value(L_, i));
  std::vector<Keyword> keywords(keywords_, keywords_ + keyword_count_);
  std::ranges::sort(keywords, {}, [](const Keyword& k) { return std::string_view(k.name); });
  for (const Keyword& k : keywords) {
    out +=
        cat(out.empty() ? "" : ", ", std::string_view(k.name), " = ", describe_value(L_, k.index));
  }
  if (has_out()) out += cat(out.empty() ? "" : ", ", "out = ", describe_value(L_, out_));
  return out;
}

std::string Arguments::join_numbers(int first) const {
  std::string out;
  for (int i = first; i <= positional_; ++i) {
    out += cat(out.empty() ? "" : ", ", to_double(L_, i).value_or(0));
  }
  return cat("{", out, "}");
}

}  // namespace rtrain::engine
