// host/engine/runtime/guard.h: the guard of C functions that call LibTorch: c10::Error becomes
// rtrain::Error.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/error.h"
#include "host/lua/class.h"

namespace rtrain {

// Makes an Error of an exception that it knows; nothing of any other.
using ErrorTranslator = std::optional<Error> (*)(const std::exception&);

// Asked from now on, in the order of these calls, before the rules below. For the process's first
// open of the engine alone: nothing locks the list.
void add_error_translator(ErrorTranslator translator);

// LibTorch's text without its backtrace; what() of other exceptions.
std::string_view error_text(const std::exception& e);
// The part of such a text that is for users.
std::string short_error_text(std::string_view text);

// What no translator knows: an operator that the device lacks is kUnsupported, other checks of
// LibTorch are kArgument.
struct TorchTranslate {
  static Error from(const std::exception& e);
};

template <auto Fn>
void push_torch_function(lua_State* L, int num_upvalues = 0) {
  push_function<Fn, TorchTranslate>(L, num_upvalues);
}

template <auto Fn>
constexpr Method torch_method(const char* name) {
  return method<Fn, TorchTranslate>(name);
}

}  // namespace rtrain
