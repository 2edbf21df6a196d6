#include "host/dash/server/request_turns.h"

#include <gtest/gtest.h>

#include <string>

namespace rtrain::dash {
namespace {

class RequestTurnsTest : public ::testing::Test {
 protected:
  void add(const std::string& viewer, int64_t connection) {
    turns.add({.viewer = viewer, .connection = connection, .request = http::HttpRequest()});
  }
  // Returns the next viewer and connection, such as "a1", or "".
  std::string next() {
    const auto found = turns.next();
    return found ? found->viewer + std::to_string(found->connection) : "";
  }

  RequestTurns turns{2};
};

TEST_F(RequestTurnsTest, ViewersTakeTurnsAndEachHasItsOrder) {
  for (int i = 1; i <= 5; ++i) add("a", i);
  EXPECT_EQ(next(), "a1");
  add("b", 1);
  add("c", 1);
  EXPECT_EQ(next(), "b1");
  EXPECT_EQ(next(), "c1");
  EXPECT_EQ(next(), "a2");
  EXPECT_EQ(next(), "") << "two of one viewer are under way";
  turns.end("a");
  EXPECT_EQ(next(), "a3");
  turns.end("b");
  EXPECT_EQ(next(), "");
  add("b", 2);
  EXPECT_EQ(next(), "b2") << "whoever has asked a lot holds up nobody else";
}

TEST_F(RequestTurnsTest, WhoHasLeftNothingIsForgotten) {
  for (int round = 0; round < 3; ++round) {
    add("a", round);
    EXPECT_EQ(next(), "a" + std::to_string(round));
    turns.end("a");
    EXPECT_EQ(next(), "");
  }
}

}  // namespace
}  // namespace rtrain::dash
