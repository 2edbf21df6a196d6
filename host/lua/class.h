// host/lua/class.h: how a C++ class becomes a Lua class: userdata of one smart-pointer slot and a
// list of methods.
//
// A class is bound by a specialization that names the slot and the class:
//
//     template <>
//     struct Class<Tensor> {
//       using Slot = std::shared_ptr<Tensor>;
//       static constexpr const char* kName = "torch.Tensor";
//     };
//
// and it is registered with its methods:
//
//     static constexpr std::array kMethods = {method<&size>("size"), method<&index>("__index")};
//     register_class<Tensor>(L, kMethods);
//
// A Slot may also be an intrusive_ptr or unique_ptr: anything with reset() and a conversion to
// bool. Names that begin with "__" go to the metatable. Every class has `__gc` and `release`. Both
// only drop the slot; any later use of the object is an argument error.
#pragma once

#include <new>
#include <span>
#include <utility>

#include "host/base/text/text.h"
#include "host/lua/guard.h"

namespace rtrain::lua {

template <class T>
struct Class;

class Method;
template <auto Fn, class Translate = HostTranslate>
constexpr Method method(const char* name);

// A method's name and its guarded C function. Only method<> makes one, so an unguarded function
// cannot be registered.
class Method {
 public:
  const char* name() const { return name_; }
  lua_CFunction function() const { return function_; }

 private:
  template <auto Fn, class Translate>
  friend constexpr Method method(const char* name);
  constexpr Method(const char* name, lua_CFunction function) : name_(name), function_(function) {}
  const char* name_;
  lua_CFunction function_;
};

template <auto Fn, class Translate>
constexpr Method method(const char* name) {
  return Method(name, &guarded<Fn, Translate>);
}

// Returns the slot at the index, or null when the value is not a T. A released object's slot is
// empty.
template <class T>
typename Class<T>::Slot* test(lua_State* L, int index) {
  void* data = lua_touserdata(L, index);
  if (data == nullptr || lua_getmetatable(L, index) == 0) return nullptr;
  luaL_getmetatable(L, Class<T>::kName);
  const bool same = lua_rawequal(L, -1, -2) != 0;
  lua_pop(L, 2);
  return same ? static_cast<typename Class<T>::Slot*>(data) : nullptr;
}

// Returns the slot at the index. Throws Error(kArgument), which names the argument, the class that
// was expected and the value that was found.
template <class T>
typename Class<T>::Slot& check(lua_State* L, int index) {
  auto* slot = test<T>(L, index);
  if (slot == nullptr) {
    throw Error(Code::kArgument, cat("argument ", index, ": expected ", Class<T>::kName, ", got ",
                                     luaL_typename(L, index)));
  }
  if (!*slot) {
    throw Error(Code::kArgument,
                cat("argument ", index, ": this ", Class<T>::kName, " was released"));
  }
  return *slot;
}

template <class T>
int release_slot(lua_State* L) {
  if (auto* slot = test<T>(L, 1)) slot->reset();
  return 0;
}

// Adds methods "__…" to the metatable at the top, the others to the table below it.
void register_methods(lua_State* L, std::span<const Method> methods);

// Creates the class's metatable in this state, with the methods. Calling it again does nothing.
template <class T>
void register_class(lua_State* L, std::span<const Method> methods = {}) {
  if (luaL_newmetatable(L, Class<T>::kName) == 0) {
    lua_pop(L, 1);
    return;
  }
  static constexpr Method kCommon[] = {method<&release_slot<T>>("__gc"),
                                       method<&release_slot<T>>("release")};
  lua_newtable(L);
  lua_insert(L, -2);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "__index");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pushstring(L, Class<T>::kName);
  lua_setfield(L, -2, "__name");
  register_methods(L, kCommon);
  register_methods(L, methods);
  lua_pop(L, 2);
}

// Pushes a new userdata that owns the slot.
template <class T>
void push(lua_State* L, typename Class<T>::Slot slot) {
  using Slot = typename Class<T>::Slot;
  new (lua_newuserdata(L, sizeof(Slot))) Slot(std::move(slot));
  luaL_getmetatable(L, Class<T>::kName);
  lua_setmetatable(L, -2);
}

// Adds the function to the table at the top of the stack.
void add_function(lua_State* L, const Method& function);
void add_functions(lua_State* L, std::span<const Method> functions);
// Pushes a table with the functions: a module.
void push_functions(lua_State* L, std::span<const Method> functions);

}  // namespace rtrain::lua
