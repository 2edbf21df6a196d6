#include "host/engine/files/archive.h"

#include <gtest/gtest.h>

#include "host/base/error.h"
#include "host/base/files/memory_source.h"
#include "tests/unit/zip_bytes.h"

namespace rtrain::engine {
namespace {

using namespace std::string_literals;

using Records = std::vector<std::pair<std::string, std::string>>;

// A tensor of two floats in the record data/0.
const std::string kTensor =
    "\x80\x02"
    "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
    "X\x01\x00\x00\x00"
    "0X\x03\x00\x00\x00"
    "cpuK\x02tQK\x00K\x02\x85K\x01\x85\x89}tR."s;

std::string refusal(const std::string& bytes) {
  try {
    load_archive(MemorySource(bytes), {});
    return "accepted";
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(Archive, ReadsAPlainValue) {
  const Records records = {{"x/data.pkl", "\x80\x02K\x07."}, {"x/version", "3\n"}};
  const Tree value = load_archive(MemorySource(zip_of(records).bytes), {});
  EXPECT_EQ(std::get<int64_t>(value), 7);
}

TEST(Archive, HostileRecordsAreRefused) {
  const std::string seven = "\x80\x02K\x07.";
  struct Case {
    Records records;
    std::string message;
  };
  const Case cases[] = {
      {{{"x/data.pkl", kTensor}, {"x/version", "3"}}, "data/0 is missing or has another size"},
      {{{"x/data.pkl", kTensor}, {"x/version", "3"}, {"x/data/0", "1234567"}}, "than 8 bytes"},
      {{{"x/data.pkl", kTensor}, {"x/version", "3"}, {"x/data/0", "123456789"}}, "than 8 bytes"},
      {{{"x/data.pkl", kTensor}, {"x/version", "3"}, {"y/data/0", "12345678"}}, "without data.pkl"},
      {{{"data.pkl", seven}, {"version", "3"}}, "without data.pkl"},
      {{{"x/data.pkl", seven}}, "version is missing or damaged"},
      {{{"x/data.pkl", seven}, {"x/version", ""}}, "version is missing or damaged"},
      {{{"x/data.pkl", seven}, {"x/version", "three"}}, "version is missing or damaged"},
      {{{"x/data.pkl", seven}, {"x/version", "0"}}, "version is missing or damaged"},
      {{{"x/data.pkl", seven}, {"x/version", std::string(100000, '1')}}, "version is missing"},
      {{{"x/data.pkl", seven}, {"x/version", "11"}}, "version 11, newer than 10"},
      {{{"x/data.pkl", seven}, {"x/version", "3"}, {"x/byteorder", "big"}}, "big-endian"},
      {{{"x/data.pkl", seven}, {"x/version", "3"}, {"x/constants.pkl", ""}}, "TorchScript"},
      {{{"x/data.pkl", ""}, {"x/version", "3"}}, "malformed pickle"},
  };
  for (const Case& hostile : cases) {
    const std::string message = refusal(zip_of(hostile.records).bytes);
    EXPECT_NE(message.find(hostile.message), std::string::npos) << message;
  }
}

TEST(Archive, OtherFormatsAreTold) {
  EXPECT_NE(refusal("").find("not an archive of torch.save"), std::string::npos);
  EXPECT_NE(refusal("no archive at all, but some text").find("not an archive"), std::string::npos);
  EXPECT_NE(refusal(u64(2) + "{}").find("torch.load_safetensors"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02").find("before 1.6"),
            std::string::npos);
  EXPECT_NE(refusal(std::string(257, 'x') + "ustar").find("before 1.6"), std::string::npos);
  EXPECT_NE(refusal("PK\x03\x04 and no more").find("damaged zip archive"), std::string::npos);
}

// A storage used by many tensors is loaded once. A key must be the name of a record.
TEST(Archive, AKeyIsNoPath) {
  std::string pickle = kTensor;
  pickle.replace(pickle.find("X\x01\x00\x00\x00"s + "0"), 6, "X\x0c\x00\x00\x00../../passwd"s);
  EXPECT_NE(refusal(zip_of({{"x/data.pkl", pickle}, {"x/version", "3"}}).bytes)
                .find("data/../../passwd is missing"),
            std::string::npos);
}

}  // namespace
}  // namespace rtrain::engine
