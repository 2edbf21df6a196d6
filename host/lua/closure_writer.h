// host/lua/closure_writer.h: walks a value and writes its graph in the closure format. Used once,
// by dump_closure.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/lua/closure.h"
#include "host/lua/closure_format.h"
#include "host/lua/module_index.h"

namespace rtrain {

class ClosureWriter {
 public:
  explicit ClosureWriter(lua_State* L);
  ClosureWriter(const ClosureWriter&) = delete;
  ClosureWriter& operator=(const ClosureWriter&) = delete;

  ClosureDump write(int index);

 private:
  // Where a value was found: for messages.
  struct Origin {
    int parent = -1;   // the node that holds it
    std::string step;  // ".name", "[3]"; the variable's name for a cell or a global
  };
  struct Node {
    NodeKind kind = NodeKind::kTable;
    Origin origin;
    bool entered = false;
    int function = -1;  // of a cell: the node of a function that has it, and the number there
    int upvalue = 0;
    std::string payload;
    size_t bytes = 0;  // payload, and strings first found here
  };

  // Walks everything reachable from the node; iterative, so that depth is bounded by memory alone.
  void walk(int root);
  void enter(int id);
  void enter_object(int id, ByteWriter& out);
  void enter_table(int id, ByteWriter& out);
  void enter_function(int id, ByteWriter& out);
  void enter_cell(int id, ByteWriter& out);
  void enter_module(int id, int entry, ByteWriter& out);
  bool enter_packed(int id, ByteWriter& out);
  void enter_untransportable(int id, ByteWriter& out);
  void write_environment(int id, ByteWriter& out);

  // Writes a reference to the value at the top of the stack, and pops it.
  void add_ref(ByteWriter& out, Origin origin);
  void add_string_ref(ByteWriter& out, int owner);
  void add_cdata_ref(ByteWriter& out, Origin origin);
  int node_of(Origin origin);
  int cell_of(int function, int upvalue, const char* name);

  void collect_globals(const std::set<std::string>& names, int function);
  void collect_module_globals();
  // "config.file" and "train.lua:12".
  std::string variable(int id) const;
  std::string captured_at(int id) const;
  int variable_root(int id) const;
  std::string largest_variables() const;
  void add_size(int id, size_t bytes);

  void add_modules(ByteWriter& out);
  std::string assemble(const std::string& root_ref);

  lua_State* L_;
  ModuleIndex index_;
  int memo_;     // stack positions: object → node id
  int objects_;  // node id → object
  int strings_;  // string → number
  int texts_;    // number → string
  std::deque<Node> nodes_;
  std::unordered_map<void*, int> cells_;
  std::vector<int> order_;
  std::vector<int> children_;  // of the node being entered
  std::map<std::string, int>
      global_functions_;  // name → node of the first function that reaches it
  std::vector<std::pair<std::string, std::string>> globals_;  // name, reference
  std::vector<std::string> pending_globals_;
  uint64_t string_count_ = 0;
  size_t total_bytes_ = 0;
};

}  // namespace rtrain
