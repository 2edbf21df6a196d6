// host/arrow/object_binding.cpp: object_kind, list_objects, read_object, remove_object and
// object_writer for Lua.
#include <arrow/buffer.h>

#include <algorithm>
#include <array>
#include <memory>

#include "host/arrow/bindings.h"
#include "host/arrow/objects/object_store.h"
#include "host/arrow/objects/output.h"
#include "host/arrow/types/status.h"

namespace rtrain::arrow {
namespace {

struct ObjectWriter {
  FileTask task;
  std::shared_ptr<Output> output;
};

int kind(lua_State* L) {
  switch (object_kind(check_path(L, 1, "object_kind"))) {
    case ObjectKind::kNothing:
      return 0;
    case ObjectKind::kFile:
      lua_pushliteral(L, "file");
      return 1;
    case ObjectKind::kFolder:
      lua_pushliteral(L, "folder");
      return 1;
  }
  return 0;
}

int list(lua_State* L) {
  const std::vector<std::string> uris = list_objects(check_path(L, 1, "list_objects"));
  lua_createtable(L, static_cast<int>(uris.size()), 0);
  for (size_t i = 0; i < uris.size(); ++i) {
    lua_pushlstring(L, uris[i].data(), uris[i].size());
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return 1;
}

int read(lua_State* L) {
  const std::string uri = check_path(L, 1, "read_object");
  const FileTask task{"read", uri};
  const auto file = open_object(uri);
  int64_t size = take(file->GetSize(), task);
  if (!lua_isnoneornil(L, 2)) size = std::min(size, check_integer(L, 2, "read_object: most"));
  const auto bytes = take(file->ReadAt(0, size), task);
  lua_pushlstring(L, reinterpret_cast<const char*>(bytes->data()),
                  static_cast<size_t>(bytes->size()));
  return 1;
}

int remove(lua_State* L) {
  remove_object(check_path(L, 1, "remove_object"));
  return 0;
}

}  // namespace
}  // namespace rtrain::arrow

template <>
struct rtrain::lua::Class<rtrain::arrow::ObjectWriter> {
  using Slot = std::unique_ptr<rtrain::arrow::ObjectWriter>;
  static constexpr const char* kName = "rtrain.ObjectWriter";
};

namespace rtrain::arrow {
namespace {

int open_writer(lua_State* L) {
  const std::string uri = check_path(L, 1, "object_writer");
  lua::push<ObjectWriter>(
      L, std::make_unique<ObjectWriter>(
             ObjectWriter{FileTask{"write", uri}, open_output(uri, NewFile::Durability::kSynced)}));
  return 1;
}

int write(lua_State* L) {
  const auto& writer = lua::check<ObjectWriter>(L, 1);
  size_t size = 0;
  const char* bytes = luaL_checklstring(L, 2, &size);
  check(writer->output->Write(bytes, static_cast<int64_t>(size)), writer->task);
  lua_pushboolean(L, 1);
  return 1;
}

int close(lua_State* L) {
  const auto& writer = lua::check<ObjectWriter>(L, 1);
  check(writer->output->commit(), writer->task);
  lua_pushboolean(L, 1);
  return 1;
}

}  // namespace

void add_objects(lua_State* L) {
  static constexpr std::array kMethods = {lua::method<&write>("write"),
                                          lua::method<&close>("close")};
  lua::register_class<ObjectWriter>(L, kMethods);
  lua::add_function(L, lua::method<&kind>("object_kind"));
  lua::add_function(L, lua::method<&list>("list_objects"));
  lua::add_function(L, lua::method<&read>("read_object"));
  lua::add_function(L, lua::method<&remove>("remove_object"));
  lua::add_function(L, lua::method<&open_writer>("object_writer"));
}

}  // namespace rtrain::arrow
