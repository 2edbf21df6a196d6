#include "host/lua/closure/closure_writer.h"

#include <algorithm>

#include "host/base/text/text.h"
#include "host/lua/closure/reached_globals.h"
#include "host/lua/embed.h"
#include "host/lua/guard.h"
#include "host/lua/sorted_keys.h"

namespace rtrain::lua {
namespace {

int append_dump(lua_State*, const void* data, size_t size, void* out) {
  static_cast<std::string*>(out)->append(static_cast<const char*>(data), size);
  return 0;
}

// Returns what the value is, in a user's words: "a coroutine", "an open file", "a native function".
std::string what_it_is(lua_State* L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TTHREAD:
      return "a coroutine";
    case LUA_TFUNCTION:
      return "a native function that no module names";
    case kCdata:
      return "FFI data";
    case LUA_TLIGHTUSERDATA:
      return "a pointer";
    default:
      break;
  }
  luaL_getmetatable(L, "FILE*");
  const bool is_file = lua_getmetatable(L, index) != 0 && lua_rawequal(L, -1, -2) != 0;
  lua_settop(L, index);
  return is_file ? "an open file" : "a userdata";
}

// Whether the path is a name of Lua's own that still means the same. Every state has that already.
bool is_lua_global(const ModulePath& path, const std::string& name) {
  static const std::set<std::string> kLibraries = {
      "_G", "bit", "coroutine", "debug", "io", "jit", "math", "os", "package", "string", "table"};
  if (path.steps.empty()) return path.module == name && kLibraries.contains(name);
  const auto* key = std::get_if<std::string>(&path.steps[0].key);
  return path.module == "_G" && path.steps.size() == 1 && key != nullptr && *key == name;
}

}  // namespace

ClosureWriter::ClosureWriter(lua_State* L) : L_(L), index_(L), nodes_(L), strings_(L) {}

ClosureDump ClosureWriter::write(int index) {
  ByteWriter root;
  lua_pushvalue(L_, index);
  add_ref(root, {});
  collect_module_globals();
  for (const int child : std::vector<int>(std::move(children_))) walk(child);
  while (!pending_globals_.empty()) {
    const std::string name = pending_globals_.back();
    pending_globals_.pop_back();
    lua_pushlstring(L_, name.data(), name.size());
    lua_rawget(L_, LUA_GLOBALSINDEX);
    ByteWriter value;
    children_.clear();
    add_ref(value, {-1, name});
    globals_.emplace_back(name, std::move(value.bytes()));
    for (const int child : std::vector<int>(std::move(children_))) walk(child);
  }
  ClosureDump out;
  out.warning = nodes_.size_warning();
  out.bytes = assemble(root.bytes());
  return out;
}

void ClosureWriter::walk(int root) {
  std::vector<std::pair<int, bool>> stack = {{root, false}};
  while (!stack.empty()) {
    const auto [id, leaving] = stack.back();
    stack.pop_back();
    if (leaving) {
      order_.push_back(id);
      continue;
    }
    if (nodes_[id].entered) continue;
    nodes_[id].entered = true;
    stack.emplace_back(id, true);
    children_.clear();
    enter(id);
    for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
      if (!nodes_[*child].entered) stack.emplace_back(*child, false);
    }
  }
}

void ClosureWriter::enter(int id) {
  const int top = lua_gettop(L_);
  ByteWriter out;
  if (nodes_[id].kind == NodeKind::kCell) {
    enter_cell(id, out);
  } else {
    nodes_.push(id);
    enter_object(id, out);
  }
  lua_settop(L_, top);
  nodes_.add_size(id, out.bytes().size());
  nodes_[id].payload = std::move(out.bytes());
}

void ClosureWriter::enter_object(int id, ByteWriter& out) {
  const int type = lua_type(L_, -1);
  if (const int entry = index_.find(-1); entry >= 0) return enter_module(id, entry, out);
  if (type == LUA_TTABLE || type == LUA_TUSERDATA) {
    if (enter_packed(id, out)) return;
  }
  if (type == LUA_TTABLE) return enter_table(id, out);
  if (type == LUA_TFUNCTION && lua_iscfunction(L_, -1) == 0) return enter_function(id, out);
  enter_untransportable(id, out);
}

void ClosureWriter::enter_module(int id, int entry, ByteWriter& out) {
  nodes_[id].kind = NodeKind::kModule;
  const ModulePath path = index_.path(entry);
  out.add_text(path.module);
  out.add_count(path.steps.size());
  for (const ModuleStep& step : path.steps) {
    out.add(step.kind);
    if (const auto* text = std::get_if<std::string>(&step.key)) {
      lua_pushlstring(L_, text->data(), text->size());
    } else if (const auto* n = std::get_if<double>(&step.key)) {
      lua_pushnumber(L_, *n);
    } else {
      lua_pushboolean(L_, std::get<bool>(step.key) ? 1 : 0);
    }
    add_ref(out, {id, ""});
  }
}

bool ClosureWriter::enter_packed(int id, ByteWriter& out) {
  if (luaL_getmetafield(L_, -1, "__pack") == 0) return false;
  nodes_[id].kind = NodeKind::kPacked;
  lua_pushvalue(L_, -2);
  protected_call(L_, 1, 3);
  if (lua_type(L_, -3) != LUA_TSTRING || lua_type(L_, -2) != LUA_TSTRING) {
    throw Error(Code::kInternal,
                cat(nodes_.variable(id), ": its __pack does not return module, function, state"));
  }
  out.add_text(lua_tostring(L_, -3));
  out.add_text(lua_tostring(L_, -2));
  // The state table is made for this dump alone. A reference to it is kept, so that no other object
  // takes its address in the memo.
  add_ref(out, {id, ""});
  return true;
}

void ClosureWriter::enter_table(int id, ByteWriter& out) {
  const int table = lua_gettop(L_);
  push_sorted_keys(L_, table);
  const int keys = lua_gettop(L_);
  const size_t count = lua_objlen(L_, keys);
  out.add_count(count);
  for (size_t i = 1; i <= count; ++i) {
    lua_rawgeti(L_, keys, static_cast<int>(i));
    Origin origin{id, lua_type(L_, -1) == LUA_TSTRING
                          ? cat(".", std::string_view(lua_tostring(L_, -1)))
                      : lua_type(L_, -1) == LUA_TNUMBER ? cat("[", lua_tonumber(L_, -1), "]")
                                                        : std::string("[…]")};
    lua_pushvalue(L_, -1);
    add_ref(out, {id, " (a key)"});
    lua_rawget(L_, table);
    add_ref(out, std::move(origin));
  }
  if (lua_getmetatable(L_, table) == 0) lua_pushnil(L_);
  add_ref(out, {id, " (its metatable)"});
}

void ClosureWriter::enter_function(int id, ByteWriter& out) {
  nodes_[id].kind = NodeKind::kFunction;
  const int function = lua_gettop(L_);
  std::string code;
  lua_dump(L_, &append_dump, &code);
  out.add_text(code);
  write_environment(id, out);
  int count = 0;
  while (lua_getupvalue(L_, function, count + 1) != nullptr) {
    lua_pop(L_, 1);
    ++count;
  }
  out.add_count(count);
  for (int i = 1; i <= count; ++i) {
    const char* name = lua_getupvalue(L_, function, i);
    lua_pop(L_, 1);
    out.add_count(cell_of(id, i, name));
  }
}

// Writes the environment: the script's globals (the globals that the code names travel), the
// library's environment, or a table of the user's own.
void ClosureWriter::write_environment(int id, ByteWriter& out) {
  nodes_.push(id);
  lua_Debug info;
  lua_getinfo(L_, ">S", &info);
  if (is_library_source(info.source)) return out.add(EnvTag::kLibrary);
  nodes_.push(id);
  collect_globals(reached_globals(L_, -1), id);
  lua_getfenv(L_, -1);
  const bool is_global = lua_rawequal(L_, -1, LUA_GLOBALSINDEX) != 0;
  out.add(is_global ? EnvTag::kGlobals : EnvTag::kTable);
  if (is_global) {
    lua_pop(L_, 1);
  } else {
    add_ref(out, {id, "its environment"});
  }
  lua_pop(L_, 1);
}

int ClosureWriter::cell_of(int function, int upvalue, const char* name) {
  children_.push_back(nodes_.of_cell(function, upvalue, name));
  return children_.back();
}

void ClosureWriter::enter_cell(int id, ByteWriter& out) {
  nodes_.push(nodes_[id].function);
  if (const auto* home = index_.find_cell(lua_upvalueid(L_, -1, nodes_[id].upvalue))) {
    nodes_[id].kind = NodeKind::kModuleCell;
    index_.push(home->entry);
    out.add_count(node_of({id, ""}));
    out.add_count(home->upvalue);
    return;
  }
  lua_getupvalue(L_, -1, nodes_[id].upvalue);
  add_ref(out, {id, ""});
}

void ClosureWriter::enter_untransportable(int id, ByteWriter& out) {
  nodes_[id].kind = NodeKind::kUntransportable;
  if (luaL_getmetafield(L_, -1, kUntransportable) != 0) {
    out.add_text(lua_tostring(L_, -1));
    return;
  }
  const std::string what = what_it_is(L_, lua_gettop(L_));
  const std::string where = nodes_.captured_at(id);
  out.add_text(cat("'", nodes_.variable(id), "' is ", what,
                   where.empty() ? "" : cat(", captured at ", where),
                   ", and cannot travel to another process: make it inside the train function"));
}

void ClosureWriter::add_ref(ByteWriter& out, Origin origin) {
  switch (lua_type(L_, -1)) {
    case LUA_TNIL:
      out.add(RefTag::kNil);
      break;
    case LUA_TBOOLEAN:
      out.add(lua_toboolean(L_, -1) != 0 ? RefTag::kTrue : RefTag::kFalse);
      break;
    case LUA_TNUMBER:
      out.add(RefTag::kNumber);
      out.add_bits(std::bit_cast<uint64_t>(lua_tonumber(L_, -1)));
      break;
    case LUA_TSTRING:
      add_string_ref(out, origin.parent);
      break;
    case kCdata:
      return add_cdata_ref(out, std::move(origin));
    default:
      out.add(RefTag::kNode);
      out.add_count(node_of(std::move(origin)));
      return;
  }
  lua_pop(L_, 1);
}

void ClosureWriter::add_string_ref(ByteWriter& out, int owner) {
  const uint64_t before = strings_.count();
  const uint64_t number = strings_.number_of_top();
  if (number == before && owner >= 0) nodes_.add_size(owner, lua_objlen(L_, -1));
  out.add(RefTag::kString);
  out.add_count(number);
}

// int64 and uint64 print as "5LL" and "5ULL" and travel by value; other FFI objects do not travel.
void ClosureWriter::add_cdata_ref(ByteWriter& out, Origin origin) {
  lua_getglobal(L_, "tostring");
  lua_pushvalue(L_, -2);
  lua_call(L_, 1, 1);
  const std::string text = lua_tostring(L_, -1);
  lua_pop(L_, 1);
  if (text.ends_with("ULL")) {
    out.add(RefTag::kUint64);
    out.add_bits(std::strtoull(text.c_str(), nullptr, 10));
  } else if (text.ends_with("LL")) {
    out.add(RefTag::kInt64);
    out.add_bits(static_cast<uint64_t>(std::strtoll(text.c_str(), nullptr, 10)));
  } else {
    out.add(RefTag::kNode);
    out.add_count(node_of(std::move(origin)));
    return;
  }
  lua_pop(L_, 1);
}

// Returns the node of the object at the top of the stack, and pops the object.
int ClosureWriter::node_of(Origin origin) {
  children_.push_back(nodes_.of_object(std::move(origin)));
  return children_.back();
}

void ClosureWriter::collect_globals(const std::set<std::string>& names, int function) {
  for (const std::string& name : names) {
    if (nodes_.has_global(name)) continue;
    lua_pushlstring(L_, name.data(), name.size());
    lua_rawget(L_, LUA_GLOBALSINDEX);
    const int entry = lua_isnil(L_, -1) ? -1 : index_.find(-1);
    const bool is_own =
        lua_isnil(L_, -1) || (entry >= 0 && is_lua_global(index_.path(entry), name));
    lua_pop(L_, 1);
    if (is_own || name == "_VERSION") continue;
    nodes_.add_global(name, function);
    pending_globals_.push_back(name);
  }
}

// A user's module may read the script's globals too. Its text says which globals.
void ClosureWriter::collect_module_globals() {
  for (const UserModule& module : index_.user_modules()) {
    if (luaL_loadbuffer(L_, module.text.data(), module.text.size(), module.chunk.c_str()) == 0) {
      collect_globals(reached_globals(L_, -1), -1);
    }
    lua_pop(L_, 1);
  }
}

// Writes where modules are searched for, and the user's own modules with their text.
void ClosureWriter::add_modules(ByteWriter& out) {
  lua_getglobal(L_, "package");
  for (const char* name : {"path", "cpath"}) {
    lua_getfield(L_, -1, name);
    out.add_text(lua_tostring(L_, -1));
    lua_pop(L_, 1);
  }
  lua_pop(L_, 1);
  out.add_count(index_.user_modules().size());
  for (const UserModule& module : index_.user_modules()) {
    out.add_text(module.name);
    out.add_text(module.chunk);
    out.add_text(module.text);
  }
}

std::string ClosureWriter::assemble(const std::string& root_ref) {
  ByteWriter out;
  out.bytes().reserve(nodes_.total_bytes() + 4096);
  out.bytes().append(kClosureMagic);
  add_modules(out);
  strings_.write(out);
  out.add_count(nodes_.size());
  for (const ClosureNode& node : nodes_) {
    out.add(node.kind);
    out.add_text(node.payload);
  }
  for (const int id : order_) out.add_count(id);
  std::sort(globals_.begin(), globals_.end());
  out.add_count(globals_.size());
  for (const auto& [name, ref] : globals_) {
    out.add_text(name);
    out.bytes().append(ref);
  }
  out.bytes().append(root_ref);
  return std::move(out.bytes());
}

ClosureDump dump_closure(lua_State* L, int index) {
  luaL_checkstack(L, 60, "no stack for a closure");
  const int top = lua_gettop(L);
  if (index < 0) index += top + 1;
  ClosureDump out = ClosureWriter(L).write(index);
  lua_settop(L, top);
  return out;
}

}  // namespace rtrain::lua
