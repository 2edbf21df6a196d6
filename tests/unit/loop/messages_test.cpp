#include <gtest/gtest.h>

#include <set>

#include "host/base/codec/codec.h"
#include "host/base/codec/json.h"
#include "host/base/text/text.h"
#include "host/decide/rank_facts.h"
#include "host/loop/messages/commands.h"
#include "host/loop/messages/join.h"
#include "host/loop/messages/routes.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/train/attempt.h"
#include "host/train/checkpoints/validation_process.h"
#include "host/train/operator_commands.h"
#include "host/worker/join_client.h"
#include "host/worker/worker_process.h"

namespace rtrain::loop {
namespace {

template <class... Ms, class Function>
void each_type(const std::variant<Ms...>*, const Function& function) {
  (function(static_cast<const Ms*>(nullptr)), ...);
}

// Calls the function with a null pointer of every type of message.
template <class Function>
void each_message(const Function& function) {
  each_type(static_cast<const message::ToWorker*>(nullptr), function);
  each_type(static_cast<const message::ToController*>(nullptr), function);
  each_type(static_cast<const message::Command*>(nullptr), function);
  each_type(static_cast<const message::ToJoined*>(nullptr), function);
  function(static_cast<const message::Join*>(nullptr));
}

// Gives each member a distinct value that differs from its default.
struct Filler {
  int64_t count = 0;

  template <class T>
  void fill(T& member) {
    ++count;
    if constexpr (Record<T>) {
      fill_all(member);
    } else if constexpr (record_fields::kIsOptional<T>) {
      if constexpr (std::is_same_v<T, std::optional<Error>>) {
        member = Error(Code::kTimeout, "late", "stack traceback");
      } else {
        fill(member.emplace());
      }
    } else if constexpr (record_fields::kIsVector<T>) {
      for (int i = 0; i < 2; ++i) fill(member.emplace_back());
    } else if constexpr (std::is_same_v<T, Error>) {
      member = Error(Code::kTimeout, "late", "stack traceback");
    } else if constexpr (std::is_same_v<T, List>) {
      member = List{count, "item"};
    } else if constexpr (std::is_same_v<T, Value>) {
      member = Map{{"number", count}, {"list", List{1, 2.5, nullptr}}};
    } else if constexpr (std::is_same_v<T, std::string>) {
      member = std::string("text\0", 5) + std::to_string(count);
    } else if constexpr (std::is_same_v<T, StringPairs>) {
      member = {{"name", std::to_string(count)}};
    } else if constexpr (std::is_enum_v<T> && !kNamesOf<T>.empty()) {
      member = static_cast<T>(1);
    } else if constexpr (std::is_enum_v<T>) {
      member = kLastOf<T>;
    } else {
      member = static_cast<T>(count);
    }
  }

  template <Record R>
  void fill_all(R& record) {
    R::kFields.apply([&](const auto&... field) { (fill(record.*field.member), ...); });
  }
};

template <Message M>
M sample() {
  M out;
  Filler{}.fill_all(out);
  return out;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kArgument);
    return e.message();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

// Converts to any type, to count the members of a struct.
struct Anything {
  template <class T>
  operator T() const;
};

template <class M, class... Given>
constexpr size_t num_members() {
  if constexpr (requires { M{Given{}..., Anything{}}; }) {
    return num_members<M, Given..., Anything>();
  } else {
    return sizeof...(Given);
  }
}

TEST(Messages, EveryMemberIsAField) {
  each_message([]<class M>(const M*) {
    // A Report has additional members that the controller fills.
    static_assert(std::is_same_v<M, Report> || num_members<M>() == M::kFields.kCount);
  });
  using Others = std::variant<ThreadStack, RankCollective, RankStack, RankProfile,
                              message::Stopping, message::Stacks, message::Profiles, CheckpointFile,
                              StagedRank, ValidationRequest, ReportedCheckpoint>;
  each_type(static_cast<const Others*>(nullptr),
            []<class R>(const R*) { static_assert(num_members<R>() == R::kFields.kCount); });
}

TEST(Messages, GoToAValueAndBackUnchanged) {
  each_message([]<class M>(const M*) {
    SCOPED_TRACE(M::kType);
    const Value value = to_value(sample<M>());
    EXPECT_EQ(value["type"].as_string(), M::kType);
    EXPECT_EQ(value.as_map().size(), 1 + M::kFields.kCount);
    EXPECT_EQ(to_value(from_value<M>(decode(encode(value)))), value);
  });
}

TEST(Messages, WithDefaultValuesGoToAValueAndBackUnchanged) {
  each_message([]<class M>(const M*) {
    SCOPED_TRACE(M::kType);
    const Value value = to_value(M());
    EXPECT_EQ(to_value(from_value<M>(value)), value);
  });
}

TEST(Messages, ANumberThatIsNoneOfAnEnumIsRefused) {
  for (const int64_t number : {int64_t{6}, int64_t{-1}, INT64_MAX}) {
    Value wait = to_value(decide::WaitFacts());
    wait.as_map().set("kind", number);
    EXPECT_NE(error_of([&] { from_value<decide::WaitFacts>(wait); }).find("kind"),
              std::string::npos);
  }
}

TEST(Messages, AnUnknownFieldIsPassedOver) {
  each_message([]<class M>(const M*) {
    SCOPED_TRACE(M::kType);
    const Value value = to_value(sample<M>());
    Value newer = value;
    newer.as_map().set("of_a_later_version", Map{{"x", 1}});
    EXPECT_EQ(to_value(from_value<M>(newer)), value);
  });
}

TEST(Messages, AMissingFieldIsRefusedByNameUnlessItIsOptional) {
  each_message([]<class M>(const M*) {
    const auto check = [](const auto& field) {
      SCOPED_TRACE(cat(M::kType, ": ", field.name));
      Value value = to_value(sample<M>());
      ASSERT_TRUE(value.as_map().del(field.name));
      if (!field.is_required) {
        EXPECT_EQ(to_value(from_value<M>(value)), value);
        return;
      }
      EXPECT_EQ(error_of([&] { from_value<M>(value); }),
                cat("message '", M::kType, "': field '", field.name, "' is missing"));
    };
    M::kFields.apply([&](const auto&... field) { (check(field), ...); });
  });
}

TEST(Messages, AWrongFieldIsRefusedByNameAlsoWithinAnother) {
  Value seal = to_value(message::Seal{.index = 1, .folder = "x"});
  seal.as_map().set("folder", 5);
  EXPECT_EQ(error_of([&] { from_value<message::Seal>(seal); }),
            "message 'seal': field 'folder': expected a string, got integer");
  Value stack = to_value(sample<message::Stack>());
  stack.as_map().find("threads")->as_list()[1].as_map().del("tid");
  EXPECT_EQ(error_of([&] { from_value<message::Stack>(stack); }),
            "message 'stack': field 'threads': field 'tid' is missing");
  EXPECT_EQ(error_of([] { from_value<message::Exit>(Value(7)); }),
            "message 'exit': expected a map, got integer");
}

TEST(Messages, ARecordThatDerivesFromAnotherIsOneMap) {
  const ValidationTask task{{.fn_kwargs = Map{{"batches", 10}}, .timeout_s = 600}, "/c"};
  const Value value = to_value(task);
  EXPECT_EQ(to_json(value), R"({"fn_kwargs":{"batches":10},"timeout_s":600,"checkpoint":"/c"})");
  const auto read = from_value<ValidationTask>(value);
  EXPECT_EQ(read.checkpoint, "/c");
  EXPECT_EQ(read.limit_s(), 600);
  EXPECT_EQ(error_of([&] { from_value<ValidationRequest>(value); }),
            "ValidationRequest: unknown field 'checkpoint': valid names: fn_kwargs, timeout_s");
}

// Stores and workers of other builds have them.
TEST(Messages, WhatTheySayOfCheckpointsHasAFixedForm) {
  const message::Files files{
      .index = 4,
      .files = {{.path = "a", .size_bytes = 0, .xxh3 = "00"}, {.path = "b", .link = "a"}}};
  EXPECT_EQ(to_json(to_value(files)),
            R"({"type":"files","index":4,"files":[{"path":"a","size_bytes":0,"xxh3":"00"},)"
            R"({"path":"b","link":"a"}]})");
  const message::Uploaded uploaded{.index = 4,
                                   .checkpoint = StagedRank{.rank = 1, .folders = {"x"}}};
  EXPECT_EQ(to_json(to_value(uploaded)),
            R"({"type":"uploaded","index":4,"checkpoint":)"
            R"({"rank":1,"files":[],"folders":["x"],"metadata":null}})");
  const ReportedCheckpoint checkpoint{.path = "/c", .name = "c", .metrics = Map{}, .index = 3};
  EXPECT_EQ(to_json(to_value(checkpoint)),
            R"({"path":"/c","name":"c","metrics":{},"index":3,"status":"COMMITTED"})");
}

TEST(Messages, ANumberThatDoesNotFitIsRefused) {
  Value gpus = to_value(message::Gpus{.gpus = {1}});
  gpus.as_map().set("gpus", List{int64_t{1} << 40});
  EXPECT_EQ(error_of([&] { from_value<message::Gpus>(gpus); }),
            "message 'gpus': field 'gpus': the number 1099511627776 is out of range");
}

TEST(Messages, TheAnswersToCommandsGoToAValueAndBackUnchanged) {
  each_type(static_cast<const message::Command*>(nullptr), []<class M>(const M*) {
    SCOPED_TRACE(M::kType);
    typename M::Answer answer;
    Filler{}.fill_all(answer);
    const Value value = to_value(answer);
    EXPECT_EQ(to_value(from_value<typename M::Answer>(decode(encode(value)))), value);
  });
}

TEST(Messages, ALongErrorFitsIntoAMessage) {
  const Error error(Code::kUser, std::string(size_t{2} << 20, 'm'),
                    std::string(size_t{2} << 20, 't'));
  EXPECT_LT(encode(to_value(message::Failed{.error = error})).size(), size_t{130} << 10);
}

template <class Messages, class RouteTable>
void check_routes(const RouteTable& routes) {
  std::set<std::string_view> types;
  each_type(static_cast<const Messages*>(nullptr), [&]<class M>(const M*) {
    EXPECT_TRUE(routes.has(M::kType)) << M::kType;
    EXPECT_TRUE(types.insert(M::kType).second) << "two messages are called " << M::kType;
  });
  EXPECT_FALSE(routes.has("dance"));
}

TEST(Routes, EveryMessageHasOneWhereItIsReceived) {
  check_routes<message::ToController>(train::Attempt::kRoutes);
  check_routes<message::ToWorker>(worker::WorkerProcess::kRoutes);
  check_routes<train::ValidationProcess::Messages>(train::ValidationProcess::kRoutes);
  check_routes<message::Command>(train::OperatorCommands::kRoutes);
  check_routes<message::ToJoined>(worker::JoinClient::kRoutes);
}

TEST(Routes, AMessageGoesToItsHandlerWithWhatCameWithIt) {
  struct Receiver {
    int rank = -1;
    std::string got;
  };
  using Two = std::variant<message::Seal, message::Exit>;
  const Routes<Two, Receiver, int> routes{
      on<message::Exit>([](Receiver& r, int, const message::Exit&) { r.got = "exit"; }),
      on<message::Seal>([](Receiver& r, int rank, const message::Seal& seal) {
        r.rank = rank;
        r.got = seal.folder;
      })};
  Receiver receiver;
  routes.deliver(receiver, 3, to_value(message::Seal{.index = 1, .folder = "here"}));
  EXPECT_EQ(receiver.rank, 3);
  EXPECT_EQ(receiver.got, "here");
  routes.deliver(receiver, 3, to_value(Two(message::Exit{})));
  EXPECT_EQ(receiver.got, "exit");
  EXPECT_FALSE(routes.try_deliver("gpus", receiver, 3, to_value(message::Gpus{})));
  EXPECT_EQ(error_of([&] { routes.deliver(receiver, 3, to_value(message::Gpus{})); }),
            "unknown message 'gpus'");
  EXPECT_THROW(routes.deliver(receiver, 3, Map{{"index", 1}}), Error);
  EXPECT_THROW(routes.deliver(receiver, 3, Map{{"type", "seal"}}), Error);
}

}  // namespace
}  // namespace rtrain::loop
