#include "resolver/rules/rule.h"

#include "absl/strings/str_split.h"
#include "resolver/derive/pipeline.h"

namespace flightplan {

bool Facts::in(Knob k, std::initializer_list<absl::string_view> texts) const {
  for (absl::string_view text : texts) {
    if (is(k, text)) return true;
  }
  return false;
}

bool Facts::has(Knob k, absl::string_view item) const {
  for (const Value& v : value(k).list()) {
    if (v.is_text() && v.text() == item) return true;
  }
  return false;
}

absl::string_view Facts::var(absl::string_view name) const {
  auto it = FindVar(name);
  return it == env_.vars.end() ? absl::string_view() : absl::string_view(it->second);
}

const PipelineLayout* Facts::layout() const {
  const Value& text = value(Knob::pipeline_model_parallel_layout);
  if (text.is_none()) return nullptr;
  const int64_t size = num(Knob::pipeline_model_parallel_size);
  if (!layout_.has_value() || layout_->pipeline_size != size || layout_->text != text) {
    layout_ = ReadLayout{text, size, ParsePipelineLayout(text, size)};
  }
  return &layout_->layout;
}

std::optional<int64_t> Facts::layout_stages() const {
  if (!value(Knob::pipeline_model_parallel_layout).is_text()) return LayoutStages("");
  const PipelineLayout& read = *layout();
  using Fault = PipelineLayout::Fault;
  if (read.fault != Fault::kNone && read.fault != Fault::kStagesNotDivisible) return std::nullopt;
  return static_cast<int64_t>(read.stages.size());
}

void Editor::Set(Knob knob, Value value) {
  const Value& old = facts_.value(knob);
  // A change that only repeats the value still makes it upstream's own, but is no news.
  const bool same = old == value && old.is_bool() == value.is_bool();
  if (same) return;
  if (trace_ != nullptr)
    trace_->push_back({rule_->id, knob, "", old, value, config_->origin(knob) == Origin::kCaller, rule_->source});
  config_->Set(knob, std::move(value), Origin::kUpstream);
  writes_.knobs.push_back(knob);
}

void Editor::Fill(Knob knob, Value value) {
  if (facts_.origin(knob) == Origin::kDefault && Value::Identical(facts_.value(knob), value)) return;
  config_->Set(knob, std::move(value), Origin::kDefault);
  writes_.knobs.push_back(knob);
}

void Editor::SetVar(absl::string_view name, absl::string_view value) {
  writes_.vars.emplace_back(name);  // also where it only comes to be there, empty
  std::string& slot = env_->vars[std::string(name)];
  if (slot == value) return;
  if (trace_ != nullptr)
    trace_->push_back({rule_->id, Knob{}, std::string(name), Value(slot), Value(value), !slot.empty(), rule_->source});
  slot = std::string(value);
}

Value Literal::ToValue() const {
  switch (kind) {
    case kNone:
      return Value();
    case kBool:
      return Value(b);
    case kInt:
      return Value(i);
    case kText:
      return Value(s);
    case kTextList: {
      Value::List items;
      for (absl::string_view item : absl::StrSplit(s, ',', absl::SkipEmpty())) items.emplace_back(item);
      return Value(std::move(items));
    }
  }
  return Value();
}

}  // namespace flightplan
