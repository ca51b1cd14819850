// Rows of JSON lines: what a field says, or what it is where the row does not state it.
#pragma once

#include <string>
#include <vector>

#include "rapidjson/document.h"

namespace flightplan {

using Json = rapidjson::Value;

// Null: not stated, or null.
inline const Json* JsonField(const Json& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  auto it = object.FindMember(name);
  return it == object.MemberEnd() || it->value.IsNull() ? nullptr : &it->value;
}

inline std::string JsonText(const Json& object, const char* name) {
  const Json* field = JsonField(object, name);
  return field != nullptr && field->IsString() ? field->GetString() : "";
}

inline double JsonNumber(const Json& object, const char* name, double otherwise = 0) {
  const Json* field = JsonField(object, name);
  return field != nullptr && field->IsNumber() ? field->GetDouble() : otherwise;
}

inline bool JsonFlag(const Json& object, const char* name, bool otherwise = false) {
  const Json* field = JsonField(object, name);
  return field != nullptr && field->IsBool() ? field->GetBool() : otherwise;
}

inline std::vector<std::string> JsonStrings(const Json& list) {
  std::vector<std::string> out;
  if (!list.IsArray()) return out;
  for (const Json& item : list.GetArray()) {
    if (item.IsString()) out.emplace_back(item.GetString());
  }
  return out;
}

}  // namespace flightplan
