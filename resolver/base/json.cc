#include "resolver/base/json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "rapidjson/encodedstream.h"
#include "rapidjson/error/en.h"
#include "rapidjson/memorystream.h"
#include "rapidjson/reader.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace flightplan {
namespace {

using rapidjson::SizeType;

// Not by recursion, whatever nests; and numbers as their text: RapidJSON 1.1 looks up powers of ten far outside its
// tables for 1.1e-2147483639 (CVE-2024-38517), and, where it reads with full precision, for 0.000...025 with 400 zeros.
constexpr unsigned kFlags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;

// Passes on what is read, with numbers in the place of their text, as far as it is not too deep.
class Values {
 public:
  Values(rapidjson::Document* to, size_t most) : to_(to), most_(most) {}

  bool too_deep() const { return depth_ > kMaxJsonDepth; }
  bool too_many() const { return count_ > most_; }

  bool RawNumber(const char* text, SizeType size, bool) {
    if (!Count()) return false;
    const absl::string_view number(text, size);
    if (number.find_first_of(".eENI") == absl::string_view::npos) {
      int64_t integer = 0;
      uint64_t large = 0;
      if (absl::SimpleAtoi(number, &integer)) return to_->Int64(integer);
      if (absl::SimpleAtoi(number, &large)) return to_->Uint64(large);
    }
    double real = 0;
    if (!absl::SimpleAtod(number, &real)) return false;
    const bool finite = number.find_first_of("NI") == absl::string_view::npos;
    return (!finite || std::isfinite(real)) && to_->Double(real);
  }
  bool Null() { return Count() && to_->Null(); }
  bool Bool(bool value) { return Count() && to_->Bool(value); }
  bool String(const char* text, SizeType size, bool copy) { return Count() && to_->String(text, size, copy); }
  bool Key(const char* text, SizeType size, bool copy) { return Count() && to_->Key(text, size, copy); }
  bool StartObject() { return Enter() && to_->StartObject(); }
  bool EndObject(SizeType members) { return Leave() && to_->EndObject(members); }
  bool StartArray() { return Enter() && to_->StartArray(); }
  bool EndArray(SizeType items) { return Leave() && to_->EndArray(items); }
  // With numbers as text there are none.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

 private:
  bool Count() { return ++count_ <= most_; }
  bool Enter() { return Count() && ++depth_ <= kMaxJsonDepth; }
  bool Leave() {
    --depth_;
    return true;
  }

  rapidjson::Document* to_;
  const size_t most_;
  size_t count_ = 0;
  int depth_ = 0;
};

std::string WhatIsWrong(rapidjson::ParseErrorCode code, bool too_deep) {
  if (too_deep) return absl::StrCat("Nested more than ", kMaxJsonDepth, " deep.");
  // What the values themselves refuse is else a number.
  if (code == rapidjson::kParseErrorTermination) return "Number too big to be stored in double.";
  return rapidjson::GetParseError_En(code);
}

absl::string_view Name(const rapidjson::Value::Member& member) {
  return {member.name.GetString(), member.name.GetStringLength()};
}

bool HasDuplicates(const rapidjson::Value& object) {
  constexpr SizeType kFew = 16;
  if (object.MemberCount() <= kFew) {
    for (auto a = object.MemberBegin(); a != object.MemberEnd(); ++a) {
      for (auto b = object.MemberBegin(); b != a; ++b) {
        if (Name(*a) == Name(*b)) return true;
      }
    }
    return false;
  }
  absl::flat_hash_set<absl::string_view> names;
  names.reserve(object.MemberCount());
  return !std::all_of(object.MemberBegin(), object.MemberEnd(),
                      [&](const auto& member) { return names.insert(Name(member)).second; });
}

// Where the last one stands.
void DropEarlierDuplicates(rapidjson::Value* object, rapidjson::Document::AllocatorType* memory) {
  absl::flat_hash_set<absl::string_view> behind;
  std::vector<rapidjson::Value::MemberIterator> last;  // from the end; names are looked at before any is moved
  for (auto member = object->MemberEnd(); member != object->MemberBegin();) {
    if (--member; behind.insert(Name(*member)).second) last.push_back(member);
  }
  rapidjson::Value kept(rapidjson::kObjectType);
  for (auto member = last.rbegin(); member != last.rend(); ++member) {
    kept.AddMember((*member)->name, (*member)->value, *memory);
  }
  *object = kept;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as kMaxJsonDepth
void KeepLastOfEachName(rapidjson::Value* value, rapidjson::Document::AllocatorType* memory) {
  if (value->IsArray()) {
    for (rapidjson::Value& item : value->GetArray()) KeepLastOfEachName(&item, memory);
  } else if (value->IsObject()) {
    if (HasDuplicates(*value)) DropEarlierDuplicates(value, memory);
    for (auto& member : value->GetObject()) KeepLastOfEachName(&member.value, memory);
  }
}

template <unsigned flags>
std::optional<JsonFault> Read(absl::string_view text, rapidjson::Document* document, size_t most_values) {
  rapidjson::ParseResult result;
  bool too_deep = false, too_many = false;
  const auto parse = [&](rapidjson::Document& to) {
    rapidjson::MemoryStream memory(text.data(), text.size());
    rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(memory);
    rapidjson::Reader reader;
    Values values(&to, most_values);
    result = reader.Parse<flags>(stream, values);
    too_deep = values.too_deep();
    too_many = values.too_many();
    return !result.IsError();
  };
  document->Populate(parse);
  if (!result.IsError()) {
    KeepLastOfEachName(document, &document->GetAllocator());
    return std::nullopt;
  }
  if (too_many) return JsonFault{result.Offset(), absl::StrCat("More than ", most_values, " values.")};
  return JsonFault{result.Offset(), WhatIsWrong(result.Code(), too_deep)};
}

}  // namespace

std::optional<JsonFault> ReadJson(absl::string_view text, JsonNumbers numbers, rapidjson::Document* document,
                                  size_t most_values) {
  return numbers == JsonNumbers::kAll ? Read<kFlags | rapidjson::kParseNanAndInfFlag>(text, document, most_values)
                                      : Read<kFlags>(text, document, most_values);
}

std::string JsonQuoted(absl::string_view text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace flightplan
