// Numbers, texts and lists of messages at their extremes, and requests to set them in: for checks in process and over
// the network.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "resolver/catalog/catalog.h"

namespace flightplan::properties {

absl::Span<const double> Reals();
absl::Span<const int64_t> Integers();

// The way to one number: fields from the outermost message inwards; of repeated fields and maps the first entry.
using Way = std::vector<const google::protobuf::FieldDescriptor*>;

// Singular numbers of singular messages; and of the first entries that `message` has already.
std::vector<Way> NumbersOf(const google::protobuf::Message& message);

// Texts, lists and maps, of the same messages.
std::vector<Way> ListsOf(const google::protobuf::Message& message);
// Makes one as long as a request can be: `choice` counts the ways to do that (kLongWays of them), some the same.
inline constexpr size_t kLongWays = 3;
void SetLong(const Way& way, size_t choice, google::protobuf::Message* message);

// `choice` counts through the extremes of the field's type.
void SetExtreme(const Way& way, size_t choice, google::protobuf::Message* message);
void SetExtreme(const google::protobuf::FieldDescriptor& field, size_t choice, google::protobuf::Message* message);
std::string Named(const Way& way, size_t choice);

// The first figure of an answer that is no number: its name; empty: none. Messages of the type `echoed` are not looked
// at.
std::string NotANumber(const google::protobuf::Message& message, const google::protobuf::Descriptor* echoed = nullptr);

// The first id of an answer (rule_id of a finding, a decision, a change ...) that nothing explains; empty: none.
std::string UnexplainedId(const google::protobuf::Message& message);

// A message that is answered as it is.
struct Sample {
  std::string name;
  std::unique_ptr<google::protobuf::Message> message;
};
// Of resolve, validate, a measurement, a profile, a search.
std::vector<Sample> Samples(const Catalog& catalog);

}  // namespace flightplan::properties
