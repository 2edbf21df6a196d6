// ProtobufMessage: what it writes, ProtobufFields reads.
#include "host/base/codec/protobuf_message.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>

#include "host/base/codec/protobuf.h"

namespace rtrain {
namespace {

using Type = ProtobufFields::Type;

TEST(ProtobufMessage, FieldsOfEveryTypeComeBack) {
  const ProtobufMessage inner = ProtobufMessage().add_number(1, 300);
  ProtobufMessage message;
  message.add_number(1, UINT64_MAX).add_float(2, 0.5F).add_double(3, -0.0);
  message.add_bytes(4, std::string("a\0b", 3)).add(16, inner).add_doubles(200, {1, 2});
  ProtobufFields fields(message.bytes(), "wrong");
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.number(), 1U);
  EXPECT_EQ(fields.integer(), -1);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.type(), Type::kFixed32);
  EXPECT_EQ(std::bit_cast<float>(little_endian<uint32_t>(fields.data())), 0.5F);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.type(), Type::kFixed64);
  EXPECT_EQ(little_endian<uint64_t>(fields.data()), 0x8000000000000000U);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.data(), std::string_view("a\0b", 3));
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.number(), 16U);
  EXPECT_EQ(fields.data(), inner.bytes());
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.number(), 200U);
  EXPECT_EQ(fields.data().size(), 16U);
  EXPECT_FALSE(fields.next());
}

}  // namespace
}  // namespace rtrain
