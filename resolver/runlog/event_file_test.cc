#include "resolver/runlog/event_file.h"

#include <cmath>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/runlog/step_statistics.h"

namespace flightplan {
namespace {

template <class Number>
std::string Bytes(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

std::string Sum(absl::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return Bytes(((crc >> 15) | (crc << 17)) + 0xa282ead8U);
}

std::string Record(const std::string& data) {
  const std::string length = Bytes(static_cast<uint64_t>(data.size()));
  return absl::StrCat(length, Sum(length), data, Sum(data));
}

std::string Part(char key, const std::string& bytes) {
  return absl::StrCat(std::string(1, key), std::string(1, static_cast<char>(bytes.size())), bytes);
}

std::string Scalar(int step, const std::string& tag, float value) {
  const std::string one = absl::StrCat(Part(0x0a, tag), "\x15", Bytes(value));
  return Record(
      absl::StrCat("\x09", Bytes(1.5e9), "\x10", std::string(1, static_cast<char>(step)), Part(0x2a, Part(0x0a, one))));
}

std::string File() {
  std::string file = Record(absl::StrCat("\x09", Bytes(1.5e9), Part(0x1a, "brain.Event:2")));
  for (int step = 1; step <= 20; ++step) {
    file += Scalar(step, "batch-size", 64);
    file += Scalar(step, "lm loss", 2.5F);
    file += Scalar(step, "lm loss vs samples", 9.0F);
    file += Scalar(step, "iteration-time", step == 1 ? 30.0F : 1.25F);
    file += Scalar(step, "throughput", 310.0F);
    file += Scalar(step, "mem-max-allocated-bytes", 5.0e9F);
  }
  return file;
}

TEST(EventFile, KnowsItsChecksum) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);  // RFC 3720's test value
}

TEST(EventFile, ReadsScalarsInAnyPieces) {
  const std::string file = File();
  for (const size_t piece : {size_t{1}, size_t{100}, file.size()}) {
    EventFileReader reader;
    for (size_t at = 0; at < file.size(); at += piece) reader.Push(absl::string_view(file).substr(at, piece));
    const RunLog log = reader.Log();
    const StepStatistics steps = StatisticsOf(log);
    EXPECT_EQ(log.reports, 20);
    EXPECT_NEAR(steps.median_ms, 1250, 0.01);
    EXPECT_NEAR(steps.tflops, 310, 0.01);
    EXPECT_EQ(steps.global_batch, 64);
    EXPECT_NEAR(log.last_loss, 2.5, 1e-6);
    EXPECT_NEAR(log.ranks.at(-1).max_allocated, 5e9, 1e3);
    EXPECT_FALSE(reader.broken());
  }
}

TEST(EventFile, CountsStepsWhoseLossOrNormIsNoNumber) {
  std::string file = File();
  file += Scalar(21, "iteration-time", 1.25F) + Scalar(21, "lm loss", NAN) + Scalar(21, "throughput", INFINITY);
  file += Scalar(22, "iteration-time", 1.25F) + Scalar(22, "grad-norm", INFINITY);
  file += Scalar(23, "iteration-time", 1.25F) + Scalar(23, "grad-norm", 1.0F);
  EventFileReader reader;
  reader.Push(file);
  const RunLog log = reader.Log();
  EXPECT_EQ(log.reports, 23);
  EXPECT_EQ(log.nan_iterations, 2);
  EXPECT_EQ(log.steps[20].tflops, 0);
}

TEST(EventFile, StopsWhereAChecksumIsWrong) {
  std::string file = File();
  file[file.size() / 2] ^= 0x40;
  EventFileReader reader;
  reader.Push(file);
  EXPECT_TRUE(reader.broken());
  EXPECT_GT(reader.Log().reports, 5);
}

TEST(EventFile, IsNotTakenForALog) {
  EXPECT_TRUE(EventFileReader::Recognises(File()));
  EXPECT_FALSE(EventFileReader::Recognises(" iteration 1/ 2 | elapsed"));
  EXPECT_FALSE(EventFileReader::Recognises(""));
}

}  // namespace
}  // namespace flightplan
