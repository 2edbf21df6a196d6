// host/engine/runtime/guard.h: the guard of C functions that call LibTorch: converts c10::Error to
// rtrain::Error.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/error.h"
#include "host/lua/class.h"

namespace rtrain::engine {

// Converts an exception that it knows to an Error; nullopt for others.
using ErrorTranslator = std::optional<Error> (*)(const std::exception&);

// Adds a translator, which is tried in the order of these calls and before the rules below. Only
// call it while the process opens the engine for the first time: no lock guards the list.
void add_error_translator(ErrorTranslator translator);

// LibTorch's text without its backtrace; what() for other exceptions.
std::string_view error_text(const std::exception& e);
// The part of such a text that helps users.
std::string short_error_text(std::string_view text);

// Translates other exceptions: an operator that the device lacks is kUnsupported, other checks of
// LibTorch are kArgument.
struct TorchTranslate {
  static Error from(const std::exception& e);
};

template <auto Fn>
void push_torch_function(lua_State* L, int num_upvalues = 0) {
  lua::push_function<Fn, TorchTranslate>(L, num_upvalues);
}

template <auto Fn>
constexpr lua::Method torch_method(const char* name) {
  return lua::method<Fn, TorchTranslate>(name);
}

}  // namespace rtrain::engine
