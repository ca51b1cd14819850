#include "service/observe/log.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <limits>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "service/call/call.h"
#include "service/observe/metrics.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::service {
namespace {

// A pipe; its capacity makes the reader's pace matter.
struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
  }
  std::string ReadAll() {
    close(ends[1]);
    ends[1] = -1;
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(n));
    return text;
  }
  int ends[2] = {-1, -1};
};

TEST(LineSink, WritesLinesInOrder) {
  Pipe pipe;
  {
    LineSink sink(pipe.ends[1]);
    EXPECT_TRUE(sink.Write("one"));
    EXPECT_TRUE(sink.Write("two"));
    sink.Flush(absl::Seconds(30));
  }
  EXPECT_EQ(pipe.ReadAll(), "one\ntwo\n");
}

TEST(LineSink, DropsAndCountsRatherThanWaits) {
  Pipe pipe;
  {
    LineSink sink(pipe.ends[1], /*max_queued_bytes=*/4096);
    const std::string line(1023, 'x');
    int dropped = 0;
    for (int i = 0; i < 200; ++i) dropped += sink.Write(line) ? 0 : 1;  // 200 KiB; a pipe holds 64
    EXPECT_GT(dropped, 0);
    EXPECT_EQ(sink.dropped(), static_cast<uint64_t>(dropped));
    EXPECT_EQ(sink.written(), static_cast<uint64_t>(200 - dropped));
    std::thread reader([&] {
      char buffer[4096];
      size_t left = sink.written() * 1024;
      while (left > 0) {
        const ssize_t n = read(pipe.ends[0], buffer, sizeof(buffer));
        if (n <= 0) break;
        left -= static_cast<size_t>(n);
      }
      EXPECT_EQ(left, 0u);
    });
    reader.join();
  }
}

TEST(LineSink, AFlushWaitsNoLongerThanItMay) {
  Pipe pipe;
  LineSink sink(pipe.ends[1]);
  const std::string line(4095, 'x');
  while (sink.Flush(absl::Milliseconds(20))) sink.Write(line);  // until the pipe holds no more
  std::thread reader([&] {
    char buffer[4096];
    size_t left = sink.written() * (line.size() + 1);
    while (left > 0) left -= static_cast<size_t>(std::max<ssize_t>(read(pipe.ends[0], buffer, sizeof(buffer)), 0));
  });
  EXPECT_TRUE(sink.Flush(absl::Seconds(30)));
  reader.join();
}

TEST(LineSink, HoldsALineOfExactlyItsSizeAndRefusesOneByteMore) {
  Pipe pipe;
  LineSink sink(pipe.ends[1], 100);
  EXPECT_TRUE(sink.Write(std::string(99, 'x')));
  sink.Flush(absl::Seconds(30));
  EXPECT_FALSE(sink.Write(std::string(100, 'x')));
}

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(LineSink, CountsAndTellsWhatADiskDoesNotTake) {
  std::atomic<uint64_t> told{0};
  std::atomic<int> error{0}, again{0};
  const auto sink = LineSink::Append("/dev/full", [&](uint64_t lines, int why) {
    told += lines;
    if (lines > 0) error = why;
    if (lines == 0) ++again;
  });
  ASSERT_TRUE(sink.ok()) << sink.status();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE((*sink)->Write("line"));
  (*sink)->Flush(absl::Seconds(30));
  EXPECT_EQ((*sink)->lost(), 3u);
  EXPECT_EQ(told, 3u);
  EXPECT_EQ(error, ENOSPC);
  EXPECT_EQ(again, 0);
}

TEST(LineSink, FollowsTheNameOfItsFileWhenItIsMovedAway) {
  const TemporaryFolder folder;
  const std::string path = folder.File("log"), full = path + ".full";
  ASSERT_EQ(symlink("/dev/full", path.c_str()), 0);
  std::atomic<int> again{0};
  const auto sink = LineSink::Append(path, [&](uint64_t lines, int) { again += lines == 0 ? 1 : 0; });
  ASSERT_TRUE(sink.ok()) << sink.status();
  (*sink)->Write("lost");
  (*sink)->Flush(absl::Seconds(30));
  ASSERT_EQ(rename(path.c_str(), full.c_str()), 0);
  (*sink)->Reopen();  // as on SIGHUP
  (*sink)->Write("one");
  (*sink)->Flush(absl::Seconds(30));
  EXPECT_EQ(Content(path), "one\n");
  EXPECT_EQ(again, 1);
  ASSERT_EQ(rename(path.c_str(), (path + ".1").c_str()), 0);
  // Without a signal it looks once a second: what comes before that goes to the old file.
  while (Content(path).empty()) {
    (*sink)->Write("two");
    (*sink)->Flush(absl::Seconds(30));
    usleep(10'000);
  }
  EXPECT_EQ((*sink)->lost(), 1u);
  EXPECT_EQ(Content(path).substr(0, 4), "two\n");
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u & ~0640u, 0u) << "others do not read it";
}

TEST(LineSink, ATornLineStandsForItself) {
  const TemporaryFolder folder;
  const std::string path = folder.File("log");
  ASSERT_EQ(signal(SIGXFSZ, SIG_IGN) == SIG_ERR, false);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto sink = LineSink::Append(path, nullptr);
  ASSERT_TRUE(sink.ok()) << sink.status();
  const rlimit small{10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  (*sink)->Write("1234567");
  (*sink)->Write("torn");
  (*sink)->Flush(absl::Seconds(30));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  (*sink)->Write("whole");
  (*sink)->Flush(absl::Seconds(30));
  const std::string content = Content(path);
  EXPECT_EQ(content.substr(0, 8), "1234567\n");
  EXPECT_EQ(content.substr(content.size() - 7), "\nwhole\n") << content;
  EXPECT_EQ((*sink)->lost(), 1u);
}

TEST(LineLimiter, LeavesOutAndCounts) {
  LineLimiter limiter;
  int64_t left_out = 0;
  int written = 0;
  const absl::Duration start = absl::Hours(1);
  for (int i = 0; i < 10'000; ++i) written += limiter.Take("a", start, &left_out) ? 1 : 0;
  EXPECT_EQ(written, LineLimiter::kBurst);
  EXPECT_TRUE(limiter.Take("b", start, &left_out)) << "another subject has room of its own";
  EXPECT_EQ(left_out, 0);
  ASSERT_TRUE(limiter.Take("a", start + absl::Seconds(1), &left_out));
  EXPECT_EQ(left_out, 10'000 - LineLimiter::kBurst);
  ASSERT_TRUE(limiter.Take("a", start + absl::Seconds(1), &left_out));
  EXPECT_EQ(left_out, 0) << "told once";
  for (int i = 0; i < 10'000; ++i) limiter.Take(absl::StrCat("subject ", i), start, &left_out);
  EXPECT_FALSE(limiter.Take("one more", start, &left_out)) << "beyond the subjects it knows, all are one";
}

TEST(Log, AFloodOfOneReasonIsAFewLinesThatSaySo) {
  Pipe pipe;
  {
    LineSink sink(pipe.ends[1]);
    Log log(&sink, LogLevel::kInfo);
    for (int i = 0; i < 5'000; ++i) {
      const std::string message = absl::StrCat("field", i, ": is wrong");
      log.Write(LogLevel::kInfo, message, {{"reason", "REQUEST_INVALID"}});
    }
    EXPECT_GT(log.TakeSuppressed(), 4'000u);
    EXPECT_EQ(log.TakeSuppressed(), 0u);
    log.Write(LogLevel::kError, "something else");
  }
  const std::string text = pipe.ReadAll();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 1'000);
  EXPECT_NE(text.find("something else"), std::string::npos);
}

std::string Json(const std::string& text) { return QuotedJson(text); }

TEST(JsonText, EscapesWhatJsonRequires) {
  EXPECT_EQ(Json("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  EXPECT_EQ(Json("\x7f\xc2\x9b\xc2\xa0"), "\"\\u007f\\u009b\xc2\xa0\"") << "what drives a terminal";
  EXPECT_EQ(Json("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"), "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"");
}

TEST(JsonText, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(Json("a\xff"), "\"a\\ufffd\"");
  EXPECT_EQ(Json("\xc0\x80"), "\"\\ufffd\\ufffd\"") << "overlong";
  EXPECT_EQ(Json("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"") << "surrogate";
  EXPECT_EQ(Json("\xe2\x82"), "\"\\ufffd\\ufffd\"") << "cut";
}

TEST(Log, LeavesOutEmptyTextAndLowLevels) {
  Pipe pipe;
  {
    LineSink sink(pipe.ends[1]);
    Log log(&sink, LogLevel::kInfo);
    log.Write(LogLevel::kDebug, "hidden");
    log.Write(LogLevel::kInfo, "shown",
              {{"rpc", "R"},
               {"tenant", ""},
               {"n", int64_t{3}},
               {"ms", 1.5},
               {"nan", std::numeric_limits<double>::quiet_NaN()}});
  }
  const std::string text = pipe.ReadAll();
  EXPECT_EQ(text.find("hidden"), std::string::npos);
  EXPECT_NE(text.find("\"level\":\"info\",\"msg\":\"shown\",\"rpc\":\"R\",\"n\":3,\"ms\":1.5,\"nan\":null}\n"),
            std::string::npos)
      << text;
}

TEST(RequestId, KeepsAWellFormedOneAndReplacesTheRest) {
  EXPECT_EQ(RequestId("A-z_0.9"), "A-z_0.9");
  EXPECT_EQ(RequestId(std::string(kMaxRequestIdBytes, 'a')).size(), kMaxRequestIdBytes);
  EXPECT_NE(RequestId(std::string(kMaxRequestIdBytes + 1, 'a')).size(), kMaxRequestIdBytes + 1);
  EXPECT_NE(RequestId(""), RequestId(""));
}

TEST(TraceId, ReadsW3cAndNothingElse) {
  EXPECT_EQ(TraceId("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(TraceId("00-00000000000000000000000000000000-b7ad6b7169203331-01"), "");
  EXPECT_EQ(TraceId("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"), "");
  EXPECT_EQ(TraceId("00-0af7651916cd43dd8448eb211c80319c"), "");
  EXPECT_EQ(TraceId(""), "");
}

TEST(InFlightGate, AdmitsItsLimitAndRefusesOneMore) {
  InFlightGate gate(2);
  EXPECT_TRUE(gate.Enter());
  EXPECT_TRUE(gate.Enter());
  EXPECT_FALSE(gate.Enter());
  EXPECT_EQ(gate.count(), 2);
  gate.Leave();
  EXPECT_TRUE(gate.Enter());
}

TEST(MetricTable, NamesFollowTheConventions) {
  for (const MetricSpec& spec : MetricTable()) {
    const std::string name(spec.name);
    SCOPED_TRACE(name);
    EXPECT_TRUE(name.rfind("flightplan_", 0) == 0 || name.rfind("grpc_server_", 0) == 0);
    EXPECT_EQ(spec.kind == MetricKind::kCounter, name.size() > 6 && name.substr(name.size() - 6) == "_total");
    EXPECT_TRUE(spec.kind != MetricKind::kHistogram || absl::StrContains(name, "_seconds"));
    EXPECT_FALSE(spec.help.empty());
    EXPECT_EQ(spec.help.back(), '.');
  }
}

}  // namespace
}  // namespace flightplan::service
