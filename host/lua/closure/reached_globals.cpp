#include "host/lua/closure/reached_globals.h"

#include <cstdint>

#include "host/base/error.h"

namespace rtrain::lua {
namespace {

constexpr int kProto = LUA_TTHREAD + 1;  // LuaJIT's type number of function prototypes

// Reads bytecode through jit.util, whose functions stay on the Lua stack during its lifetime.
class CodeReader {
 public:
  explicit CodeReader(lua_State* L) : L_(L), base_(lua_gettop(L)) {
    luaL_checkstack(L, 20, "code too deep");
    lua_getglobal(L, "require");
    lua_pushliteral(L, "jit.util");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "funcbc");
    lua_getfield(L, -2, "funck");
    read_op_ = probe("return x", 1);
    write_op_ = probe("x = 1", 2);
  }
  ~CodeReader() { lua_settop(L_, base_); }
  CodeReader(const CodeReader&) = delete;
  CodeReader& operator=(const CodeReader&) = delete;

  // Scans the function or prototype at the top of the stack, and pops it.
  void scan() {
    luaL_checkstack(L_, 8, "functions nested too deeply");
    const int code = lua_gettop(L_);
    uint32_t instruction = 0;
    for (int pc = 1; (instruction = this->instruction(code, pc)) != kNone; ++pc) {
      const uint32_t op = instruction & 0xff;
      if (op != read_op_ && op != write_op_) continue;
      push_constant(code, -static_cast<int>(instruction >> 16) - 1);
      names.insert(lua_tostring(L_, -1));
      lua_pop(L_, 1);
    }
    scan_constants(code);
    lua_settop(L_, code - 1);
  }

  std::set<std::string> names;
  std::set<std::string> constants;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Returns an opcode's number, which differs between LuaJIT versions: it compiles the text for it.
  uint32_t probe(const char* text, int pc) {
    if (luaL_loadstring(L_, text) != 0) throw Error(Code::kInternal, lua_tostring(L_, -1));
    const uint32_t out = instruction(lua_gettop(L_), pc) & 0xff;
    lua_pop(L_, 1);
    return out;
  }

  uint32_t instruction(int code, int pc) {
    lua_pushvalue(L_, base_ + 2);
    lua_pushvalue(L_, code);
    lua_pushinteger(L_, pc);
    lua_call(L_, 2, 1);
    const uint32_t out = lua_isnil(L_, -1)
                             ? kNone
                             : static_cast<uint32_t>(static_cast<int64_t>(lua_tonumber(L_, -1)));
    lua_pop(L_, 1);
    return out;
  }

  void push_constant(int code, int index) {
    lua_pushvalue(L_, base_ + 3);
    lua_pushvalue(L_, code);
    lua_pushinteger(L_, index);
    lua_call(L_, 2, 1);
  }

  void scan_constants(int code) {
    for (int index = -1;; --index) {
      push_constant(code, index);
      const int type = lua_type(L_, -1);
      if (type == LUA_TNIL) break;
      if (type == LUA_TSTRING) constants.insert(lua_tostring(L_, -1));
      if (type == kProto) {
        scan();
      } else {
        lua_pop(L_, 1);
      }
    }
  }

  lua_State* L_;
  int base_;
  uint32_t read_op_ = 0;
  uint32_t write_op_ = 0;
};

}  // namespace

std::set<std::string> reached_globals(lua_State* L, int index) {
  lua_pushvalue(L, index);
  const int function = lua_gettop(L);
  std::set<std::string> names;
  {
    CodeReader reader(L);
    lua_pushvalue(L, function);
    reader.scan();
    names = std::move(reader.names);
    if (names.contains("_G")) names.merge(reader.constants);
  }
  lua_pop(L, 1);
  return names;
}

}  // namespace rtrain::lua
