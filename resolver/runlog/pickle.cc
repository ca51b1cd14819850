#include "resolver/runlog/pickle.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "resolver/base/status_macros.h"

namespace flightplan {

// Runs the instructions that build plain values (CPython's Lib/pickletools.py lists all).
class PickleMachine {
 public:
  explicit PickleMachine(absl::string_view bytes)
      : bytes_(bytes),
        most_memory_(std::min(Pickle::kMostMemory, Pickle::kMemoryOfAny + Pickle::kMemoryOfByte * bytes.size())) {
    pickle_.bytes_ = bytes;
  }

  absl::StatusOr<Pickle> Run() {
    while (at_ < bytes_.size()) {
      const unsigned char op = static_cast<unsigned char>(bytes_[at_++]);
      if (op == '.') return Stop();
      FLIGHTPLAN_RETURN_IF_ERROR(Step(op));
      if (memory_ > most_memory_) return Wrong("it unpacks to more than is read");
    }
    return Wrong("it ends too early");
  }

 private:
  using Id = Pickle::Id;
  using Kind = Pickle::Kind;

  static absl::Status Wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }

  absl::StatusOr<Pickle> Stop() {
    if (stack_.size() != 1) return Wrong("its instructions do not come out even");
    pickle_.root_ = stack_[0];
    return std::move(pickle_);
  }

  absl::Status Step(unsigned char op) {
    switch (op) {
      case 0x80: {  // PROTO
        FLIGHTPLAN_ASSIGN_OR_RETURN(const uint64_t version, Unsigned(1));
        return version <= 5 ? absl::OkStatus() : Wrong("it has a later protocol");
      }
      case 0x95:  // FRAME: how much belongs together
        return Unsigned(8).status();
      case '(':
        marks_.push_back(stack_.size());
        memory_ += sizeof(size_t);
        return absl::OkStatus();
      case 'N':
        return Push(Kind::kNone, 0);
      case 0x88:
      case 0x89:
        return Push(Kind::kNumber, op == 0x88 ? 1 : 0);
      case 'K':
        return PushUnsigned(1);
      case 'M':
        return PushUnsigned(2);
      case 'J':
        return PushSigned(4);
      case 0x8a: {  // LONG1
        FLIGHTPLAN_ASSIGN_OR_RETURN(const uint64_t size, Unsigned(1));
        return PushSigned(size);
      }
      case 'G':
        return PushReal();
      case 0x8c:
        return PushText(1);
      case 'X':
        return PushText(4);
      case 0x8d:
        return PushText(8);
      case ']':
        return PushItems(Kind::kList, {});
      case '}':
        return PushItems(Kind::kDict, {});
      case ')':
        return PushItems(Kind::kTuple, {});
      case 0x85:
      case 0x86:
      case 0x87:
        return Tuple(op - size_t{0x84});
      case 't': {
        FLIGHTPLAN_ASSIGN_OR_RETURN(const size_t count, SinceMark());
        return Tuple(count);
      }
      case 'a':
        return Append(Kind::kList, 1);
      case 's':
        return Append(Kind::kDict, 2);
      case 'e':
      case 'u': {
        FLIGHTPLAN_ASSIGN_OR_RETURN(const size_t count, SinceMark());
        return Append(op == 'e' ? Kind::kList : Kind::kDict, count);
      }
      case 0x94:  // MEMOIZE
        return Memoize(memo_.size());
      case 'q':
      case 'r': {
        FLIGHTPLAN_ASSIGN_OR_RETURN(const uint64_t place, Unsigned(op == 'q' ? 1 : 4));
        return Memoize(place);
      }
      case 'h':
      case 'j': {
        FLIGHTPLAN_ASSIGN_OR_RETURN(const uint64_t place, Unsigned(op == 'h' ? 1 : 4));
        if (place >= memo_.size()) return Wrong("it refers to what is not there");
        return PushId(memo_[place]);
      }
      default:
        return Wrong(absl::StrFormat("it holds more than plain data (instruction 0x%02x), and is not loaded", op));
    }
  }

  absl::StatusOr<uint64_t> Unsigned(size_t size) {
    if (bytes_.size() - at_ < size) return Wrong("it ends too early");
    uint64_t number = 0;
    for (size_t i = 0; i < size; ++i) number |= uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    at_ += size;
    return number;
  }

  absl::Status PushId(Id id) {
    stack_.push_back(id);
    memory_ += sizeof(Id);
    return absl::OkStatus();
  }

  absl::Status Push(Kind kind, int64_t at, uint32_t size = 0) {
    pickle_.values_.push_back({kind, size, at});
    memory_ += sizeof(Pickle::Value);
    return PushId(static_cast<Id>(pickle_.values_.size() - 1));
  }

  absl::Status PushUnsigned(size_t size) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const uint64_t number, Unsigned(size));
    return Push(Kind::kNumber, static_cast<int64_t>(number));
  }

  // Two's complement. What 64 bits do not hold is none of ours: a number of such a size is read as nothing.
  absl::Status PushSigned(size_t size) {
    if (size > 8) {
      if (bytes_.size() - at_ < size) return Wrong("it ends too early");
      at_ += size;
      return Push(Kind::kNone, 0);
    }
    FLIGHTPLAN_ASSIGN_OR_RETURN(uint64_t number, Unsigned(size));
    if (size > 0 && size < 8 && (number >> (8 * size - 1)) != 0) number |= ~uint64_t{0} << (8 * size);
    return Push(Kind::kNumber, static_cast<int64_t>(number));
  }

  absl::Status PushReal() {
    FLIGHTPLAN_RETURN_IF_ERROR(Unsigned(8).status());
    return Push(Kind::kReal, 0);
  }

  absl::Status PushText(size_t width) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const uint64_t size, Unsigned(width));
    if (size > bytes_.size() - at_) return Wrong("it ends too early");
    const size_t begin = std::exchange(at_, at_ + size);
    return Push(Kind::kText, static_cast<int64_t>(begin), static_cast<uint32_t>(size));
  }

  absl::Status PushItems(Kind kind, std::vector<Id> items) {
    memory_ += sizeof(std::vector<Id>) + items.size() * sizeof(Id);
    pickle_.items_.push_back(std::move(items));
    return Push(kind, static_cast<int64_t>(pickle_.items_.size() - 1));
  }

  // How many values stand behind the last mark, which goes.
  absl::StatusOr<size_t> SinceMark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return Wrong("its instructions do not come out even");
    const size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    return count;
  }

  // Whether the stack has so many values above the last mark.
  bool Has(size_t count) const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()) >= count; }

  absl::Status Tuple(size_t count) {
    if (!Has(count)) return Wrong("its instructions do not come out even");
    std::vector<Id> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return PushItems(Kind::kTuple, std::move(items));
  }

  absl::Status Append(Kind kind, size_t count) {
    if (!Has(count + 1) || (kind == Kind::kDict && count % 2 != 0)) {
      return Wrong("its instructions do not come out even");
    }
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    const Pickle::Value& into = pickle_.values_[*(first - 1)];
    if (into.kind != kind) return Wrong("it adds to what is no list and no dictionary");
    std::vector<Id>& items = pickle_.items_[static_cast<size_t>(into.at)];
    items.insert(items.end(), first, stack_.end());
    memory_ += count * sizeof(Id);
    stack_.resize(stack_.size() - count);
    return absl::OkStatus();
  }

  // Python numbers what it remembers from 0 on.
  absl::Status Memoize(size_t place) {
    if (stack_.empty() || place > memo_.size()) return Wrong("its instructions do not come out even");
    if (place == memo_.size()) {
      memo_.push_back(stack_.back());
      memory_ += sizeof(Id);
    }
    memo_[place] = stack_.back();
    return absl::OkStatus();
  }

  const absl::string_view bytes_;
  const size_t most_memory_;
  size_t at_ = 0;
  size_t memory_ = 0;  // bytes of all below, never less than there are
  Pickle pickle_;
  std::vector<Id> stack_, memo_;
  std::vector<size_t> marks_;
};

bool Pickle::Recognises(absl::string_view begin) {
  return begin.size() > 2 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5 &&
         (begin[2] == '\x95' || begin[2] == '}' || begin[2] == ']');
}

absl::StatusOr<Pickle> Pickle::Read(absl::string_view bytes) {
  if (bytes.size() > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrFormat("it is larger than %d MiB", kMostBytes >> 20));
  }
  return PickleMachine(bytes).Run();
}

int64_t Pickle::Number(Id id) const { return kind(id) == Kind::kNumber ? values_[id].at : 0; }

absl::string_view Pickle::Text(Id id) const {
  const Value& value = values_[id];
  return value.kind == Kind::kText ? bytes_.substr(static_cast<size_t>(value.at), value.size) : absl::string_view();
}

absl::Span<const Pickle::Id> Pickle::Items(Id id) const {
  const Value& value = values_[id];
  if (value.kind < Kind::kList) return {};
  return items_[static_cast<size_t>(value.at)];
}

std::optional<Pickle::Id> Pickle::Get(Id dict, absl::string_view key) const {
  if (kind(dict) != Kind::kDict) return std::nullopt;
  const absl::Span<const Id> items = Items(dict);
  if (items.size() > 2 * kMostKeys) return std::nullopt;
  for (size_t i = items.size(); i >= 2; i -= 2) {
    if (kind(items[i - 2]) == Kind::kText && Text(items[i - 2]) == key) return items[i - 1];
  }
  return std::nullopt;
}

}  // namespace flightplan
