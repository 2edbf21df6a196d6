#include "host/engine/profiler/profile_class.h"

#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/table_fields.h"

namespace rtrain::engine {
namespace {

constexpr double kNsPerUs = 1000;

void set_stack(lua_State* L, const std::vector<std::string>& lines) {
  lua_createtable(L, static_cast<int>(lines.size()), 0);
  for (size_t i = 0; i < lines.size(); ++i) {
    lua_pushlstring(L, lines[i].data(), lines[i].size());
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  lua_setfield(L, -2, "stack");
}

// Pushes PyTorch's fields, with times in microseconds.
void push_average(lua_State* L, const EventAverage& event) {
  lua_newtable(L);
  set_text(L, "key", event.key);
  set_number(L, "count", static_cast<double>(event.count));
  set_number(L, "cpu_time_total", static_cast<double>(event.cpu_ns) / kNsPerUs);
  set_number(L, "self_cpu_time_total", static_cast<double>(event.self_cpu_ns) / kNsPerUs);
  set_number(L, "device_time_total", static_cast<double>(event.device_ns) / kNsPerUs);
  set_number(L, "self_device_time_total", static_cast<double>(event.self_device_ns) / kNsPerUs);
  set_number(L, "cpu_memory_usage", static_cast<double>(event.cpu_memory));
  set_number(L, "self_cpu_memory_usage", static_cast<double>(event.self_cpu_memory));
  set_number(L, "device_memory_usage", static_cast<double>(event.device_memory));
  set_number(L, "self_device_memory_usage", static_cast<double>(event.self_device_memory));
  set_number(L, "flops", static_cast<double>(event.flops));
  set_text(L, "input_shapes", event.shapes);
  set_text(L, "device_type", event.on_device ? "cuda" : "cpu");
  set_boolean(L, "is_async", event.is_async);
  set_boolean(L, "is_user_annotation", event.is_annotation);
  set_stack(L, event.stack);
}

// The same for a single event, with its start and thread.
void push_event(lua_State* L, const FunctionEvent& event, int64_t begin_ns) {
  push_average(L, average_events({event}, {.by_shape = true, .by_stack = 1}).front());
  set_number(L, "thread", static_cast<double>(event.thread));
  lua_createtable(L, 0, 2);
  set_number(L, "start", static_cast<double>(event.start_ns - begin_ns) / kNsPerUs);
  set_number(L, "end_", static_cast<double>(event.end_ns - begin_ns) / kNsPerUs);
  lua_setfield(L, -2, "time_range");
}

}  // namespace

namespace profile_methods {

int num_events(lua_State* L) {
  lua_pushinteger(L, static_cast<lua_Integer>(lua::check<Profile>(L, 1)->num_events()));
  return 1;
}

int key_averages(lua_State* L) {
  Profile& profile = *lua::check<Profile>(L, 1);
  const AverageGrouping grouping{.by_shape = lua_toboolean(L, 2) != 0,
                                 .by_stack = static_cast<size_t>(luaL_checkinteger(L, 3))};
  const std::vector<EventAverage> averages = average_events(profile.events(), grouping);
  lua_createtable(L, static_cast<int>(averages.size()), 0);
  for (size_t i = 0; i < averages.size(); ++i) {
    push_average(L, averages[i]);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return 1;
}

int events(lua_State* L) {
  Profile& profile = *lua::check<Profile>(L, 1);
  const std::vector<FunctionEvent>& events = profile.events();
  lua_createtable(L, static_cast<int>(events.size()), 0);
  for (size_t i = 0; i < events.size(); ++i) {
    push_event(L, events[i], profile.begin_ns());
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return 1;
}

int save(lua_State* L) {
  lua::check<Profile>(L, 1)->save(std::string(check_text(L, 2, "export_chrome_trace: path")));
  return 0;
}

}  // namespace profile_methods
}  // namespace rtrain::engine
