// host/lua/closure/closure_nodes.h: the objects and upvalue cells that a value reaches, each once.
// For messages it knows where each was found, and how many bytes it takes.
//
// It keeps tables on the Lua stack, so it may live only as long as the state's current C call.
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
    std::string step;  // ".name", "[3]"; for a cell or a global: the variable's name
  };
  NodeKind kind = NodeKind::kTable;
  Origin origin;
  bool entered = false;
  int function = -1;  // for a cell: the node of a function that has it, and its number in there
  int upvalue = 0;
  std::string payload;
  size_t bytes = 0;  // the payload, and the strings that were first found here
};

class ClosureNodes {
 public:
  using Origin = ClosureNode::Origin;

  explicit ClosureNodes(lua_State* L);
  ClosureNodes(const ClosureNodes&) = delete;
  ClosureNodes& operator=(const ClosureNodes&) = delete;

  // Returns the node of the object at the top of the stack, and pops the object.
  int of_object(Origin origin);
  // Returns the node of the cell that is this upvalue of a function's node; `name` is the
  // upvalue's.
  int of_cell(int function, int upvalue, const char* name);
  // Pushes the object of a node that is not a cell.
  void push(int id) const;

  ClosureNode& operator[](int id) { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }
  auto begin() const { return nodes_.begin(); }
  auto end() const { return nodes_.end(); }

  bool has_global(const std::string& name) const { return global_functions_.contains(name); }
  // `function` is the node of the first function that reaches the global, -1 when a module does.
  void add_global(const std::string& name, int function) {
    global_functions_.emplace(name, function);
  }

  // Returns "config.file" and "train.lua:12".
  std::string variable(int id) const;
  std::string captured_at(int id) const;

  // Throws Error(kConfig), which names the largest variables, when the sum exceeds
  // kClosureMaxBytes.
  void add_size(int id, size_t bytes);
  size_t total_bytes() const { return total_bytes_; }
  // Returns a text that names the largest variables; "" below kClosureWarnBytes.
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
