#include "host/bind/elastic.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/decide/replica_vote.h"
#include "host/decide/row_keepers.h"
#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/worker/worker_process.h"

namespace rtrain::bind {
namespace {

worker::WorkerProcess& worker() {
  if (auto* current = worker::WorkerProcess::current()) return *current;
  throw Error(Code::kArgument, "this works only inside the train function, in a worker");
}

uint64_t step_at(lua_State* L, int index) {
  return static_cast<uint64_t>(luaL_checkinteger(L, index));
}

std::string_view bytes_at(lua_State* L, int index) {
  size_t size = 0;
  const char* data = luaL_checklstring(L, index, &size);
  return {data, size};
}

int refusal(lua_State* L) {
  const std::string reason = worker().commits().refusal();
  lua::push_value(L, reason.empty() ? Value() : Value(reason));
  lua_pushboolean(L, worker().commits().ends_with_rank());
  return 2;
}

int has_devices(lua_State* L) {
  lua_pushboolean(L, worker().commits().has_devices());
  return 1;
}

int next_report(lua_State* L) {
  worker::WorkerProcess& w = worker();
  const int64_t index = w.context().first_index + w.reporter().num_reports();
  lua_pushinteger(L, static_cast<lua_Integer>(index));
  return 1;
}

int growth(lua_State* L) {
  const std::optional<std::string> folder = worker().growth();
  lua::push_value(L, folder ? Value(*folder) : Value());
  return 1;
}

int num_collectives(lua_State* L) {
  auto* current = worker::WorkerProcess::current();
  lua_pushinteger(L, current == nullptr ? 0 : static_cast<lua_Integer>(current->num_collectives()));
  return 1;
}

int enter(lua_State* L) {
  worker().commits().enter(step_at(L, 1));
  return 0;
}

int prepare(lua_State* L) {
  const std::string_view copy = lua_isnoneornil(L, 3) ? "" : bytes_at(L, 3);
  worker().commits().prepare(step_at(L, 1), bytes_at(L, 2), copy);
  return 0;
}

int is_copied(lua_State* L) {
  lua_pushboolean(L, worker().commits().is_copied());
  return 1;
}

int commit(lua_State* L) {
  worker().commits().commit(step_at(L, 1), bytes_at(L, 2));
  return 0;
}

template <pages::CommitBoard::Part kPart>
int read(lua_State* L) {
  const std::optional<std::string> bytes = worker().commits().read(kPart, step_at(L, 1));
  if (!bytes) return 0;
  lua_pushlstring(L, bytes->data(), bytes->size());
  return 1;
}

int set_healable(lua_State* L) {
  const std::string_view fixed = lua_isnoneornil(L, 2) ? "" : bytes_at(L, 2);
  worker().commits().set_healable(lua_toboolean(L, 1) != 0, fixed);
  return 0;
}

int leave(lua_State* /*L*/) {
  worker().commits().leave();
  return 0;
}

int go_back(lua_State* L) {
  const auto index = static_cast<int64_t>(luaL_checkinteger(L, 2));
  worker().commits().go_back(step_at(L, 1), index, lua::to_error(L, 3));
  return 0;
}

template <class Number>
std::vector<Number> numbers_at(lua_State* L, int index) {
  luaL_checktype(L, index, LUA_TTABLE);
  std::vector<Number> numbers(lua_objlen(L, index));
  for (size_t i = 0; i < numbers.size(); ++i) {
    lua_rawgeti(L, index, static_cast<int>(i + 1));
    numbers[i] = static_cast<Number>(luaL_checknumber(L, -1));
    lua_pop(L, 1);
  }
  return numbers;
}

int row_keepers(lua_State* L) {
  const std::vector<int> keepers = decide::row_keepers(numbers_at<int>(L, 1));
  lua::push_value(L, List(keepers.begin(), keepers.end()));
  return 1;
}

std::vector<decide::RowPlace> row_places_at(lua_State* L, int index) {
  const auto sizes = numbers_at<int>(L, index);
  const auto ranks = numbers_at<int>(L, index + 1);
  const auto kept = numbers_at<int>(L, index + 2);
  std::vector<decide::RowPlace> places;
  for (size_t i = 0; i < sizes.size(); ++i) {
    places.push_back({.size = sizes[i], .rank = ranks.at(i), .kept = kept.at(i)});
  }
  return places;
}

int row_holders(lua_State* L) {
  const auto holders = decide::row_holders(row_places_at(L, 1));
  if (!holders) return 0;
  List ranks;
  List are_kept;
  for (const decide::RowHolder& each : *holders) {
    ranks.emplace_back(each.rank);
    are_kept.emplace_back(each.is_kept);
  }
  lua::push_value(L, std::move(ranks));
  lua::push_value(L, std::move(are_kept));
  return 2;
}

int keeps_rows(lua_State* L) {
  lua_pushboolean(L, decide::keeps_rows(row_places_at(L, 1), numbers_at<int>(L, 4)));
  return 1;
}

int vote(lua_State* L) {
  const decide::ReplicaVote found = decide::vote_of_replicas(numbers_at<uint64_t>(L, 1));
  List ranks(found.differing.begin(), found.differing.end());
  lua::push_value(L, std::move(ranks));
  lua::push_value(L, found.source < 0 ? Value() : Value(found.source));
  return 2;
}

}  // namespace

int open_elastic(lua_State* L) {
  static constexpr std::array kFunctions = {
      lua::method<&refusal>("refusal"),
      lua::method<&has_devices>("has_devices"),
      lua::method<&next_report>("next_report"),
      lua::method<&num_collectives>("num_collectives"),
      lua::method<&growth>("growth"),
      lua::method<&enter>("enter"),
      lua::method<&prepare>("prepare"),
      lua::method<&is_copied>("is_copied"),
      lua::method<&commit>("commit"),
      lua::method<&read<pages::CommitBoard::Part::kPrepared>>("prepared"),
      lua::method<&read<pages::CommitBoard::Part::kCommitted>>("committed"),
      lua::method<&set_healable>("set_healable"),
      lua::method<&leave>("leave"),
      lua::method<&go_back>("go_back"),
      lua::method<&vote>("vote"),
      lua::method<&row_keepers>("row_keepers"),
      lua::method<&row_holders>("row_holders"),
      lua::method<&keeps_rows>("keeps_rows"),
  };
  lua::push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain::bind
