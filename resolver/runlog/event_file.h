// TensorBoard event files: TFRecords of Event messages, of which the scalars are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "resolver/runlog/run_log.h"

namespace flightplan {

// CRC-32C (Castagnoli) of the bytes.
uint32_t Crc32c(absl::string_view bytes);

// Takes the file in pieces of any size. A record whose checksum is wrong ends the reading, as TensorBoard's own does;
// so does one larger than kMostRecordBytes. A file that ends within a record is one that is still written.
class EventFileReader {
 public:
  static constexpr size_t kMostRecordBytes = size_t{8} << 20;

  void Push(absl::string_view bytes);
  // The scalars as a run's output: "iteration-time" in seconds, throughput, loss, batch, and the memory of the writing
  // rank.
  RunLog Log();
  bool broken() const { return broken_; }
  uint64_t records() const { return records_; }

  // Whether the beginning of a file looks like one.
  static bool Recognises(absl::string_view begin);

 private:
  // Takes a whole record off `bytes`; false: there is none.
  bool TakeRecord(absl::string_view* bytes);
  void ReadEvent(absl::string_view event);
  void Put(int64_t step, absl::string_view tag, double value);
  void Flush();

  std::string buffer_;
  RunLogReader reader_;
  StepLine step_;        // what was read of the current step
  MemoryReport memory_;  // of the rank that writes
  bool broken_ = false;
  uint64_t records_ = 0;
};

}  // namespace flightplan
