// host/lua/closure/closure_writer.h: walks a value and writes its graph in the closure format.
// dump_closure uses a writer once.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "host/lua/closure/closure.h"
#include "host/lua/closure/closure_format.h"
#include "host/lua/closure/closure_nodes.h"
#include "host/lua/closure/closure_strings.h"
#include "host/lua/closure/module_index.h"

namespace rtrain::lua {

class ClosureWriter {
 public:
  explicit ClosureWriter(lua_State* L);
  ClosureWriter(const ClosureWriter&) = delete;
  ClosureWriter& operator=(const ClosureWriter&) = delete;

  ClosureDump write(int index);

 private:
  using Origin = ClosureNodes::Origin;

  // Walks everything reachable from the node. It does not recurse, so only memory limits the depth.
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

  void add_modules(ByteWriter& out);
  std::string assemble(const std::string& root_ref);

  lua_State* L_;
  ModuleIndex index_;
  ClosureNodes nodes_;
  ClosureStrings strings_;
  std::vector<int> order_;
  std::vector<int> children_;                                 // of the node being entered
  std::vector<std::pair<std::string, std::string>> globals_;  // name, reference
  std::vector<std::string> pending_globals_;
};

}  // namespace rtrain::lua
