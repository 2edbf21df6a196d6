#include "host/store/checkpoints/manifest.h"

#include <gtest/gtest.h>

#include "host/base/error.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::store {
namespace {

constexpr const char* kText = R"({
 "format": 1,
 "checkpoint": {
  "run": "fashion",
  "run_id": "0123456789abcdef",
  "attempt": 2,
  "owner_epoch": 1,
  "index": 5,
  "name": "epoch_5",
  "created_at": 1770000000123,
  "metrics": {
   "loss": 0.25,
   "epoch": 5
  },
  "files": [
   {
    "path": "model.pt",
    "size_bytes": 123456,
    "xxh3": "00112233445566ff"
   },
   {
    "path": "empty",
    "size_bytes": 0,
    "xxh3": "2d06800538d394c2"
   },
   {
    "path": "latest",
    "link": "model.pt"
   }
  ],
  "folders": [
   "optimizer"
  ],
  "validation": {
   "fn_kwargs": {
    "batches": 10
   },
   "timeout_s": 600
  }
 },
 "xxh3": "a4db88a08f2dabd2",
 "metadata": {
  "note": "best so far"
 }
}
)";

Manifest example() {
  Manifest manifest;
  manifest.run = "fashion";
  manifest.run_id = "0123456789abcdef";
  manifest.attempt = 2;
  manifest.owner_epoch = 1;
  manifest.index = 5;
  manifest.name = "epoch_5";
  manifest.created_at_ms = 1770000000123;
  manifest.metrics = Map{{"loss", 0.25}, {"epoch", 5}};
  manifest.files = {{"model.pt", 123456, "00112233445566ff"},
                    {"empty", 0, "2d06800538d394c2"},
                    {.path = "latest", .link = "model.pt"}};
  manifest.folders = {"optimizer"};
  manifest.metadata = Map{{"note", "best so far"}};
  return manifest;
}

TEST(Manifest, ReadsBackWhatItWrote) {
  const Manifest read = Manifest::parse(example().to_text(), "m.json");
  EXPECT_EQ(read.to_text(), example().to_text());
  EXPECT_EQ(read.files, example().files);
  EXPECT_EQ(read.metrics, example().metrics);
}

TEST(Manifest, ItsTextIsTheOneThatOlderVersionsWrote) {
  Manifest manifest = example();
  manifest.validation = {.fn_kwargs = Map{{"batches", 10}}, .timeout_s = 600};
  EXPECT_EQ(manifest.to_text(), kText);
  EXPECT_EQ(Manifest::parse(kText, "m.json").to_text(), kText);
}

TEST(Manifest, EveryFlippedBitOfTheHashedPartIsRefused) {
  const std::string text = example().to_text();
  const size_t hashed = text.find("\"metadata\"");
  for (size_t byte = 0; byte < hashed; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      EXPECT_THROW(Manifest::parse(damaged, "m.json"), Error) << "byte " << byte << " bit " << bit;
    }
  }
}

TEST(Manifest, EveryTruncationIsRefused) {
  const std::string text = example().to_text();
  for (size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_THROW(Manifest::parse(text.substr(0, size), "m.json"), Error) << size;
  }
}

TEST(Manifest, NamesThatLeaveTheCheckpointAreRefused) {
  for (const char* name : {"../evil", "/etc/cron.d/evil", "a/../../evil", "..", "", "a//b"}) {
    for (const int place : {0, 1, 2, 3}) {
      Manifest hostile = example();
      if (place == 0) hostile.files[0].path = name;
      if (place == 1) hostile.files[2].path = name;  // a link
      if (place == 2) hostile.folders[0] = name;
      if (place == 3) hostile.name = name;
      EXPECT_THROW(Manifest::parse(hostile.to_text(), "m.json"), Error) << name << " " << place;
    }
  }
}

TEST(Manifest, ALayoutThatWritesThroughLinksIsRefused) {
  check_layout(example(), "m.json");
  const auto with = [](std::vector<CheckpointFile> files, std::vector<std::string> folders = {}) {
    Manifest out = example();
    out.files = std::move(files);
    out.folders = std::move(folders);
    return out;
  };
  const CheckpointFile link{.path = "a", .link = "b"};
  for (const Manifest& hostile : {
           with({{.path = "a", .link = "/etc"}}),
           with({{.path = "deep/a", .link = "../../x"}}),
           with({link, {"a/x", 1, "00"}}),
           with({link, {"a", 1, "00"}}),
           with({link}, {"a"}),
           with({link}, {"a/c"}),
           // The link target is shorter than its text, since a/b/c resolves to the checkpoint
           // itself.
           with({{.path = "a/b/c", .link = "../.."}, {.path = "a/b/c/d", .link = "../../../x"}},
                {"a", "a/b"}),
       }) {
    EXPECT_NO_THROW(Manifest::parse(hostile.to_text(), "m.json"));
    EXPECT_THROW(check_layout(hostile, "m.json"), Error) << hostile.to_text();
  }
}

TEST(Manifest, MetadataChangesWithoutTheHash) {
  TempFolder folder;
  folder.write(kManifestName, example().to_text());
  set_checkpoint_metadata(folder.path(), Map{{"note", "changed"}});
  EXPECT_EQ(get_checkpoint_metadata(folder.path()), Value(Map{{"note", "changed"}}));
  EXPECT_EQ(Manifest::read(folder.path()).name, "epoch_5");
}

TEST(Manifest, AFolderMayHaveMetadataBeforeItIsACheckpoint) {
  TempFolder folder;
  EXPECT_EQ(get_checkpoint_metadata(folder.path()), Value(Map{}));
  set_checkpoint_metadata(folder.path(), Map{{"a", 1}});
  EXPECT_EQ(get_checkpoint_metadata(folder.path())["a"].as_int(), 1);
  EXPECT_THROW(Manifest::read(folder.path()), Error);
}

}  // namespace
}  // namespace rtrain::store
