// host/engine/files/pickle_format.h: the opcodes of Python's pickle protocol 2 and the names of
// torch that rtrain reads and writes.
//
// A dtype without a typed storage (float8, unsigned integers) is stored in an UntypedStorage of
// bytes, and each tensor names its dtype (_rebuild_tensor_v3).
#pragma once

#include <c10/core/Layout.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace rtrain::engine {

enum class Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
};

struct TypeName {
  c10::ScalarType type;
  std::string_view storage;  // class of the typed storage in module torch; empty: UntypedStorage
  std::string_view dtype;    // name of the dtype in module torch
};

inline constexpr std::array kTypeNames = {
    TypeName{c10::ScalarType::Float, "FloatStorage", "float32"},
    TypeName{c10::ScalarType::Double, "DoubleStorage", "float64"},
    TypeName{c10::ScalarType::Half, "HalfStorage", "float16"},
    TypeName{c10::ScalarType::BFloat16, "BFloat16Storage", "bfloat16"},
    TypeName{c10::ScalarType::Long, "LongStorage", "int64"},
    TypeName{c10::ScalarType::Int, "IntStorage", "int32"},
    TypeName{c10::ScalarType::Short, "ShortStorage", "int16"},
    TypeName{c10::ScalarType::Char, "CharStorage", "int8"},
    TypeName{c10::ScalarType::Byte, "ByteStorage", "uint8"},
    TypeName{c10::ScalarType::Bool, "BoolStorage", "bool"},
    TypeName{c10::ScalarType::ComplexFloat, "ComplexFloatStorage", "complex64"},
    TypeName{c10::ScalarType::ComplexDouble, "ComplexDoubleStorage", "complex128"},
    TypeName{c10::ScalarType::ComplexHalf, "", "complex32"},
    TypeName{c10::ScalarType::UInt16, "", "uint16"},
    TypeName{c10::ScalarType::UInt32, "", "uint32"},
    TypeName{c10::ScalarType::UInt64, "", "uint64"},
    TypeName{c10::ScalarType::Float8_e4m3fn, "", "float8_e4m3fn"},
    TypeName{c10::ScalarType::Float8_e5m2, "", "float8_e5m2"},
    TypeName{c10::ScalarType::Float8_e4m3fnuz, "", "float8_e4m3fnuz"},
    TypeName{c10::ScalarType::Float8_e5m2fnuz, "", "float8_e5m2fnuz"},
    TypeName{c10::ScalarType::Float8_e8m0fnu, "", "float8_e8m0fnu"},
};

// Layouts whose tensors consist of three parts and a size.
inline bool is_sparse_compressed(c10::Layout layout) {
  return layout == c10::kSparseCsr || layout == c10::kSparseCsc || layout == c10::kSparseBsr ||
         layout == c10::kSparseBsc;
}

}  // namespace rtrain::engine
