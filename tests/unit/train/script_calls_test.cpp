#include "host/train/run/script_calls.h"

#include <gtest/gtest.h>

#include <thread>

namespace rtrain::train {
namespace {

constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::milliseconds kSoon{1};

ScriptQuestion question(std::chrono::milliseconds timeout = kPatience) {
  return {"storage.put", Map{{"key", "a"}}, timeout, "call_timeout_s"};
}

Code code_of_ask(ScriptCalls& calls, const ScriptQuestion& asked) {
  try {
    calls.ask(asked);
  } catch (const Error& e) {
    return e.code();
  }
  return Code::kInternal;
}

TEST(ScriptCalls, AWaitingThreadGetsItsAnswer) {
  EventQueue events;
  ScriptCalls calls(events);
  std::thread script([&] {
    const auto event = events.next(30);
    EXPECT_EQ((*event)["type"].as_string(), "call");
    EXPECT_EQ((*event)["name"].as_string(), "storage.put");
    EXPECT_EQ((*event)["argument"]["key"].as_string(), "a");
    calls.answer((*event)["id"].as_int(), "done");
  });
  EXPECT_EQ(calls.ask(question()).as_string(), "done");
  script.join();
}

TEST(ScriptCalls, WhatTheScriptRaisedIsRaisedWhereItWasAsked) {
  EventQueue events;
  ScriptCalls calls(events);
  std::thread script([&] {
    calls.answer_error((*events.next(30))["id"].as_int(), Error(Code::kUser, "no bucket"));
  });
  EXPECT_EQ(code_of_ask(calls, question()), Code::kUser);
  script.join();
}

TEST(ScriptCalls, ATimeOutNamesTheCallAndTheSetting) {
  EventQueue events;
  ScriptCalls calls(events);
  try {
    calls.ask(question(kSoon));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kTimeout);
    EXPECT_NE(e.message().find("storage.put"), std::string::npos) << e.message();
    EXPECT_NE(e.message().find("call_timeout_s"), std::string::npos) << e.message();
  }
  calls.answer((*events.next(0))["id"].as_int(), "too late");
}

TEST(ScriptCalls, ClosingEndsWaitsAndRefusesNewOnes) {
  EventQueue events;
  ScriptCalls calls(events);
  std::thread closer([&] {
    events.next(30);
    calls.close();
  });
  EXPECT_EQ(code_of_ask(calls, question()), Code::kInterrupted);
  EXPECT_EQ(code_of_ask(calls, question()), Code::kInterrupted);
  closer.join();
}

TEST(ScriptCalls, TheLoopGoesOnWhileItsQuestionWaits) {
  loop::Loop loop;
  EventQueue events;
  ScriptCalls calls(events);
  std::vector<std::string> seen;
  calls.ask(loop, question(), [&](const std::optional<Value>& value, const auto&) {
    seen.push_back(value->as_string());
    loop.stop();
  });
  loop.post([&] {
    seen.emplace_back("meanwhile");
    calls.answer((*events.next(0))["id"].as_int(), "answer");
  });
  loop.run();
  EXPECT_EQ(seen, (std::vector<std::string>{"meanwhile", "answer"}));
}

TEST(ScriptCalls, OnTheLoopADeadlineIsAnError) {
  loop::Loop loop;
  EventQueue events;
  ScriptCalls calls(events);
  std::optional<Error> got;
  calls.ask(loop, question(kSoon), [&](const auto&, const std::optional<Error>& error) {
    got = error;
    loop.stop();
  });
  loop.run();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->code(), Code::kTimeout);
}

TEST(ScriptCalls, ALoopMayEndBeforeItsQuestionIsAnswered) {
  loop::Loop loop;
  EventQueue events;
  ScriptCalls calls(events);
  calls.ask(loop, question(), [](const auto&, const auto&) { FAIL(); });
  loop.post([&] { loop.stop(); });
  loop.run();
  calls.close();
}

}  // namespace
}  // namespace rtrain::train
