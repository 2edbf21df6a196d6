#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/engine/pickle_reader.h"
#include "host/engine/pickle_writer.h"
#include "tests/engine/ranks.h"

namespace rtrain {
namespace {

using namespace std::string_literals;

const StorageLoader kNoStorage = [](const StorageRequest&) -> c10::Storage {
  throw Error(Code::kArgument, "no storage is expected here");
};

Tree read(const std::string& body) { return unpickle("\x80\x02"s + body + ".", kNoStorage); }

void expect_refused(const std::string& body, const std::string& text) {
  try {
    read(body);
    ADD_FAILURE() << "accepted, expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kArgument);
    EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
  }
}

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(Pickle, ReadsTheValuesThatPythonWrites) {
  EXPECT_EQ(std::get<int64_t>(read("K\x05")), 5);
  EXPECT_EQ(std::get<int64_t>(read("J\xff\xff\xff\xff")), -1);
  EXPECT_EQ(std::get<int64_t>(read("\x8a\x05\x00\x00\x00\x00\x80"s)), -(int64_t{1} << 39));
  EXPECT_EQ(std::get<double>(read("G?\xe0\x00\x00\x00\x00\x00\x00"s)), 0.5);
  EXPECT_TRUE(std::get<bool>(read("\x88")));
  EXPECT_EQ(std::get<std::string>(read("X\x02\x00\x00\x00hi"s)), "hi");
  EXPECT_EQ(std::get<std::string>(read("ctorch\nfloat16\n")), "float16");
  EXPECT_EQ(std::get<std::shared_ptr<TreeList>>(read("](K\x01K\x02"
                                                     "e"))
                ->items.size(),
            2U);
}

TEST(Pickle, ALaterValueOfAKeyTakesTheEarlierOnesPlace) {
  const auto map = std::get<std::shared_ptr<TreeMap>>(read("}(K\x01K\x05K\x02K\x06K\x01K\x07u"));
  ASSERT_EQ(map->entries.size(), 2U);
  EXPECT_EQ(map->entries[0].first, Key(int64_t{1}));
  EXPECT_EQ(std::get<int64_t>(map->entries[0].second), 7);
}

TEST(Pickle, RefusesNamesOutsideTheList) {
  expect_refused("cos\nsystem\n", "os.system");
  expect_refused("ctorch\nload\n", "torch.load");
  expect_refused("ctorch.\nfloat32\n", "torch..float32");
}

TEST(Pickle, RefusesMalformedInput) {
  EXPECT_THROW(unpickle("", kNoStorage), Error);
  EXPECT_THROW(unpickle("\x80", kNoStorage), Error);
  expect_refused("", "stack is empty");
  expect_refused("0", "stack is empty");
  expect_refused("K\x01K\x02", "left over");
  expect_refused("X\xff\xff\xff\xffhi", "ends too early");
  expect_refused("\x8a\x09", "beyond 64 bits");
  expect_refused("h\x07", "memo entry 7");
  expect_refused("t", "a mark is missing");
  expect_refused("]u", "a mark is missing");
  expect_refused("](K\x01u", "a dict is missing");
  expect_refused("}(K\x01u", "a dict key without its value");
  expect_refused("}(NK\x01u", "neither a string nor an integer");
  expect_refused("(", "a bare storage or mark");
  expect_refused("K\x01)R", "a call of something that is no name");
  expect_refused("ctorch\nfloat32\n)R", "is not a function");
  expect_refused("ctorch._utils\n_rebuild_tensor_v2\n)R", "the arguments of");
  expect_refused("K\x01Q", "arguments are missing");
  expect_refused("\xff", "opcode 255");
}

TEST(Pickle, RefusesCyclesAndDeepNesting) {
  expect_refused(
      "]q\x00h\x00"
      "a"s,
      "holds itself");
  expect_refused("}q\x00K\x01h\x00s"s, "holds itself");
  expect_refused(repeated("]", 100000) + repeated("a", 99999), "nested too deeply");
  expect_refused(")" + repeated("\x85", 100000), "nested too deeply");
}

TEST(Pickle, ASmallFileCannotUnfoldIntoAHugeValue) {
  const std::string text(1 << 16, 'x');
  expect_refused("](X\x00\x00\x01\x00"s + text + "q\x00"s + repeated("h\x00"s, 5000) + "e",
                 "repeats too much text");
}

// The pickle of a tensor over a storage of four floats.
std::string tensor_pickle(const std::string& numel, const std::string& offset,
                          const std::string& sizes, const std::string& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
         "X\x01\x00\x00\x00"
         "0X\x03\x00\x00\x00"s
         "cpu" +
         numel + "tQ" + offset + "(" + sizes + "t(" + strides + "t\x89}tR";
}

c10::Storage four_floats(const StorageRequest&) { return at::arange(4, at::kFloat).storage(); }

TEST(Pickle, ATensorStaysInsideItsStorage) {
  fork_ranks(1, [](int, const c10::intrusive_ptr<c10d::Store>&) {
    const auto load = [](const std::string& body) {
      return unpickle("\x80\x02"s + body + ".", &four_floats);
    };
    const std::string four = "K\x04", zero = "K\x00"s, one = "K\x01";
    const auto tensor = std::get<at::Tensor>(load(tensor_pickle(four, one, "K\x03", one)));
    EXPECT_TRUE(at::equal(tensor, at::arange(1, 4, at::kFloat)));
    const std::string huge = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f",
                      minus = "J\xff\xff\xff\xff";
    for (const std::string& body : {
             tensor_pickle(four, "K\x02", "K\x03", one),    // one past the end
             tensor_pickle(four, zero, "K\x03", "K\x02"),   // by its stride
             tensor_pickle(four, minus, one, one),          // before the beginning
             tensor_pickle(four, zero, minus, one),         // negative size
             tensor_pickle(four, zero, "K\x02", minus),     // negative stride
             tensor_pickle(four, huge, "K\x02", one),       // overflow
             tensor_pickle(four, zero, huge, huge),         //
             tensor_pickle(four, zero, "K\x02K\x02", one),  // ranks differ
             tensor_pickle(minus, zero, one, one),          // storage sizes
             tensor_pickle(huge, zero, one, one),
         }) {
      EXPECT_THROW(load(body), Error);
    }
  });
}

TEST(Pickle, WhatIsWrittenIsReadBack) {
  auto inner = std::make_shared<TreeList>();
  inner->items = {int64_t{1} << 40, -3.5, std::string("\xff\0x", 3), Tree(), true};
  auto map = std::make_shared<TreeMap>();
  map->ordered = true;
  map->entries = {{Key("b"), inner}, {Key("a"), inner}, {Key(int64_t{4}), std::string("ä")}};
  const auto back = std::get<std::shared_ptr<TreeMap>>(unpickle(pickle(map).bytes, kNoStorage));
  EXPECT_TRUE(back->ordered);
  ASSERT_EQ(back->entries.size(), 3U);
  EXPECT_EQ(back->entries[0].first, Key("b"));
  const auto list = std::get<std::shared_ptr<TreeList>>(back->entries[0].second);
  EXPECT_EQ(list, std::get<std::shared_ptr<TreeList>>(back->entries[1].second));
  EXPECT_EQ(std::get<int64_t>(list->items[0]), int64_t{1} << 40);
  EXPECT_EQ(std::get<std::string>(list->items[2]), std::string("\xff\0x", 3));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(list->items[3]));
}

}  // namespace
}  // namespace rtrain
