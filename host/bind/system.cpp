#include "host/bind/system.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "host/base/clock.h"
#include "host/base/codec/hash.h"
#include "host/base/codec/json.h"
#include "host/base/codec/packing.h"
#include "host/base/default_timeout.h"
#include "host/base/files/new_file.h"
#include "host/base/files/write_all.h"
#include "host/base/object_uri.h"
#include "host/base/text/shell_word.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text_width.h"
#include "host/loop/processes/command_output.h"
#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/lua/libraries/cuda_loader.h"
#include "host/lua/libraries/isolated_library.h"
#include "host/machine/leases/resource_settings.h"
#include "host/machine/libraries/gpu_state.h"
#include "host/machine/libraries/gpu_wiring.h"
#include "host/machine/libraries/nvml.h"
#include "host/machine/libraries/tree_library.h"
#include "host/machine/terminal_size.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/checkpoints/manifest.h"
#include "host/store/claim/run_name.h"
#include "host/store/files/file.h"
#include "host/store/files/folder_copy.h"
#include "host/store/upkeep/run_tag.h"
#include "host/worker/worker_process.h"

template <>
struct rtrain::lua::Class<rtrain::store::DirectoryLease> {
  using Slot = std::unique_ptr<rtrain::store::DirectoryLease>;
  static constexpr const char* kName = "rtrain.DirectoryLease";
};

template <>
struct rtrain::lua::Class<rtrain::loop::CommandOutput> {
  using Slot = std::unique_ptr<rtrain::loop::CommandOutput>;
  static constexpr const char* kName = "rtrain.CommandOutput";
};

namespace rtrain::bind {
namespace {

int start_command(lua_State* L) {
  lua::push<loop::CommandOutput>(L, std::make_unique<loop::CommandOutput>(luaL_checkstring(L, 1)));
  return 1;
}

int finish_command(lua_State* L) {
  const auto& command = lua::check<loop::CommandOutput>(L, 1);
  lua_pushboolean(L, command->finish(luaL_checknumber(L, 2)));
  lua_pushlstring(L, command->text().data(), command->text().size());
  return 2;
}

int monotonic(lua_State* L) {
  lua_pushnumber(L, monotonic_s());
  return 1;
}

PhaseClock* phases() {
  auto* worker = worker::WorkerProcess::current();
  return worker == nullptr ? nullptr : worker->progress().phases();
}

int enter_phase(lua_State* L) {
  const int phase = luaL_checkint(L, 1);
  luaL_argcheck(L, phase >= 0 && phase < static_cast<int>(PhaseClock::kPhases), 1, "no phase");
  PhaseClock* const clock = phases();
  lua_pushinteger(L, clock == nullptr ? -1 : clock->enter_again(static_cast<TrainPhase>(phase)));
  return 1;
}

int leave_phase(lua_State* L) {
  const int depth = luaL_checkint(L, 1);
  if (PhaseClock* const clock = phases()) clock->leave(depth);
  return 0;
}

int time_of_day_ms(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(now_ms()));
  return 1;
}

int shown_time(lua_State* L) {
  lua::push_value(L, time_text(static_cast<int64_t>(luaL_checknumber(L, 1))));
  return 1;
}

int json_of(lua_State* L) {
  lua::push_value(L, to_json(lua::to_value(L, 1)));
  return 1;
}

int read_json(lua_State* L) {
  size_t size = 0;
  const char* text = luaL_checklstring(L, 1, &size);
  lua::push_value(L, from_json({text, size}));
  return 1;
}

int write_bytes(lua_State* L) {
  size_t size = 0;
  const char* text = luaL_checklstring(L, 2, &size);
  lua_pushboolean(L, write_all(luaL_checkint(L, 1), {text, size}) ? 1 : 0);
  return 1;
}

int absolute(lua_State* L) {
  const std::string path = store::absolute_path(luaL_checkstring(L, 1));
  lua_pushlstring(L, path.data(), path.size());
  return 1;
}

int remove_folder(lua_State* L) {
  store::remove_tree(luaL_checkstring(L, 1));
  return 0;
}

int user_folders(lua_State* L) {
  store::make_user_folders(luaL_checkstring(L, 1));
  return 0;
}

int copy_folder(lua_State* L) {
  store::copy_tree(luaL_checkstring(L, 1), luaL_checkstring(L, 2));
  return 0;
}

int write_text_file(lua_State* L) {
  size_t size = 0;
  const char* text = luaL_checklstring(L, 2, &size);
  NewFile file(luaL_checkstring(L, 1));
  file.write(text, size);
  file.commit(NewFile::Durability::kUnsynced);
  return 0;
}

int is_uri_of_object(lua_State* L) {
  lua_pushboolean(L, is_object_uri(luaL_checkstring(L, 1)));
  return 1;
}

int is_packed(lua_State* L) {
  size_t size = 0;
  const char* head = luaL_checklstring(L, 2, &size);
  const bool by_name = packing_of_name(luaL_checkstring(L, 1)).has_value();
  lua_pushboolean(L, by_name || packing_of({head, size}).has_value());
  return 1;
}

int kind_of_path(lua_State* L) {
  const std::string kind = store::path_kind(luaL_checkstring(L, 1));
  if (kind.empty()) return 0;
  lua_pushlstring(L, kind.data(), kind.size());
  return 1;
}

int stamp_of_file(lua_State* L) {
  lua_pushstring(L, store::file_stamp(luaL_checkstring(L, 1)).c_str());
  return 1;
}

int list_folder(lua_State* L) {
  const std::vector<std::string> names = store::folder_entries(luaL_checkstring(L, 1));
  lua_createtable(L, static_cast<int>(names.size()), 0);
  for (size_t i = 0; i < names.size(); ++i) {
    lua_pushlstring(L, names[i].data(), names[i].size());
    lua_rawseti(L, -2, static_cast<int>(i + 1));
  }
  return 1;
}

int make_temp(lua_State* L) {
  const std::string path = store::make_temp_folder(luaL_checkstring(L, 1));
  lua_pushlstring(L, path.data(), path.size());
  return 1;
}

int get_metadata(lua_State* L) {
  lua::push_value(L, store::get_checkpoint_metadata(luaL_checkstring(L, 1)));
  return 1;
}

int set_metadata(lua_State* L) {
  store::set_checkpoint_metadata(luaL_checkstring(L, 1), lua::to_value(L, 2, "metadata"));
  return 0;
}

int verify(lua_State* L) {
  const std::string folder = luaL_checkstring(L, 1);
  const bool committed = store::is_committed_checkpoint(folder);
  if (committed) store::CheckpointFiles::verify(folder);
  lua_pushboolean(L, committed);
  return 1;
}

int hash(lua_State* L) {
  size_t size = 0;
  const char* text = luaL_checklstring(L, 1, &size);
  lua_pushstring(L, hash_text(hash64({text, size})).c_str());
  return 1;
}

int lease(lua_State* L) {
  lua::push<store::DirectoryLease>(L,
                                   std::make_unique<store::DirectoryLease>(luaL_checkstring(L, 1)));
  return 1;
}

template <auto Problem>
int problem_of(lua_State* L) {
  size_t size = 0;
  const char* text = luaL_checklstring(L, 1, &size);
  const std::string problem = Problem({text, size});
  lua::push_value(L, problem.empty() ? Value() : Value(problem));
  return 1;
}

int cores(lua_State* L) {
  lua::push_value(L, machine::offered_cores());
  return 1;
}

int cuda(lua_State* L) {
  const machine::CudaSupport support = lua::usable_cuda();
  lua::push_value(L, support.devices);
  lua::push_value(L, support.reason);
  return 2;
}

int gpu_state(lua_State* L) {
  const machine::Nvml nvml;
  if (nvml.refusal().empty()) {
    lua::push_value(L, machine::describe_gpu_state(nvml.state(luaL_checkstring(L, 1))));
    return 1;
  }
  lua_pushnil(L);
  lua::push_value(L, nvml.refusal());
  return 2;
}

int gpu_wiring(lua_State* L) {
  lua::push_value(L, machine::describe_gpu_wiring(machine::Nvml()));
  return 1;
}

int is_terminal(lua_State* L) {
  lua_pushboolean(L, isatty(static_cast<int>(luaL_checkinteger(L, 1))) == 1);
  return 1;
}

int size_of_terminal(lua_State* L) {
  const auto size = machine::terminal_size(static_cast<int>(luaL_checkinteger(L, 1)));
  if (!size) return 0;
  lua::push_value(L, size->columns);
  lua::push_value(L, size->rows);
  return 2;
}

int quoted_word(lua_State* L) {
  lua::push_value(L, shell_word(luaL_checkstring(L, 1)));
  return 1;
}

int width_of_text(lua_State* L) {
  size_t size = 0;
  const char* bytes = luaL_checklstring(L, 1, &size);
  lua::push_value(L, static_cast<int64_t>(text_width({bytes, size})));
  return 1;
}

int bytes_of_columns(lua_State* L) {
  size_t size = 0;
  const char* bytes = luaL_checklstring(L, 1, &size);
  const lua_Integer columns = std::max<lua_Integer>(luaL_checkinteger(L, 2), 0);
  lua::push_value(
      L, static_cast<int64_t>(bytes_that_fit({bytes, size}, static_cast<size_t>(columns))));
  return 1;
}

int tree_library(lua_State* L) {
  const machine::TreeLibrary library = machine::require_tree_library(luaL_checkstring(L, 1));
  lua::push_value(L, library.file);
  lua::push_value(L, library.version);
  return 2;
}

int open_isolated(lua_State* L) {
  lua_pushlightuserdata(L, lua::open_isolated_library(luaL_checkstring(L, 1)));
  return 1;
}

template <auto Make>
int terminal(lua_State* L) {
  size_t size = 0;
  const char* bytes = luaL_checklstring(L, 1, &size);
  const std::string shown = Make({bytes, size});
  lua_pushlstring(L, shown.data(), shown.size());
  return 1;
}

}  // namespace

int open_system(lua_State* L) {
  lua::register_class<store::DirectoryLease>(L);
  static constexpr std::array kCommandOutputMethods = {lua::method<&finish_command>("finish")};
  lua::register_class<loop::CommandOutput>(L, kCommandOutputMethods);
  static constexpr std::array kFunctions = {
      lua::method<&monotonic>("monotonic"),
      lua::method<&enter_phase>("enter_phase"),
      lua::method<&leave_phase>("leave_phase"),
      lua::method<&time_of_day_ms>("now_ms"),
      lua::method<&shown_time>("time_text"),
      lua::method<&json_of>("to_json"),
      lua::method<&read_json>("from_json"),
      lua::method<&write_bytes>("write"),
      lua::method<&absolute>("absolute"),
      lua::method<&remove_folder>("remove_tree"),
      lua::method<&user_folders>("make_folders"),
      lua::method<&copy_folder>("copy_tree"),
      lua::method<&write_text_file>("write_file"),
      lua::method<&kind_of_path>("path_kind"),
      lua::method<&stamp_of_file>("file_stamp"),
      lua::method<&is_uri_of_object>("is_object_uri"),
      lua::method<&is_packed>("is_packed"),
      lua::method<&list_folder>("list_folder"),
      lua::method<&make_temp>("make_temp"),
      lua::method<&get_metadata>("get_metadata"),
      lua::method<&set_metadata>("set_metadata"),
      lua::method<&verify>("verify"),
      lua::method<&hash>("hash"),
      lua::method<&lease>("lease"),
      lua::method<&problem_of<&store::run_name_problem>>("run_name_problem"),
      lua::method<&problem_of<&store::tag_problem>>("tag_problem"),
      lua::method<&cores>("cores"),
      lua::method<&cuda>("cuda"),
      lua::method<&gpu_state>("gpu_state"),
      lua::method<&gpu_wiring>("gpu_wiring"),
      lua::method<&start_command>("start_command"),
      lua::method<&is_terminal>("is_terminal"),
      lua::method<&size_of_terminal>("terminal_size"),
      lua::method<&quoted_word>("shell_word"),
      lua::method<&width_of_text>("text_width"),
      lua::method<&bytes_of_columns>("bytes_that_fit"),
      lua::method<&tree_library>("tree_library"),
      lua::method<&open_isolated>("open_isolated"),
      lua::method<&terminal<&terminal_text>>("terminal_text"),
      lua::method<&terminal<&terminal_line>>("terminal_line")};
  lua::push_functions(L, kFunctions);
  lua_pushnumber(L, kDefaultTimeoutS);
  lua_setfield(L, -2, "default_timeout_s");
  return 1;
}

}  // namespace rtrain::bind
