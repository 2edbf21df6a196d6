// host/lua/closure/closure_reader.h: rebuilds in this state the values that a closure writer wrote.
// load_closure uses a reader once.
//
// First it makes every table and function, and lets functions share upvalue cells as they did. Then
// it fills in contents in the written order. An object that refers to a packed object that does not
// exist yet is filled in last.
#pragma once

#include <string_view>
#include <vector>

#include "host/lua/closure/closure_format.h"
#include "host/lua/lua.h"

namespace rtrain::lua {

class ClosureReader {
 public:
  ClosureReader(lua_State* L, std::string_view bytes);

  // Pushes the value.
  void read();

 private:
  struct Node {
    NodeKind kind;
    std::string_view payload;
    bool made = false;  // its Lua object exists
    int function = -1;  // for a cell: a function that has it, and its number in there
    int upvalue = 0;
  };
  struct Reference {
    RefTag tag;
    uint64_t bits;  // a number, the number of a string, or a node id
  };

  void read_modules();
  void read_strings();
  void read_nodes();
  void make_function(int id);
  static void load_parts(lua_State* L, std::string_view module);
  void make_module(int id);
  void make_untransportable(int id);
  void push_untransportable(std::string_view message);
  void join_cells(int id);
  void find_module_cell(int id);
  void set_environment(int id);
  void fill(int id);
  void fill_table(int id);
  void fill_cell(int id);
  void make_packed(int id);
  bool resolve_step(StepKind kind);
  void read_globals();

  Reference read_ref(ByteReader& in);
  bool is_ready(const Reference& ref) const;
  void push_ref(const Reference& ref);
  void push_object(int id);
  // Makes the object at the top of the stack that of the node, and pops it.
  void set_object(int id);

  lua_State* L_;
  ByteReader in_;
  int objects_ = 0;  // stack positions: node id → object
  int strings_ = 0;  // number → string
  std::vector<Node> nodes_;
  std::vector<int> order_;
  std::vector<int> deferred_;  // nodes that refer to a packed object made after them
};

}  // namespace rtrain::lua
