#include "resolver/runlog/event_file.h"

#include <array>
#include <cmath>
#include <cstring>

#include "absl/strings/match.h"

namespace flightplan {
namespace {

constexpr size_t kHeadBytes = 12;  // length, and its checksum
constexpr size_t kTailBytes = 4;
constexpr int64_t kMostIteration = int64_t{1} << 53;
constexpr double kMostBytes = 1e15;

std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    table[i] = crc;
  }
  return table;
}

// TFRecord stores checksums masked, so that a checksum of checksums is no constant.
uint32_t Masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

template <class Number>
Number Load(const char* bytes) {  // little endian, as the files and our machines are
  Number number = 0;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

// One field of a protobuf message in wire format.
struct WireField {
  uint32_t number = 0;
  uint64_t bits = 0;        // of a number
  absl::string_view bytes;  // of a text or a message
};

bool TakeVarint(absl::string_view* wire, uint64_t* value) {
  *value = 0;
  for (size_t i = 0; i < wire->size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>((*wire)[i]);
    *value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte >= 0x80) continue;
    wire->remove_prefix(i + 1);
    return true;
  }
  return false;
}

bool TakeField(absl::string_view* wire, WireField* field) {
  uint64_t key = 0;
  if (!TakeVarint(wire, &key)) return false;
  *field = {};
  field->number = static_cast<uint32_t>(key >> 3);
  size_t size = 0;
  switch (key & 7) {
    case 0:
      return TakeVarint(wire, &field->bits);
    case 1:
      size = 8;
      break;
    case 5:
      size = 4;
      break;
    case 2: {
      uint64_t length = 0;
      if (!TakeVarint(wire, &length) || length > wire->size()) return false;
      field->bytes = wire->substr(0, length);
      wire->remove_prefix(length);
      return true;
    }
    default:
      return false;
  }
  if (wire->size() < size) return false;
  field->bits = size == 8 ? Load<uint64_t>(wire->data()) : Load<uint32_t>(wire->data());
  wire->remove_prefix(size);
  return true;
}

float FloatOf(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &low, sizeof(value));
  return value;
}

// A summary's value with a tag and a plain number; TensorBoard's plugins write others.
bool ReadScalar(absl::string_view value, absl::string_view* tag, double* number) {
  bool found = false;
  for (WireField field; TakeField(&value, &field);) {
    if (field.number == 1) *tag = field.bytes;
    if (field.number == 2 && field.bytes.empty()) {
      *number = FloatOf(field.bits);
      found = true;
    }
  }
  return found && !tag->empty();
}

}  // namespace

uint32_t Crc32c(absl::string_view bytes) {
  static const std::array<uint32_t, 256> kTable = MakeCrcTable();
  uint32_t crc = 0xffffffffU;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

bool EventFileReader::Recognises(absl::string_view begin) {
  return begin.size() >= kHeadBytes && Load<uint64_t>(begin.data()) <= kMostRecordBytes &&
         Load<uint32_t>(begin.data() + 8) == Masked(Crc32c(begin.substr(0, 8)));
}

void EventFileReader::Flush() {
  if (step_.step_ms > 0) reader_.AddStep(step_, "");
  step_ = {};
}

void EventFileReader::Put(int64_t step, absl::string_view tag, double value) {
  constexpr struct {
    absl::string_view tag;
    double StepLine::*field;
    double scale;
  } kSteps[] = {{"iteration-time", &StepLine::step_ms, 1e3},
                {"throughput", &StepLine::tflops, 1},
                {"throughput/tflops/device", &StepLine::tflops, 1},
                {"TFLOP throughput (per-sec-per-GPU)", &StepLine::tflops, 1},
                {"Token throughput (per-sec-per-GPU)", &StepLine::tokens, 1},
                {"lm loss", &StepLine::loss, 1}};
  constexpr struct {
    absl::string_view tag;
    double MemoryReport::*field;
  } kMemory[] = {{"mem-allocated-bytes", &MemoryReport::allocated},
                 {"mem-max-allocated-bytes", &MemoryReport::max_allocated},
                 {"mem-reserved-bytes", &MemoryReport::reserved}};
  for (const auto& row : kMemory) {
    if (tag == row.tag && value > 0 && value < kMostBytes) memory_.*row.field = std::max(memory_.*row.field, value);
  }
  const bool batch = tag == "batch-size", norm = tag == "grad-norm";
  for (const auto& row : kSteps) {
    if (tag != row.tag && !batch && !norm) continue;
    if (step != step_.iteration) Flush();
    step_.iteration = step;
    if (batch) {
      step_.global_batch = value > 0 && value < 1e9 ? std::llround(value) : 0;
      return;
    }
    const bool loss = !norm && row.field == &StepLine::loss;
    if (norm || loss) step_.no_number |= !std::isfinite(value);
    if (loss || (!norm && value > 0 && std::isfinite(value))) step_.*row.field = value * row.scale;
    step_.has_loss |= loss;
    return;
  }
}

void EventFileReader::ReadEvent(absl::string_view event) {
  int64_t step = 0;
  absl::string_view summary;
  for (WireField field; TakeField(&event, &field);) {
    if (field.number == 2) step = static_cast<int64_t>(field.bits);
    if (field.number == 5) summary = field.bytes;
  }
  if (step < 0 || step > kMostIteration) return;
  for (WireField field; TakeField(&summary, &field);) {
    absl::string_view tag;
    double number = 0;
    if (field.number == 1 && ReadScalar(field.bytes, &tag, &number)) Put(step, tag, number);
  }
}

bool EventFileReader::TakeRecord(absl::string_view* bytes) {
  if (broken_ || bytes->size() < kHeadBytes) return false;
  broken_ = !Recognises(*bytes);
  if (broken_) return false;
  const uint64_t length = Load<uint64_t>(bytes->data());
  if (bytes->size() < kHeadBytes + length + kTailBytes) return false;
  const absl::string_view data = bytes->substr(kHeadBytes, length);
  broken_ = Load<uint32_t>(data.data() + length) != Masked(Crc32c(data));
  if (broken_) return false;
  ReadEvent(data);
  ++records_;
  bytes->remove_prefix(kHeadBytes + length + kTailBytes);
  return true;
}

void EventFileReader::Push(absl::string_view bytes) {
  if (broken_) return;
  buffer_.append(bytes.data(), bytes.size());
  absl::string_view rest = buffer_;
  while (TakeRecord(&rest)) {
  }
  buffer_.erase(0, buffer_.size() - rest.size());
}

RunLog EventFileReader::Log() {
  Flush();
  if (memory_.allocated > 0 || memory_.max_allocated > 0) reader_.AddMemory(memory_);
  return reader_.Log();
}

}  // namespace flightplan
