// ProtobufFields and the checksum of TFRecord files.
#include "host/base/codec/protobuf.h"

#include <gtest/gtest.h>

#include <string>

#include "host/base/codec/masked_crc.h"
#include "host/base/error.h"

namespace rtrain {
namespace {

using namespace std::string_literals;
using Type = ProtobufFields::Type;

TEST(Protobuf, FieldsOfEveryTypeInTheirOrder) {
  const std::string bytes = "\x08\xac\x02\x12\x03"s + "abc"s + "\x1d\x01\x02\x03\x04"s +
                            "\x21\x01\x00\x00\x00\x00\x00\x00\x80"s + "\x28"s +
                            "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s;
  ProtobufFields fields(bytes, "wrong");
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.number(), 1U);
  EXPECT_EQ(fields.type(), Type::kVarint);
  EXPECT_EQ(fields.integer(), 300);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.type(), Type::kBytes);
  EXPECT_EQ(fields.data(), "abc");
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.type(), Type::kFixed32);
  EXPECT_EQ(little_endian<uint32_t>(fields.data()), 0x04030201U);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.type(), Type::kFixed64);
  EXPECT_EQ(little_endian<uint64_t>(fields.data()), 0x8000000000000001U);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.number(), 5U);
  EXPECT_EQ(fields.integer(), -1);
  EXPECT_FALSE(fields.next());
}

TEST(Protobuf, AnythingElseIsRefused) {
  const std::string cases[] = {
      "\x80"s,                            // a key without its end
      "\x08"s,                            // no value
      "\x12\x05"s + "abc"s,               // fewer bytes than it says
      "\x1d\x01"s,                        // half a number
      "\x0b"s,                            // a group
      "\x0f"s,                            // an unknown type
      "\x08"s + std::string(11, '\xff'),  // a number of more than 64 bits
      "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,
  };
  for (const std::string& bytes : cases) {
    ProtobufFields fields(bytes, "it is wrong");
    try {
      while (fields.next()) continue;
      ADD_FAILURE() << bytes.size() << " bytes were accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kArgument);
      EXPECT_EQ(error.message(), "it is wrong");
    }
  }
}

// The value of CRC-32C for these digits is in its definition: 0xe3069283.
TEST(MaskedCrc, KnownValues) {
  const auto masked = [](uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8U; };
  EXPECT_EQ(masked_crc("123456789"), masked(0xe3069283U));
  EXPECT_EQ(masked_crc(""), masked(0));
  EXPECT_EQ(masked_crc(std::string(32, '\0')), masked(0x8a9136aaU));
  EXPECT_EQ(masked_crc(std::string(32, '\xff')), masked(0x62a8ab43U));
}

}  // namespace
}  // namespace rtrain
