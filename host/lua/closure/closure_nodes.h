// host/lua/closure/closure_nodes.h: the objects and upvalue cells that a value reaches, each once;
// where each was found and how many bytes it takes, for messages.
//
// Keeps tables on the Lua stack: lives no longer than the state's current C call.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>

#include "host/lua/closure/closure_format.h"
#include "host/lua/lua.h"

namespace rtrain::lua {

struct ClosureNode {
  // Where it was found.
  struct Origin {
    int parent = -1;   // the node that holds it
    std::string step;  // ".name", "[3]"; the variable's name for a cell or a global
  };
  NodeKind kind = NodeKind::kTable;
  Origin origin;
  bool entered = false;
  int function = -1;  // of a cell: the node of a function that has it, and the number there
  int upvalue = 0;
  std::string payload;
  size_t bytes = 0;  // payload, and strings first found here
};

class ClosureNodes {
 public:
  using Origin = ClosureNode::Origin;

  explicit ClosureNodes(lua_State* L);
  ClosureNodes(const ClosureNodes&) = delete;
  ClosureNodes& operator=(const ClosureNodes&) = delete;

  // The node of the object at the top of the stack, which is popped.
  int of_object(Origin origin);
  // The node of the cell that is an upvalue of a function's node, under that name.
  int of_cell(int function, int upvalue, const char* name);
  // Pushes the object of a node, which is not a cell.
  void push(int id) const;

  ClosureNode& operator[](int id) { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }
  auto begin() const { return nodes_.begin(); }
  auto end() const { return nodes_.end(); }

  bool has_global(const std::string& name) const { return global_functions_.contains(name); }
  // `function`: the node of the first function that reaches it, -1 when a module does.
  void add_global(const std::string& name, int function) {
    global_functions_.emplace(name, function);
  }

  // "config.file" and "train.lua:12".
  std::string variable(int id) const;
  std::string captured_at(int id) const;

  // Throws Error(kConfig), which names the largest variables, above kClosureMaxBytes.
  void add_size(int id, size_t bytes);
  size_t total_bytes() const { return total_bytes_; }
  // Names the largest variables; empty below kClosureWarnBytes.
  std::string size_warning() const;

 private:
  int variable_root(int id) const;
  std::string largest_variables() const;

  lua_State* L_;
  int memo_;     // stack positions: object → node id
  int objects_;  // node id → object
  std::deque<ClosureNode> nodes_;
  std::unordered_map<void*, int> cells_;
  std::map<std::string, int> global_functions_;
  size_t total_bytes_ = 0;
};

}  // namespace rtrain::lua
