// host/lua/closure/module_index.h: the name of every object that a module owns: (module, path).
//
// It walks package.loaded: the tables, functions and userdata reachable through fields, metatables
// and the upvalues of module functions, shortest path first, in sorted order. The script's own
// functions and globals belong to no module. One dump uses it; it lives no longer than the state's
// current C call.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "host/lua/closure/closure_format.h"
#include "host/lua/ref.h"

namespace rtrain::lua {

// A user's module. Its text was read when the index was made, or came with the closure that this
// state was given.
struct UserModule {
  std::string name;
  std::string chunk;  // "@/home/me/util.lua"
  std::string text;
};

struct ModuleStep {
  StepKind kind = StepKind::kKey;
  std::variant<std::string, double, bool> key;  // the upvalue's number for kUpvalue
};

struct ModulePath {
  std::string module;
  std::vector<ModuleStep> steps;
};

class ModuleIndex {
 public:
  explicit ModuleIndex(lua_State* L);
  ModuleIndex(const ModuleIndex&) = delete;
  ModuleIndex& operator=(const ModuleIndex&) = delete;

  // Returns the number of the object at the index; -1 when no module owns it.
  int find(int index) const;
  ModulePath path(int entry) const;

  // The module function and upvalue number that hold an upvalue cell; null when no module does.
  struct CellHome {
    int entry;
    int upvalue;
  };
  const CellHome* find_cell(void* cell) const;
  // Pushes the object.
  void push(int entry) const;

  const std::vector<UserModule>& user_modules() const { return user_modules_; }

 private:
  struct Entry {
    int parent = -1;
    ModuleStep step;     // from the parent
    std::string module;  // of an entry without a parent
    bool library = false;
    bool closed = false;  // it has a name, but its contents are not the module's
    bool is_private =
        false;  // behind an upvalue of a user's module: the contents may be the script's
  };

  void add_roots();
  void add_module(const std::string& name);
  void add_base_functions();
  void add_registry_metatables();
  // Adds the value at the top of the stack, and pops it.
  void add(Entry entry);
  void descend(int entry);
  void descend_table(int entry);
  void descend_function(int entry);
  bool is_user_module(const std::string& name);
  bool is_script_function(int index) const;

  lua_State* L_;
  Ref numbers_;  // object → entry number
  Ref objects_;  // entry number → object
  std::vector<Entry> entries_;
  std::unordered_map<void*, CellHome> cells_;
  std::vector<UserModule> user_modules_;
  std::set<std::string> user_chunks_;
};

}  // namespace rtrain::lua
