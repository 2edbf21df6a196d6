#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/files/pickle_reader.h"
#include "host/engine/files/pickle_writer.h"
#include "tests/engine/ranks.h"

namespace rtrain::engine {
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

const Tree& first_item(const Tree& list) {
  return std::get<std::shared_ptr<TreeList>>(list)->items.at(0);
}

TEST(Pickle, ReadsWhatTakesTheNameOfAPythonClass) {
  EXPECT_EQ(std::get<int64_t>(first_item(read("c__builtin__\nset\n](K\x05K\x06"
                                              "e\x85R"))),
            5);
  EXPECT_EQ(std::get<std::string>(read("c__builtin__\nbytes\n)R")), "");
  EXPECT_EQ(std::get<std::string>(read("c__builtin__\nbytearray\n)R")), "");
  EXPECT_EQ(std::get<std::string>(read("c__builtin__\nbytearray\nc_codecs\nencode\n"
                                       "X\x02\x00\x00\x00\xc3\xbfX\x06\x00\x00\x00latin1"
                                       "\x86R\x85R"s)),
            "\xff");
  EXPECT_EQ(
      std::get<c10::complex<double>>(read("c__builtin__\ncomplex\nG?\xf0\x00\x00\x00\x00\x00\x00"
                                          "G?\xe0\x00\x00\x00\x00\x00\x00\x86R"s)),
      c10::complex<double>(1, 0.5));
  EXPECT_EQ(std::get<std::string>(
                read("ctorch.serialization\n_get_layout\nX\x0d\x00\x00\x00torch.strided\x85R"s)),
            "strided");
  const auto counter =
      std::get<std::shared_ptr<TreeMap>>(read("ccollections\nCounter\n}X\x01\x00\x00\x00"
                                              "aK\x02s\x85R"s));
  EXPECT_EQ(counter->entries.at(0).first, Key("a"));
  const auto map = std::get<std::shared_ptr<TreeMap>>(
      read("ccollections\ndefaultdict\nc__builtin__\nlist\n\x85RK\x01K\x02s"));
  EXPECT_EQ(map->entries.at(0).first, Key(int64_t{1}));
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
  expect_refused("ctorch\n\n", "torch.");
  expect_refused("ctorch._utils\n_rebuild_qtensor\n", "_rebuild_qtensor");
  expect_refused("c__builtin__\neval\n", "__builtin__.eval");
  expect_refused("cnumpy._core.multiarray\nscalar\n", "x.item()");
  expect_refused(cat("c", repeated("x", 300), "\nx\n"), "a Python name of more than 200 bytes");
  // Names that only occur as arguments of calls are neither values nor functions.
  expect_refused("c__builtin__\nlist\n", "where a value should be");
  expect_refused("c__builtin__\nlist\n)R", "is not a function");
  expect_refused("ctorch\nTensor\n)R", "is not a function");
}

TEST(Pickle, RefusesMalformedInput) {
  EXPECT_THROW(unpickle("", kNoStorage), Error);
  EXPECT_THROW(unpickle("\x80", kNoStorage), Error);
  expect_refused("", "stack is empty");
  expect_refused("0", "stack is empty");
  expect_refused("K\x01K\x02", "left over");
  expect_refused("X\xff\xff\xff\xffhi", "ends too early");
  expect_refused("\x8a\x09", "ends too early");
  expect_refused("\x8a\x0a..........", "beyond 64 bits");
  expect_refused("\x8a\x09........\x01", "beyond 64 bits");
  expect_refused("h\x07", "memo entry 7");
  expect_refused("K\x01q\x01", "memo entry 1 comes too early");
  expect_refused("K\x01r\xff\xff\xff\xff", "comes too early");
  expect_refused("t", "a mark is missing");
  expect_refused("]u", "a mark is missing");
  expect_refused("](K\x01u", "a dict is missing");
  expect_refused("}(K\x01u", "a dict key without its value");
  expect_refused("}(NK\x01u", "neither a string nor an integer");
  expect_refused("}(\x8a\x07\x01\x00\x00\x00\x00\x00\x20K\x01u"s, "a dict key beyond 2^53");
  expect_refused("(", "a bare storage or mark");
  expect_refused("K\x01)R", "a call of something that is not a name");
  expect_refused("ctorch\nfloat32\n)R", "is not a function");
  expect_refused("ctorch._utils\n_rebuild_tensor_v2\n)R", "the arguments of");
  expect_refused("K\x01Q", "arguments are missing");
  expect_refused("\xff", "opcode 255");
  expect_refused("K\x05K\x06K\x01R", "that is not a name (before byte 9 of its pickle)");
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

// Tuples that each contain the previous one twice: 2^60 items if each use were converted to a list.
TEST(Pickle, ATupleUsedTwiceIsOneList) {
  std::string body = ")q\x00"s + "0";
  for (int i = 0; i < 50; ++i) body += "h\x00h\x00\x86q\x00"s + "0";
  body += "h\x00"s;
  const auto outer = std::get<std::shared_ptr<TreeList>>(read(body));
  EXPECT_EQ(std::get<std::shared_ptr<TreeList>>(outer->items.at(0)),
            std::get<std::shared_ptr<TreeList>>(outer->items.at(1)));
}

TEST(Pickle, TheMemoCannotMultiplyText) {
  const std::string text(1 << 16, 'x');
  std::string body = "X\x00\x00\x01\x00"s + text;
  for (int i = 0; i < 3000; ++i) body += cat("r", std::string_view(reinterpret_cast<char*>(&i), 4));
  expect_refused(body, "repeats too much text");
}

// A tuple in the memo is not text, but each call with it copies the text inside.
TEST(Pickle, CallsCannotMultiplyText) {
  const std::string text(1 << 16, 'x');
  for (const std::string& name : {"c__builtin__\nbytearray\n"s, "ctorch\ndevice\n"s}) {
    std::string body = name + "q\x00X\x00\x00\x01\x00"s + text + "\x85q\x01("s;
    for (int i = 0; i < 3000; ++i) body += "h\x00h\x01R"s;
    expect_refused(body + "t", "repeats too much text");
  }
}

// A large tuple is read once for each call, not copied.
TEST(Pickle, CallsWithALargeTupleCostLittle) {
  std::string body = "ctorch\nSize\nq\x00("s + repeated("K\x01", 200000) + "t\x85q\x01"s;
  for (int i = 0; i < 20000; ++i) body += "h\x00h\x01R0"s;
  EXPECT_EQ(std::get<int64_t>(read(body + "00K\x07")), 7);
}

// Containers outside of the result are emptied one by one: destroying a chain of 100,000 lists
// recursively would overflow the stack.
TEST(Pickle, ADeepChainThatIsDroppedDoesNoHarm) {
  std::string body = "]q\x00"s;
  for (int i = 0; i < 100000; ++i) body += "]h\x00"s + "aq\x00"s;
  for (int i = 0; i < 100001; ++i) body += "0";
  EXPECT_EQ(std::get<int64_t>(read(body + "K\x07")), 7);
  EXPECT_EQ(std::get<int64_t>(read("]q\x00h\x00"s + "a0K\x07")), 7);  // a cycle
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
             tensor_pickle(four, zero, huge, zero),                // 2^63 of one element
             tensor_pickle(four, zero, huge + huge, zero + zero),  // product overflows
             tensor_pickle(four, zero, repeated(one, 65), repeated(one, 65)),       // dimensions
             tensor_pickle(four, zero, "\x88", one),                                // a boolean
             tensor_pickle(four, zero, "G\x00\x00\x00\x00\x00\x00\x00\x00"s, one),  // a float
         }) {
      EXPECT_THROW(load(body), Error);
    }
  });
}

// A tensor on the storage in the v3 format: bytes with the dtype given separately.
std::string v3_pickle(const std::string& dtype, const std::string& size) {
  return "ctorch._utils\n_rebuild_tensor_v3\n((X\x07\x00\x00\x00storagectorch.storage\n"
         "UntypedStorage\nX\x01\x00\x00\x00"
         "0X\x03\x00\x00\x00"s
         "cpuK\x10tQK\x00(K"s +
         size + "t(K\x01t\x89}" + dtype + "tR";
}

TEST(Pickle, RefusesTensorsThatDoNotFit) {
  fork_ranks(1, [](int, const c10::intrusive_ptr<c10d::Store>&) {
    const auto load = [](const std::string& body) {
      return unpickle("\x80\x02"s + body + ".", &four_floats);
    };
    const auto refused = [&](const std::string& body, const std::string& text) {
      try {
        load(body);
        ADD_FAILURE() << "accepted, expected: " << text;
      } catch (const Error& error) {
        EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
      }
    };
    EXPECT_EQ(std::get<at::Tensor>(load(v3_pickle("ctorch\nuint16\n", "\x08"))).scalar_type(),
              at::kUInt16);
    refused(v3_pickle("ctorch\nuint16\n", "\x09"), "outside its storage");
    refused(v3_pickle("ctorch\nfloat64\n", "\x03"), "outside its storage");
    refused(v3_pickle("X\x01\x00\x00\x00x"s, "\x01"), "a tensor's dtype");
    std::string tensor = tensor_pickle("K\x04", "K\x00"s, "K\x04", "K\x01");
    const std::string with_grad = tensor.replace(tensor.rfind('\x89'), 1, "\x88");
    EXPECT_TRUE(std::get<at::Tensor>(load(with_grad)).requires_grad());
    std::string whole = with_grad;
    whole.replace(whole.find("Float"), 5, "Int");
    refused(whole, "a gradient for a tensor of integers");
    const auto with_metadata = [&](const std::string& metadata) {
      return with_grad.substr(0, with_grad.size() - 2) + metadata + "tR";
    };
    EXPECT_TRUE(std::get<at::Tensor>(load(with_metadata("}X\x03\x00\x00\x00neg\x88s"s))).is_neg());
    refused(with_metadata("}X\x04\x00\x00\x00"
                          "conj\x88s"s),
            "a tensor's metadata");
    refused(with_metadata("}K\x01\x88s"), "a tensor's metadata");
    refused(with_metadata("K\x01"), "a dict of tensor metadata");
  });
}

// The pickle of a sparse COO tensor of size (3,) with two values. Its indices are the storage of
// four floats, read as integers.
std::string coo_pickle(const std::string& strides, const std::string& size) {
  const std::string indices =
      "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n"
      "LongStorage\nX\x01\x00\x00\x00"
      "1X\x03\x00\x00\x00"s
      "cpuK\x02tQK\x00K\x01K\x02\x86"s +
      strides + "\x89}tR";
  return "ctorch._utils\n_rebuild_sparse_tensor\nX\x0a\x00\x00\x00sparse_coo("s + indices +
         tensor_pickle("K\x02", "K\x00"s, "K\x02", "K\x01") + "ctorch\nSize\n" + size +
         "\x85\x85R\x89t\x86R";
}

TEST(Pickle, ASparseTensorsIndicesStayInsideItsSize) {
  fork_ranks(1, [](int, const c10::intrusive_ptr<c10d::Store>&) {
    const StorageLoader storages = [](const StorageRequest& request) {
      return request.type == at::kLong ? at::arange(1, 3, at::kLong).storage()
                                       : at::arange(2, at::kFloat).storage();
    };
    const auto load = [&](const std::string& body) {
      return unpickle("\x80\x02"s + body + ".", storages);
    };
    const std::string strides = "K\x02K\x01\x86";
    const at::Tensor tensor = std::get<at::Tensor>(load(coo_pickle(strides, "K\x03")));
    EXPECT_TRUE(at::equal(tensor.to_dense(), at::tensor({0.0F, 0.0F, 1.0F})));
    for (const std::string& body : {
             coo_pickle(strides, "K\x02"),              // an index outside
             coo_pickle(strides, "J\xff\xff\xff\xff"),  // a negative size
             coo_pickle("K\x00K\x00\x86"s, "K\x03"),    // one index, repeated by stride
             coo_pickle(strides, cat("\x8a\x08", repeated("\x7f", 8))),  // a huge size
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
}  // namespace rtrain::engine
