#include "host/engine/files/safetensors.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "host/base/error.h"
#include "host/base/files/input_file.h"
#include "host/base/files/memory_source.h"
#include "host/base/files/new_file.h"
#include "host/engine/files/joined_safetensors.h"
#include "host/engine/files/safetensors_header.h"
#include "tests/unit/zip_bytes.h"

namespace rtrain::engine {
namespace {

std::string refusal(const std::string& json, uint64_t data_size) {
  try {
    parse_safetensors_header(json, data_size);
    return "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kArgument);
    return error.message();
  }
}

// A header with one tensor x.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"x":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

std::string u8(const std::string& name, int begin, int end) {
  return "\"" + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(end - begin) +
         R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

TEST(SafetensorsHeader, KeepsTheOrderOfTheText) {
  const SafetensorsHeader header = parse_safetensors_header(
      R"({"z":{"data_offsets":[4,16],"shape":[3],"dtype":"F32"},"__metadata__":{"b":"1","a":"2"},)" +
          u8("a", 0, 4) + "}  ",
      16);
  ASSERT_EQ(header.tensors.size(), 2U);
  EXPECT_EQ(header.tensors[0].name, "z");
  EXPECT_EQ(header.tensors[0].dtype, c10::kFloat);
  EXPECT_EQ(header.tensors[0].shape, std::vector<int64_t>{3});
  EXPECT_EQ(header.tensors[1].begin, 0U);
  ASSERT_EQ(header.metadata.size(), 2U);
  EXPECT_EQ(header.metadata[0], (std::pair<std::string, std::string>("b", "1")));
  EXPECT_EQ(refusal("{}", 0), "accepted");
  EXPECT_EQ(refusal(one("F32", "[]", "[0,4]"), 4), "accepted");
  EXPECT_EQ(refusal(one("I64", "[1000,0]", "[0,0]"), 0), "accepted");
}

TEST(SafetensorsHeader, HostileHeadersAreRefused) {
  struct Case {
    std::string json;
    uint64_t data_size;
    std::string message;
  };
  const Case cases[] = {
      {"", 0, "does not begin with {"},
      {" {}", 0, "does not begin with {"},
      {"[]", 0, "does not begin with {"},
      {"{", 0, "parse error"},
      {"{}}", 0, "parse error"},
      {std::string("{}\0 and more", 12), 0, "a zero byte"},
      {"{\"\xff\":{}}", 0, "parse error"},
      {"{\"\\ud800\":{}}", 0, "parse error"},
      {R"({"x":1})", 0, "a number where it does not belong"},
      {R"({"x":null})", 0, "null where it does not belong"},
      {R"({"x":[]})", 0, "a list where it does not belong"},
      {R"({"x":{}})", 0, "needs dtype, shape and two data_offsets"},
      {R"({"x":{"dtype":"U8","shape":[],"data_offsets":[0]}})", 1, "two data_offsets"},
      {R"({"x":{"dtype":"U8","shape":[],"data_offsets":[0,1,1]}})", 1, "more than two"},
      {R"({"x":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1, "dtype is there"},
      {R"({"x":{"dtype":"U8","shape":[],"data_offsets":[0,1],"y":0}})", 1, "unknown field y"},
      {R"({"x":{"dtype":8}})", 0, "a number where"},
      {R"({"x":{"dtype":{"a":{"b":[[[]]]}}}})", 0, "an object where"},
      {R"({"x":{"shape":[[1]]}})", 0, "a list where"},
      {R"({"x":{"shape":["1"]}})", 0, "a string where"},
      {"{\"x\":{\"shape\":" + std::string(1000000, '['), 0, "a list where"},
      {R"({"__metadata__":[]})", 0, "__metadata__ holds a list"},
      {R"({"__metadata__":{"a":1}})", 0, "__metadata__ holds a number"},
      {R"({"__metadata__":{"a":{}}})", 0, "__metadata__ holds an object"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", 0, "two metadata of the name a"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "two tensors of the name __metadata__"},
      {"{" + u8("x", 0, 1) + "," + u8("x", 1, 2) + "}", 2, "two tensors of the name x"},
      {one("F4", "[]", "[0,1]"), 1, "dtype F4 is not supported"},
      {one("f32", "[]", "[0,4]"), 4, "dtype f32 is not supported"},
      {one("U8", "[-1]", "[0,1]"), 1, "a negative number"},
      {one("U8", "[1.0]", "[0,1]"), 1, "a fraction"},
      {one("U8", "[1]", "[-1,0]"), 1, "a negative number"},
      {one("U8", "[1]", "[0.0,1]"), 1, "a fraction"},
      {one("U8", "[1]", "[0,1e0]"), 1, "a fraction"},
      {one("U8", "[1]", "[0,18446744073709551616]"), 1, "a fraction"},
      {one("U8", "[1]", "[1,0]"), 1, "data_offsets [1, 0]"},
      {one("U8", "[1]", "[1,2]"), 1, "lie outside the 1 bytes"},
      {one("U8", "[1]", "[18446744073709551615,18446744073709551615]"), 1, "lie outside"},
      {one("U8", "[2]", "[0,1]"), 1, "ask for 2 bytes"},
      {one("F32", "[1]", "[0,1]"), 1, "ask for 4 bytes"},
      {one("U8", "[18446744073709551615]", "[0,1]"), 1, "its shape"},
      {one("U8", "[4294967296,4294967296]", "[0,0]"), 0, "too large"},
      {one("F64", "[2305843009213693952]", "[0,0]"), 0, "too large"},
      {one("F64", "[0,4294967296,4294967296]", "[0,0]"), 0, "too large"},
      {"{" + u8("x", 0, 2) + "," + u8("y", 1, 3) + "}", 3, "tensor y overlaps"},
      {"{" + u8("x", 0, 2) + "," + u8("y", 0, 2) + "}", 2, "overlaps"},
      {"{" + u8("x", 0, 1) + "," + u8("y", 2, 3) + "}", 3, "unused bytes before tensor y"},
      {"{" + u8("x", 1, 2) + "}", 2, "unused bytes before tensor x"},
      {"{" + u8("x", 0, 1) + "}", 2, "unused bytes behind"},
      {"{}", 1, "unused bytes behind"},
      {one("F64", "[9223372036854775807,0]", "[0,0]"), 0, "too large"},
  };
  for (const Case& hostile : cases) {
    const std::string message = refusal(hostile.json, hostile.data_size);
    EXPECT_NE(message.find(hostile.message), std::string::npos)
        << hostile.json.substr(0, 200) << ": " << message;
  }
  std::string shape = "[1";
  for (int i = 0; i < 64; ++i) shape += ",1";
  EXPECT_NE(refusal(one("U8", shape + "]", "[0,1]"), 1).find("its shape"), std::string::npos);
}

std::string file_refusal(const std::string& bytes) {
  try {
    load_safetensors(MemorySource(bytes), c10::Device(c10::kCPU));
    return "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kArgument);
    return error.message();
  }
}

TEST(Safetensors, AClaimedHeaderLengthIsCheckedFirst) {
  EXPECT_NE(file_refusal("").find("too short"), std::string::npos);
  EXPECT_NE(file_refusal("1234567").find("too short"), std::string::npos);
  EXPECT_NE(file_refusal(u64(3) + "{}").find("3 bytes"), std::string::npos);
  EXPECT_NE(file_refusal(u64(~size_t{0}) + "{}").find("18446744073709551615"), std::string::npos);
  EXPECT_NE(file_refusal(u64(0)).find("does not begin with {"), std::string::npos);
  EXPECT_NE(file_refusal("PK\x03\x04 and more").find("torch.load"), std::string::npos);
  const std::string large(kMaxSafetensorsHeader + 1, ' ');
  EXPECT_NE(file_refusal(u64(large.size()) + large).find("100000001"), std::string::npos);
}

TEST(SafetensorsHeader, TheTextBeginsTheDataAtAMultipleOf64) {
  SafetensorsHeader header;
  EXPECT_EQ(safetensors_header_text(header).size(), 56U);
  header.metadata = {{"k\"ey", "v\n"}};
  header.tensors = {{"ä", c10::kBFloat16, {2, 3}, 0, 12}};
  const std::string text = safetensors_header_text(header);
  EXPECT_EQ((8 + text.size()) % 64, 0U);
  const SafetensorsHeader back = parse_safetensors_header(text, 12);
  EXPECT_EQ(back.metadata, header.metadata);
  EXPECT_EQ(back.tensors[0].name, "ä");
  EXPECT_EQ(back.tensors[0].shape, header.tensors[0].shape);
  header.tensors[0].name = "\xff";
  EXPECT_THROW(safetensors_header_text(header), Error);
  header.tensors[0] = {"x", c10::kComplexDouble, {}, 0, 16};
  EXPECT_THROW(safetensors_header_text(header), Error);
  header.tensors[0] = {"__metadata__", c10::kByte, {}, 0, 1};
  EXPECT_THROW(safetensors_header_text(header), Error);
}

// What the joined file of a tensor y of three bytes says when it is made of these parts.
std::string joined(const std::vector<FilePart>& parts) {
  const std::string path = testing::TempDir() + "joined.safetensors";
  try {
    join_safetensors({JoinedTensor{"x", c10::kFloat, {2}, at::ones({2}), {}},
                      JoinedTensor{"y", c10::kByte, {3}, {}, parts}},
                     {{"format", "pt"}}, path);
  } catch (const Error& error) {
    return error.message();
  }
  const InputFile file(path, InputFile::Access::kCopy);
  const SafetensorsHeader header = read_safetensors_header(file);
  EXPECT_EQ(header.metadata.at(0).second, "pt");
  EXPECT_EQ(header.tensors.at(0).end, header.tensors.at(1).begin);
  EXPECT_EQ(header.tensors.at(1).end, file.size());
  return file.text(header.tensors.at(1).begin, 3);
}

TEST(JoinedSafetensors, PartsOfFilesAreOneTensor) {
  const std::string path = testing::TempDir() + "parts";
  NewFile file(path);
  file.write("abcdef", 6);
  file.commit();
  EXPECT_EQ(joined({{path, 4, 2}, {path, 0, 1}}), "efa");
  EXPECT_NE(joined({{path, 0, 2}}).find("tensor y: its parts have 2 bytes, not 3"),
            std::string::npos);
  EXPECT_NE(joined({{path, 4, 3}}).find("is cut off: it has 6 bytes"), std::string::npos);
  EXPECT_NE(joined({{path + "-no", 0, 3}}).find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace rtrain::engine
