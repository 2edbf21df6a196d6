// host/engine/files/files.cpp: torch._C.save, async_save, load and _write_file.
#include <array>

#include "host/base/default_timeout.h"
#include "host/base/error.h"
#include "host/base/files/new_file.h"
#include "host/base/text/text.h"
#include "host/engine/files/archive.h"
#include "host/engine/files/lua_files.h"
#include "host/engine/files/tree.h"
#include "host/engine/runtime/blocking.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/dtype.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/lua_tensor.h"
#include "host/engine/runtime/open.h"

namespace rtrain::engine {
namespace {

// The Lua state's saver is created at first use. Closing the state waits for its last save.
constexpr const char* kSaverKey = "rtrain.background_saver";

}  // namespace
}  // namespace rtrain::engine

template <>
struct rtrain::lua::Class<rtrain::engine::BackgroundSave> {
  using Slot = std::shared_ptr<rtrain::engine::BackgroundSave>;
  static constexpr const char* kName = "train.AsyncSave";
};

template <>
struct rtrain::lua::Class<rtrain::engine::BackgroundSaver> {
  using Slot = std::unique_ptr<rtrain::engine::BackgroundSaver>;
  static constexpr const char* kName = "torch.BackgroundSaver";
};

namespace rtrain::engine {
namespace {

int is_done(lua_State* L) {
  lua_pushboolean(L, lua::check<BackgroundSave>(L, 1)->is_done() ? 1 : 0);
  return 1;
}

int result(lua_State* L) {
  const BackgroundSave& save = *lua::check<BackgroundSave>(L, 1);
  const std::chrono::duration<double> timeout(luaL_optnumber(L, 2, kDefaultTimeoutS));
  const BlockingRegion region(host(L), WaitKind::kOwn, "AsyncSave:result");
  save.wait(std::chrono::ceil<std::chrono::milliseconds>(timeout));
  return 0;
}

BackgroundSaver& saver(lua_State* L) {
  lua_getfield(L, LUA_REGISTRYINDEX, kSaverKey);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua::push<BackgroundSaver>(L, std::make_unique<BackgroundSaver>(host(L)));
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, kSaverKey);
  }
  BackgroundSaver& out = *lua::check<BackgroundSaver>(L, -1);
  lua_pop(L, 1);
  return out;
}

BackgroundContent archive_content(const Tree& tree) {
  auto content = std::make_shared<Pickle>(pickle(tree));
  std::vector<c10::Storage> storages = content->storages;
  return {std::move(storages),
          [content](std::vector<c10::Storage> copies, const std::string& path) {
            content->storages = std::move(copies);
            write_archive(*content, path);
          }};
}

int async_save(lua_State* L) {
  const std::string path(check_text(L, 2, "async_save: path"));
  push_background_save(L, archive_content(to_tree(L, 1, "value")), path);
  return 1;
}

// Reads nil, a device, or a table from the device that a tensor was saved on to its new one.
DeviceChoice device_choice(lua_State* L, int index) {
  DeviceChoice out;
  if (lua_isnoneornil(L, index)) return out;
  if (lua_type(L, index) != LUA_TTABLE) {
    out.all = check_device(L, index, "load: map_location");
    return out;
  }
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING) {
      throw Error(Code::kArgument, "map_location: expected {saved_device = device}, both strings");
    }
    out.by_location.insert_or_assign(lua_tostring(L, -2), parse_device(lua_tostring(L, -1)));
  }
  return out;
}

int save(lua_State* L) {
  const std::string path(check_text(L, 2, "save: path"));
  save_archive(to_tree(L, 1, "value"), path);
  return 0;
}

int load(lua_State* L) {
  const DeviceChoice devices = device_choice(L, 2);
  push_tree(L, read_file(L, 1, 3,
                         [&](const ByteSource& source) { return load_archive(source, devices); }));
  return 1;
}

// _write_file(pieces, path): writes strings and the values of tensors, one after the other.
int write_pieces(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  NewFile file{std::string(check_text(L, 2, "path"))};
  for (int i = 1; i <= static_cast<int>(lua_objlen(L, 1)); ++i) {
    lua_rawgeti(L, 1, i);
    if (const at::Tensor* tensor = test_tensor(L, -1)) {
      const at::Tensor values = tensor->detach().cpu().contiguous();
      file.write(values.const_data_ptr(), values.nbytes());
    } else {
      size_t size = 0;
      const char* text = luaL_checklstring(L, -1, &size);
      file.write(text, size);
    }
    lua_pop(L, 1);
  }
  file.commit();
  return 0;
}

}  // namespace

void push_background_save(lua_State* L, BackgroundContent content, const std::string& path) {
  std::shared_ptr<BackgroundSave> save;
  {
    const BlockingRegion region(host(L), WaitKind::kOwn, "train.async_save");
    save = saver(L).start(std::move(content), path);
  }
  lua::push<BackgroundSave>(L, std::move(save));
}

void open_files(lua_State* L) {
  static constexpr std::array kFunctions = {
      torch_method<&save>("save"), torch_method<&async_save>("async_save"),
      torch_method<&load>("load"), torch_method<&write_pieces>("_write_file")};
  static constexpr std::array kBackgroundSaveMethods = {torch_method<&is_done>("done"),
                                                        torch_method<&result>("result")};
  lua::register_class<BackgroundSave>(L, kBackgroundSaveMethods);
  lua::register_class<BackgroundSaver>(L);
  lua_getfield(L, -1, "none");
  lua_setfield(L, LUA_REGISTRYINDEX, kNoneKey);
  lua::add_functions(L, kFunctions);
}

}  // namespace rtrain::engine
