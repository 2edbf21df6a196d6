#include "host/lua/closure/closure_reader.h"

#include <string>

#include "host/base/text/text.h"
#include "host/lua/closure/closure.h"
#include "host/lua/embed.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"

namespace rtrain::lua {
namespace {

// (object, key) → object[key]
int get_field(lua_State* L) {
  lua_gettable(L, 1);
  return 1;
}

[[noreturn]] void broken(std::string_view what) {
  throw Error(Code::kInternal, cat("closure: ", what));
}

int raise_untransportable(lua_State* L) {
  throw Error(Code::kArgument, lua_tostring(L, lua_upvalueindex(1)));
}

void push_text(lua_State* L, std::string_view text) {
  lua_pushlstring(L, text.data(), text.size());
}

// The chunk "return 5LL" makes the int64 of that value.
void push_int64(lua_State* L, std::string_view digits, std::string_view suffix) {
  const std::string chunk = digits == "-9223372036854775808"
                                ? std::string("return -9223372036854775807LL-1LL")
                                : cat("return ", digits, suffix);
  if (luaL_loadstring(L, chunk.c_str()) != 0) broken(lua_tostring(L, -1));
  lua_call(L, 0, 1);
}

}  // namespace

ClosureReader::ClosureReader(lua_State* L, std::string_view bytes) : L_(L), in_(bytes) {
  luaL_checkstack(L, 60, "no stack for a closure");
  lua_newtable(L);
  objects_ = lua_gettop(L);
  lua_newtable(L);
  strings_ = lua_gettop(L);
}

void ClosureReader::read() {
  if (in_.take(kClosureMagic.size()) != kClosureMagic) broken("these bytes are not a closure");
  read_modules();
  read_strings();
  read_nodes();
  for (size_t id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].kind == NodeKind::kModuleCell) find_module_cell(static_cast<int>(id));
  }
  for (size_t id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].kind == NodeKind::kFunction) join_cells(static_cast<int>(id));
  }
  for (const int id : order_) fill(id);
  for (const int id : std::vector<int>(std::move(deferred_))) fill(id);
  read_globals();
  push_ref(read_ref(in_));
}

void ClosureReader::read_modules() {
  lua_getglobal(L_, "package");
  for (const char* name : {"path", "cpath"}) {
    push_text(L_, in_.text());
    lua_setfield(L_, -2, name);
  }
  lua_getfield(L_, -1, "preload");
  if (luaL_newmetatable(L_, kModuleTexts) == 1) {
    lua_pushvalue(L_, -1);
    lua_setfield(L_, LUA_REGISTRYINDEX, kModuleTexts);
  }
  for (uint64_t n = in_.count(); n > 0; --n) {
    const std::string name(in_.text());
    const std::string chunk(in_.text());
    const std::string_view text = in_.text();
    lua_createtable(L_, 2, 0);
    push_text(L_, chunk);
    lua_rawseti(L_, -2, 1);
    push_text(L_, text);
    lua_rawseti(L_, -2, 2);
    lua_setfield(L_, -2, name.c_str());
    if (luaL_loadbuffer(L_, text.data(), text.size(), chunk.c_str()) != 0) {
      throw Error(Code::kUser, lua_tostring(L_, -1));
    }
    lua_setfield(L_, -3, name.c_str());
  }
  lua_pop(L_, 3);
}

void ClosureReader::read_strings() {
  const uint64_t count = in_.count();
  for (uint64_t i = 1; i <= count; ++i) {
    push_text(L_, in_.text());
    lua_rawseti(L_, strings_, static_cast<int>(i));
  }
}

void ClosureReader::read_nodes() {
  const uint64_t count = in_.count();
  for (uint64_t i = 0; i < count; ++i) {
    Node node;
    node.kind = in_.tag<NodeKind>();
    node.payload = in_.text();
    nodes_.push_back(node);
  }
  for (uint64_t i = 0; i < count; ++i) {
    const auto id = static_cast<size_t>(in_.count());
    if (id >= count) broken("a node number is out of range");
    order_.push_back(static_cast<int>(id));
  }
  for (size_t i = 0; i < count; ++i) {
    const int id = static_cast<int>(i);
    switch (nodes_[i].kind) {
      case NodeKind::kTable:
        lua_newtable(L_);
        set_object(id);
        break;
      case NodeKind::kFunction:
        make_function(id);
        break;
      case NodeKind::kModule:
        make_module(id);
        break;
      case NodeKind::kUntransportable:
        make_untransportable(id);
        break;
      default:
        break;
    }
  }
}

void ClosureReader::make_function(int id) {
  ByteReader in(nodes_[id].payload);
  const std::string_view code = in.text();
  if (luaL_loadbuffer(L_, code.data(), code.size(), "closure") != 0) broken(lua_tostring(L_, -1));
  set_object(id);
}

// A class in several files begins in X.base. It is complete once X is loaded, since X requires all
// of them (modules/torch/nn/module.lua).
void ClosureReader::load_parts(lua_State* L, std::string_view module) {
  constexpr std::string_view kBase = ".base";
  if (!module.ends_with(kBase)) return;
  module.remove_suffix(kBase.size());
  if (!find_module(module)) return;
  push_module(L, module);
  lua_pop(L, 1);
}

void ClosureReader::make_module(int id) {
  // An object that the path does not lead to becomes a value that raises at its first use: the
  // script may never use it in the worker.
  ByteReader in(nodes_[id].payload);
  const std::string module(in.text());
  const int top = lua_gettop(L_);
  if (std::string_view(module).starts_with(kRegistryModule)) {
    luaL_newmetatable(L_, module.c_str() + kRegistryModule.size());
  } else if (module == "_G") {
    lua_pushvalue(L_, LUA_GLOBALSINDEX);
  } else {
    load_parts(L_, module);
    push_module(L_, module);
  }
  std::string path = module;
  for (uint64_t n = in.count(); n > 0; --n) {
    const auto kind = in.tag<StepKind>();
    push_ref(read_ref(in));
    if (kind == StepKind::kKey && lua_type(L_, -1) == LUA_TSTRING)
      path += cat(".", std::string_view(lua_tostring(L_, -1)));
    if (resolve_step(kind)) continue;
    lua_settop(L_, top);
    push_untransportable(
        cat("'", path,
            "' does not exist in this process: it was added to the module after the "
            "module was loaded; add it inside the train function"));
    break;
  }
  set_object(id);
}

// Takes object and key from the stack, and pushes object[key]; returns false when there is none.
bool ClosureReader::resolve_step(StepKind kind) {
  if (kind == StepKind::kUpvalue) {
    const int number = static_cast<int>(lua_tointeger(L_, -1));
    lua_pop(L_, 1);
    return lua_type(L_, -1) == LUA_TFUNCTION && lua_getupvalue(L_, -1, number) != nullptr;
  }
  if (kind == StepKind::kMetatable) {
    lua_pop(L_, 1);
    return lua_getmetatable(L_, -1) != 0;
  }
  if (lua_type(L_, -2) != LUA_TTABLE && lua_type(L_, -2) != LUA_TUSERDATA) return false;
  // This obeys __index: a module may make its functions at their first use.
  push_function<&get_field>(L_);
  lua_insert(L_, -3);
  if (lua_pcall(L_, 2, 1, 0) != 0) return false;
  return !lua_isnil(L_, -1);
}

void ClosureReader::make_untransportable(int id) {
  ByteReader in(nodes_[id].payload);
  push_untransportable(in.text());
  set_object(id);
}

void ClosureReader::push_untransportable(std::string_view message) {
  lua_newuserdata(L_, 1);
  lua_newtable(L_);
  for (const char* event : {"__index", "__newindex", "__call", "__len", "__eq", "__lt", "__le",
                            "__add", "__sub", "__mul", "__div", "__mod", "__pow", "__unm",
                            "__concat", "__tostring", "__pairs", "__ipairs"}) {
    push_text(L_, message);
    push_function<&raise_untransportable>(L_, 1);
    lua_setfield(L_, -2, event);
  }
  push_text(L_, message);
  lua_setfield(L_, -2, kUntransportable);
  lua_pushboolean(L_, 0);
  lua_setfield(L_, -2, "__metatable");
  lua_setmetatable(L_, -2);
}

// The first function that has a cell keeps its own cell; the other functions share that one.
void ClosureReader::join_cells(int id) {
  ByteReader in(nodes_[id].payload);
  in.text();
  if (in.tag<EnvTag>() == EnvTag::kTable) read_ref(in);
  set_environment(id);
  push_object(id);
  const int count = static_cast<int>(in.count());
  for (int i = 1; i <= count; ++i) {
    const auto cell = static_cast<size_t>(in.count());
    if (cell >= nodes_.size()) broken("a cell number is out of range");
    Node& node = nodes_[cell];
    if (node.function < 0) {
      node.function = id;
      node.upvalue = i;
      continue;
    }
    push_object(node.function);
    lua_upvaluejoin(L_, -2, i, -1, node.upvalue);
    lua_pop(L_, 1);
  }
  lua_pop(L_, 1);
}

// A function of a module has this cell in this state already. All other functions will share it.
void ClosureReader::find_module_cell(int id) {
  ByteReader in(nodes_[id].payload);
  const auto function = static_cast<size_t>(in.count());
  const int upvalue = static_cast<int>(in.count());
  if (function >= nodes_.size()) broken("a function number is out of range");
  push_object(static_cast<int>(function));
  const bool is_there = lua_isfunction(L_, -1) && lua_iscfunction(L_, -1) == 0 &&
                        lua_getupvalue(L_, -1, upvalue) != nullptr;
  if (!is_there) broken("a module's function has other upvalues here");
  lua_pop(L_, 2);
  nodes_[id].function = static_cast<int>(function);
  nodes_[id].upvalue = upvalue;
}

void ClosureReader::set_environment(int id) {
  ByteReader in(nodes_[id].payload);
  in.text();
  const auto env = in.tag<EnvTag>();
  if (env == EnvTag::kGlobals) return;
  push_object(id);
  if (env == EnvTag::kLibrary) {
    push_library_env(L_);
  } else {
    const Reference ref = read_ref(in);
    if (!is_ready(ref)) broken("a function's environment is a packed object");
    push_ref(ref);
  }
  lua_setfenv(L_, -2);
  lua_pop(L_, 1);
}

void ClosureReader::fill(int id) {
  switch (nodes_[id].kind) {
    case NodeKind::kTable:
      return fill_table(id);
    case NodeKind::kCell:
      return fill_cell(id);
    case NodeKind::kPacked:
      return make_packed(id);
    default:
      return;
  }
}

void ClosureReader::fill_table(int id) {
  ByteReader in(nodes_[id].payload);
  push_object(id);
  bool complete = true;
  for (uint64_t n = in.count(); n > 0; --n) {
    const Reference key = read_ref(in);
    const Reference value = read_ref(in);
    if (!is_ready(key) || !is_ready(value)) {
      complete = false;
      continue;
    }
    push_ref(key);
    push_ref(value);
    lua_rawset(L_, -3);
  }
  const Reference metatable = read_ref(in);
  if (metatable.tag == RefTag::kNode) {
    push_ref(metatable);
    if (lua_istable(L_, -1)) {
      lua_setmetatable(L_, -2);
    } else {
      lua_pop(L_, 1);
    }
  }
  lua_pop(L_, 1);
  if (!complete) deferred_.push_back(id);
}

void ClosureReader::fill_cell(int id) {
  ByteReader in(nodes_[id].payload);
  const Reference value = read_ref(in);
  if (!is_ready(value)) {
    deferred_.push_back(id);
    return;
  }
  push_object(nodes_[id].function);
  push_ref(value);
  lua_setupvalue(L_, -2, nodes_[id].upvalue);
  lua_pop(L_, 1);
}

void ClosureReader::make_packed(int id) {
  ByteReader in(nodes_[id].payload);
  const std::string module(in.text());
  const std::string function(in.text());
  const Reference state = read_ref(in);
  if (!is_ready(state)) broken(cat(module, ".", function, ": the object contains itself"));
  push_module_function(L_, module, function.c_str());
  push_ref(state);
  protected_call(L_, 1, 1);
  set_object(id);
}

void ClosureReader::read_globals() {
  for (uint64_t n = in_.count(); n > 0; --n) {
    push_text(L_, in_.text());
    push_ref(read_ref(in_));
    lua_rawset(L_, LUA_GLOBALSINDEX);
  }
}

ClosureReader::Reference ClosureReader::read_ref(ByteReader& in) {
  Reference out{in.tag<RefTag>(), 0};
  switch (out.tag) {
    case RefTag::kNil:
    case RefTag::kFalse:
    case RefTag::kTrue:
      return out;
    case RefTag::kNumber:
    case RefTag::kInt64:
    case RefTag::kUint64:
      out.bits = in.bits();
      return out;
    case RefTag::kString:
    case RefTag::kNode:
      out.bits = in.count();
      if (out.tag == RefTag::kNode && out.bits >= nodes_.size())
        broken("a node number is out of range");
      return out;
  }
  broken("an unknown kind of reference");
}

bool ClosureReader::is_ready(const Reference& ref) const {
  return ref.tag != RefTag::kNode || nodes_[ref.bits].made;
}

void ClosureReader::push_ref(const Reference& ref) {
  switch (ref.tag) {
    case RefTag::kNil:
      return lua_pushnil(L_);
    case RefTag::kFalse:
    case RefTag::kTrue:
      return lua_pushboolean(L_, ref.tag == RefTag::kTrue ? 1 : 0);
    case RefTag::kNumber:
      return lua_pushnumber(L_, std::bit_cast<double>(ref.bits));
    case RefTag::kString:
      return lua_rawgeti(L_, strings_, static_cast<int>(ref.bits) + 1);
    case RefTag::kNode:
      return push_object(static_cast<int>(ref.bits));
    case RefTag::kInt64:
      return push_int64(L_, std::to_string(static_cast<int64_t>(ref.bits)), "LL");
    case RefTag::kUint64:
      return push_int64(L_, std::to_string(ref.bits), "ULL");
  }
}

void ClosureReader::push_object(int id) { lua_rawgeti(L_, objects_, id); }

void ClosureReader::set_object(int id) {
  lua_rawseti(L_, objects_, id);
  nodes_[id].made = true;
}

void load_closure(lua_State* L, std::string_view bytes) {
  const int top = lua_gettop(L);
  ClosureReader(L, bytes).read();
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}

}  // namespace rtrain::lua
