#include "clients/cli/fingerprint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/command.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::cli {
namespace {

namespace fs = std::filesystem;

// A root of its own.
class Root : public TemporaryFolder {
 public:
  void Write(const std::string& file, const std::string& text) {
    fs::create_directories(fs::path(path() + file).parent_path());
    std::ofstream(path() + file) << text;
  }
};

std::string ValueOf(const Fingerprint& print, const std::string& name) {
  const Fact* fact = print.Find(name);
  return fact == nullptr ? "(missing)" : fact->value;
}

void Fill(Root* root) {
  const std::string site = "/usr/local/lib/python3.12/dist-packages/";
  root->Write(site + "torch-2.9.0+cu130.dist-info/METADATA",
              "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0+cu130\n");
  root->Write(site + "transformer_engine_cu13-2.12.0.dist-info/METADATA", "Version: 2.12.0\n");
  root->Write(site + "nvidia_nccl_cu13-2.28.3.dist-info/METADATA", "Version: 2.28.3\n");
  root->Write(site + "deep_ep-1.2.1.dist-info/METADATA", "Version: 1.2.1+abc\n");
  root->Write(site + "deep_ep_cpp.cpython-312-x86_64-linux-gnu.so", "ELF");
  root->Write(site + "hybrid_ep_cpp.cpython-312-x86_64-linux-gnu.so", "ELF");
  root->Write(site + "torchvision-1.dist-info/METADATA", "Version: 99\n");
  root->Write("/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\nGCC version: 12\n");
  for (const char* gpu : {"0000:18:00.0", "0000:2a:00.0"}) {
    root->Write(std::string("/proc/driver/nvidia/gpus/") + gpu + "/information", "Model: \t\t NVIDIA H100 80GB HBM3\n");
  }
  root->Write("/sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  root->Write("/sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
  root->Write("/opt/Megatron-LM/megatron/core/package_info.py", "MAJOR = 0\nMINOR = 16\nPATCH = 1\n");
  root->Write("/opt/Megatron-LM/.git/HEAD", "ref: refs/heads/main\n");
  root->Write("/opt/Megatron-LM/.git/packed-refs", "# pack-refs\nd98e8a64dd refs/heads/main\n");
}

TEST(Fingerprint, ReadsMetadataAlone) {
  Root root;
  Fill(&root);
  const Fingerprint print = TakeFingerprint({root.path(), {}, {}});
  EXPECT_EQ(ValueOf(print, "torch"), "2.9.0+cu130");
  EXPECT_EQ(ValueOf(print, "te"), "2.12.0");
  EXPECT_EQ(ValueOf(print, "cuda"), "13.0");
  EXPECT_EQ(ValueOf(print, "nccl"), "2.28.3");
  EXPECT_EQ(ValueOf(print, "package.deep_ep"), "1.2.1+abc");
  EXPECT_EQ(ValueOf(print, "dispatcher.deepep"), "installed");
  EXPECT_EQ(ValueOf(print, "dispatcher.hybridep"), "installed");
  EXPECT_EQ(ValueOf(print, "driver"), "580.65.06");
  EXPECT_EQ(ValueOf(print, "gpu"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(print.Count("gpu"), 2u);
  EXPECT_EQ(ValueOf(print, "nic"), "mlx5_0, 400 Gb/sec (4X NDR)");
  EXPECT_EQ(ValueOf(print, "transport"), "infiniband");
  EXPECT_EQ(ValueOf(print, "megatron-core"), "0.16.1");
  EXPECT_EQ(ValueOf(print, "megatron-core.commit"), "d98e8a64dd");
  ASSERT_EQ(print.missing.size(), 2u);
  EXPECT_TRUE(absl::StartsWith(print.missing[0], "package.nvshmem: "));
  EXPECT_TRUE(absl::StartsWith(print.missing[1], "package.triton: "));
}

TEST(Fingerprint, SaysWhatAnEmptyMachineLacks) {
  Root root;
  const Fingerprint print = TakeFingerprint({root.path(), {}, {}});
  EXPECT_TRUE(print.facts.empty());
  EXPECT_GE(print.missing.size(), 11u);
}

TEST(Fingerprint, SurvivesFilesThatAreNotWhatTheySeem) {
  Root root;
  root.Write("/usr/lib/python3/dist-packages/torch-2.dist-info/METADATA", std::string(1 << 20, 'x'));
  root.Write("/proc/driver/nvidia/version", std::string("\0\xff\n", 3));
  root.Write("/usr/local/cuda/version.json", "{\"cuda\":");
  root.Write("/opt/x/megatron/core/package_info.py", "MAJOR");
  EXPECT_TRUE(TakeFingerprint({root.path(), {}, {}}).facts.empty());
}

TEST(FingerprintCommand, RefusesFoldersThatAreNotThere) {
  for (const char* flag : {"--root", "--site", "--checkout"}) {
    Context context;
    const std::vector<std::string> args = {"fingerprint", flag, "/no/such/folder"};
    EXPECT_EQ(RunCommandLine(args, context), kExitMisuse) << flag;
    EXPECT_TRUE(absl::StrContains(context.err, "cannot read /no/such/folder")) << context.err;
  }
}

TEST(FingerprintCommand, LeavesOutOfItsJsonWhatItDoesNotKnow) {
  Root root;
  Fill(&root);
  Context context;
  const std::vector<std::string> args = {"fingerprint", "--format", "json", "--root", root.path()};
  ASSERT_EQ(RunCommandLine(args, context), kExitOk);
  for (const char* field : {"gpu_count", "view", "repair"}) {
    EXPECT_FALSE(absl::StrContains(context.out, absl::StrCat("\"", field, "\""))) << context.out;
  }
  EXPECT_TRUE(absl::StrContains(context.out, "\"gpus_per_node_count\": 2")) << context.out;
}

TEST(FingerprintCommand, SpeaksInFlags) {
  Root root;
  Fill(&root);
  Context context;
  const std::vector<std::string> args = {"fingerprint", "--format", "flags", "--root", root.path()};
  EXPECT_EQ(RunCommandLine(args, context), kExitOk);
  EXPECT_TRUE(absl::StrContains(context.out, "--target megatron-lm@0.16 ")) << context.out;
  EXPECT_TRUE(absl::StrContains(context.out, "--gpus-per-node 2 --transport infiniband --te 2.12.0")) << context.out;
  EXPECT_TRUE(absl::StrContains(context.out, "--package deep_ep=1.2.1+abc\n")) << context.out;
  EXPECT_TRUE(absl::StrContains(context.err, "not found: package.triton"));
}

}  // namespace
}  // namespace flightplan::cli
