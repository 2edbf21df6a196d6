// A tokenizer.json that others wrote: what can be read encodes, decodes, and is written and read
// again.
#include "host/base/codec/json.h"
#include "host/text/tokenizer.h"
#include "tests/soak/fuzz/run_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rtrain;
  return run_reader([&] {
    const auto tokenizer = text::Tokenizer::from_json({reinterpret_cast<const char*>(data), size});
    for (const char* sample : {"", " ab a\n", "<s> caf\xc3\xa9 \xe4\xb8\x96 12 a'b"}) {
      text::Encoded encoded = tokenizer.encode({sample, "a b"}, {.overflowing = true});
      encoded.full();
      tokenizer.decode(encoded.ids(), true);
    }
    text::Tokenizer::from_json(tokenizer.to_json(false));
  });
}
