#include "host/wire/link_sequence.h"

#include <gtest/gtest.h>

namespace rtrain::wire {
namespace {

TEST(LinkSequence, WhatIsDroppedWhileAConnectionIsMadeIsSkippedThere) {
  LinkSequence client(1000, [] {});
  LinkSequence server(1000, [] {});
  client.queue().add("a");
  const LinkPosition greeting = client.position();
  client.drop_unacknowledged();
  ASSERT_FALSE(server.accept(greeting));
  ASSERT_FALSE(client.accept(server.position()));
  server.begin_connection();
  EXPECT_EQ(client.begin_connection().skip, 1U);
  client.queue().add("b");
  EXPECT_THROW(server.on_data(2), Error);
  server.on_skip(1);
  server.on_data(2);
  EXPECT_EQ(server.received(), 2U);
}

TEST(LinkSequence, WhatWasNotAcknowledgedGoesOutAgain) {
  LinkSequence client(1000, [] {});
  LinkSequence server(1000, [] {});
  client.queue().add("a");
  client.queue().add("b");
  for (int connections = 0; connections < 2; ++connections) {
    ASSERT_FALSE(server.accept(client.position()));
    ASSERT_FALSE(client.accept(server.position()));
    EXPECT_FALSE(client.begin_connection().is_other_process);
    EXPECT_FALSE(server.begin_connection().is_other_process);
    if (connections == 0) server.on_data(1);
  }
  EXPECT_EQ(client.queue().first(), 2U) << "the greeting acknowledges it";
  EXPECT_TRUE(client.queue().has_unsent());
  LinkSequence other(1000, [] {});
  ASSERT_FALSE(client.accept(other.position()));
  EXPECT_TRUE(client.begin_connection().is_other_process);
}

}  // namespace
}  // namespace rtrain::wire
