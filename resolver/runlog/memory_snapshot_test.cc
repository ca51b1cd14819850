#include "resolver/runlog/memory_snapshot.h"

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/runlog/pickle.h"

namespace flightplan {
namespace {

std::string Bytes(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

std::string Text(absl::string_view text) { return absl::StrCat(Bytes({0x8c, static_cast<int>(text.size())}), text); }

std::string Number(int64_t number) {
  std::string bytes = Bytes({0x8a, 8});
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

std::string Dict(std::initializer_list<std::string> items) {
  std::string text = "}(";
  for (const std::string& item : items) text += item;
  return text + "u";
}

std::string List(std::initializer_list<std::string> items) {
  std::string text = "](";
  for (const std::string& item : items) text += item;
  return text + "e";
}

std::string Whole(const std::string& value) { return absl::StrCat(Bytes({0x80, 4}), value, "."); }

std::string Frames(absl::string_view file, absl::string_view function) {
  return List({Dict({Text("filename"), Text(file), Text("line"), "K\x07", Text("name"), Text(function)})});
}

std::string Event(absl::string_view action, int64_t address, int64_t size, const std::string& frames) {
  return Dict({Text("action"), Text(action), Text("addr"), Number(address), Text("size"), Number(size), Text("frames"),
               frames});
}

// 4,096 bytes of the model from before the history, 2,048 of the optimizer still there, 1,024 of a forward that came
// and went, and before it 512 that were given back.
std::string Snapshot() {
  const std::string model = Frames("/x/module.py", "__init__"),
                    optimizer = Frames("/x/megatron/core/optimizer/distrib_optimizer.py", "step"),
                    forward = Frames("/x/layers.py", "forward");
  const std::string blocks =
      List({Dict({Text("address"), Number(4096), Text("size"), Number(4096), Text("requested_size"), Number(4000),
                  Text("state"), Text("active_allocated"), Text("frames"), model}),
            Dict({Text("address"), Number(8192), Text("size"), Number(2048), Text("requested_size"), Number(2000),
                  Text("state"), Text("active_allocated"), Text("frames"), optimizer}),
            Dict({Text("address"), Number(10240), Text("size"), Number(9000), Text("state"), Text("inactive"),
                  Text("frames"), List({})})});
  return Whole(
      Dict({Text("segments"),
            List({Dict({Text("device"), "K" + Bytes({0}), Text("address"), Number(4096), Text("total_size"),
                        Number(20480), Text("blocks"), blocks})}),
            Text("device_traces"),
            List({List({Event("free_completed", 77, 512, List({})), Event("alloc", 10240, 1000, forward),
                        Event("free_requested", 10240, 1000, forward), Event("free_completed", 10240, 1000, forward),
                        Event("alloc", 8192, 2000, optimizer), Event("alloc", 10240, 100, forward)})})}));
}

TEST(MemorySnapshot, SaysWhatThePeakWasFor) {
  const absl::StatusOr<MemorySnapshot> snapshot = ReadMemorySnapshot(Snapshot());
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->allocated, 4096 + 2048);
  EXPECT_EQ(snapshot->reserved, 20480);
  EXPECT_EQ(snapshot->events, 6);
  EXPECT_EQ(snapshot->peak, 4096 + 2048 + 512);  // the last forward, 100 bytes, takes a block of 512
  EXPECT_EQ(snapshot->of(MemoryCause::kParametersAndGradients), 4096);
  EXPECT_EQ(snapshot->of(MemoryCause::kOptimizerState), 2048);
  EXPECT_EQ(snapshot->of(MemoryCause::kForward), 512);
  EXPECT_EQ(snapshot->of(MemoryCause::kUnknown), 0);
}

TEST(MemorySnapshot, RefusesWhatMakesObjects) {
  const absl::StatusOr<MemorySnapshot> called =
      ReadMemorySnapshot(Bytes({0x80, 2}) + "cos\nsystem\n(X\x02" + Bytes({0, 0, 0}) + "lstR.");
  ASSERT_FALSE(called.ok());
  EXPECT_EQ(called.status().message(), "it holds more than plain data (instruction 0x63), and is not loaded");
  for (const int op :
       std::initializer_list<int>{0x93, 'R', 'b', 'i', 'o', 0x81, 0x92, 'P', 'Q', 0x82, 0x96, 'p', 'g', 'I'}) {
    EXPECT_FALSE(Pickle::Read(Whole(absl::StrCat("N", Bytes({op})))).ok()) << op;
  }
}

TEST(MemorySnapshot, RefusesInstructionsThatDoNotComeOutEven) {
  for (const std::string& body :
       {std::string("("), std::string("NN"), std::string("e"), std::string("(e"), std::string("Na"), std::string("NNa"),
        std::string("}(Nu"), std::string("](N"), Bytes({'N', 'h', 7}), Bytes({'N', 'q', 7}), Bytes({0x86}),
        Bytes({'(', 'N', 0x86}), Bytes({0x8c, 200}), Bytes({0x8a, 200})}) {
    EXPECT_FALSE(Pickle::Read(Whole(body)).ok()) << body;
  }
  EXPECT_FALSE(Pickle::Read(Bytes({0x80, 4, 'N'})).ok());
  EXPECT_FALSE(Pickle::Read(Bytes({0x80, 6, 'N', '.'})).ok());
  EXPECT_FALSE(ReadMemorySnapshot(Whole("N")).ok());
}

// One list in itself, a thousand times: what is shared may be met more often than it is read.
TEST(MemorySnapshot, EndsWhereSharedValuesMultiply) {
  std::string many = "]" + Bytes({0x94}) + "(";
  for (int i = 0; i < 20000; ++i) many += Bytes({'h', 0});
  const std::string segment = Dict({Text("blocks"), many + "e"});
  std::string segments = "](" + segment + Bytes({'q', 1});
  for (int i = 0; i < 20000; ++i) segments += Bytes({'h', 1});
  const absl::StatusOr<MemorySnapshot> snapshot = ReadMemorySnapshot(Whole(Dict({Text("segments"), segments + "e"})));
  ASSERT_FALSE(snapshot.ok());
  EXPECT_EQ(snapshot.status().message(), "it holds more than is read");
}

// Each byte makes a value; 50 MB of them once took 900 MiB.
TEST(MemorySnapshot, EndsWhereBytesUnpackToFarMore) {
  const auto read = [](size_t values) { return Pickle::Read(Whole("](" + std::string(values, 'N') + "e")).status(); };
  EXPECT_TRUE(read(500'000).ok());
  EXPECT_EQ(read(2'000'000).message(), "it unpacks to more than is read");
}

TEST(MemorySnapshot, SurvivesAnyBytes) {
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in each run
  int read = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = Snapshot();
    for (int change = 0; change < 3; ++change) text[random() % text.size()] = static_cast<char>(random());
    const absl::StatusOr<MemorySnapshot> snapshot = ReadMemorySnapshot(text);
    if (!snapshot.ok()) continue;
    ++read;
    for (const double part : snapshot->by_cause) EXPECT_GE(part, 0);
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace flightplan
