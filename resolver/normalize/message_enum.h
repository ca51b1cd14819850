// Enums of messages as those of values.
#pragma once

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// Reads a message enum through a table of the values it may have; anything else is a violation.
template <typename Message, typename Plain, size_t N>
Plain ReadEnum(Message value, const std::pair<Message, Plain> (&table)[N], Plain otherwise, absl::string_view field,
               Violations* violations) {
  for (const auto& [message, plain] : table) {
    if (value == message) return plain;
  }
  violations->Add(field, absl::StrCat("has no value ", static_cast<int>(value)));
  return otherwise;
}

inline constexpr std::pair<v1::AnswerView, View> kViews[] = {{v1::ANSWER_VIEW_UNSPECIFIED, View::kFull},
                                                             {v1::ANSWER_VIEW_VERDICT, View::kVerdict},
                                                             {v1::ANSWER_VIEW_BASIC, View::kBasic},
                                                             {v1::ANSWER_VIEW_FULL, View::kFull}};

}  // namespace flightplan
