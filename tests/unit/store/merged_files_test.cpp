#include "host/store/checkpoints/merged_files.h"

#include <gtest/gtest.h>

namespace rtrain::store {
namespace {

CheckpointFile file(const std::string& path, const std::string& xxh3 = "00") {
  CheckpointFile out;
  out.path = path;
  out.xxh3 = xxh3;
  return out;
}

std::map<std::string, int64_t> owners(const MergedFiles& merged) {
  std::map<std::string, int64_t> out;
  for (const auto& [path, entry] : merged.files()) out[path] = entry.rank;
  return out;
}

TEST(MergedFilesTest, EachFileIsOfTheLowestRankThatHasIt) {
  const std::vector<StagedRank> ranks{
      {.rank = 3, .files = {file("model.pt"), file("shards/3")}, .folders = {"shards"}},
      {.rank = 1, .files = {file("model.pt"), file("shards/1")}, .folders = {"shards"}}};
  const MergedFiles merged(ranks);
  EXPECT_EQ(owners(merged),
            (std::map<std::string, int64_t>{{"model.pt", 1}, {"shards/1", 1}, {"shards/3", 3}}));
  EXPECT_EQ(merged.folders(), std::set<std::string>{"shards"});
  EXPECT_EQ(merged.lowest_rank(), 1);
  EXPECT_TRUE(merged.warnings().empty()) << merged.warnings()[0];
}

TEST(MergedFilesTest, AFileThatDiffersIsNamed) {
  const std::vector<StagedRank> ranks{{.rank = 0, .files = {file("model.pt", "aa")}},
                                      {.rank = 2, .files = {file("model.pt", "bb")}}};
  const MergedFiles merged(ranks);
  EXPECT_EQ(merged.files().at("model.pt").file.xxh3, "aa");
  ASSERT_EQ(merged.warnings().size(), 1u);
  EXPECT_NE(merged.warnings()[0].find("rank 2's model.pt differs"), std::string::npos);
}

TEST(MergedFilesTest, AFileAndAFolderOfOneNameKeepWhatCameFirst) {
  const StagedRank has_file{.rank = 0, .files = {file("state")}};
  const StagedRank has_folder{
      .rank = 1, .files = {file("state/x/y")}, .folders = {"state", "state/x"}};
  const std::vector<StagedRank> file_first{has_file, has_folder};
  const MergedFiles kept_file(file_first);
  EXPECT_EQ(owners(kept_file), (std::map<std::string, int64_t>{{"state", 0}}));
  EXPECT_TRUE(kept_file.folders().empty());
  EXPECT_EQ(kept_file.warnings().size(), 1u);

  std::vector<StagedRank> folder_first{has_file, has_folder};
  folder_first[0].rank = 2;
  const MergedFiles kept_folder(folder_first);
  EXPECT_EQ(owners(kept_folder), (std::map<std::string, int64_t>{{"state/x/y", 1}}));
  EXPECT_EQ(kept_folder.folders(), (std::set<std::string>{"state", "state/x"}));
  EXPECT_EQ(kept_folder.warnings().size(), 1u);
}

TEST(MergedFilesTest, APathThatLeadsOutOfTheCheckpointIsRefused) {
  const std::vector<StagedRank> bad_file{{.rank = 0, .files = {file("../x")}}};
  const std::vector<StagedRank> bad_folder{{.rank = 0, .folders = {"/x"}}};
  EXPECT_THROW(MergedFiles{bad_file}, Error);
  EXPECT_THROW(MergedFiles{bad_folder}, Error);
}

TEST(MergedFilesTest, TheFirstMetadataCounts) {
  const std::vector<StagedRank> ranks{{.rank = 2, .metadata = Map{{"of", 2}}},
                                      {.rank = 1, .metadata = Map{{"of", 1}}},
                                      {.rank = 0}};
  EXPECT_EQ(MergedFiles(ranks).metadata(), Value(Map{{"of", 1}}));
}

}  // namespace
}  // namespace rtrain::store
