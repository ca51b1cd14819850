#include "resolver/rules/core/lists_util.h"

#include <algorithm>

namespace flightplan {
namespace {

template <typename Names>
bool Contains(const Names& names, const Value& item) {
  return item.is_text() && std::find(names.begin(), names.end(), item.text()) != names.end();
}

}  // namespace

bool HasAny(const Facts& f, Knob list, std::initializer_list<absl::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](absl::string_view name) { return f.has(list, name); });
}

bool HasOther(const Facts& f, Knob list, absl::Span<const absl::string_view> names) {
  const Value::List& items = f.value(list).list();
  return std::any_of(items.begin(), items.end(), [&](const Value& item) { return !Contains(names, item); });
}

bool ListHasNumber(const Value& list, int64_t number) {
  return std::any_of(list.list().begin(), list.list().end(), [&](const Value& v) { return v.integer() == number; });
}

Value Without(const Value& list, std::initializer_list<absl::string_view> names) {
  Value::List kept;
  for (const Value& item : list.list()) {
    if (!Contains(names, item)) kept.push_back(item);
  }
  return Value(std::move(kept));
}

Value With(const Value& list, absl::string_view name) {
  Value::List items = list.list();
  items.emplace_back(name);
  return Value(std::move(items));
}

Value Only(const Value& list, absl::Span<const absl::string_view> names) {
  Value::List kept;
  for (const Value& item : list.list()) {
    if (Contains(names, item)) kept.push_back(item);
  }
  return Value(std::move(kept));
}

}  // namespace flightplan
