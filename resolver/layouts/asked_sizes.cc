#include "resolver/layouts/asked_sizes.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace flightplan {
namespace {

using K = Knob;

// The search's name of a size; null: the knob is none of its sizes.
int32_t* SizeIn(LayoutSizes* sizes, const Assignment& assignment) {
  if (!assignment.env_var.empty()) return nullptr;
  const Knob knob = assignment.knob;
  if (knob == K::tensor_model_parallel_size) return &sizes->tp;
  if (knob == K::pipeline_model_parallel_size) return &sizes->pp;
  if (knob == K::virtual_pipeline_model_parallel_size) return &sizes->vpp;
  if (knob == K::context_parallel_size) return &sizes->cp;
  if (knob == K::expert_model_parallel_size) return &sizes->ep;
  return knob == K::expert_tensor_parallel_size ? &sizes->etp : nullptr;
}

}  // namespace

void AskedSizes::Add(const std::vector<Finding>& errors) {
  std::vector<Assignment> asked;
  for (const Finding& error : errors) {
    for (const Patch& fix : error.fixes) {
      if (fix.size() == 1) asked.push_back(fix.front());
    }
  }
  if (!asked_.has_value()) {
    asked_ = std::move(asked);
    return;
  }
  std::erase_if(*asked_, [&](const Assignment& one) {
    return std::none_of(asked.begin(), asked.end(), [&](const Assignment& other) {
      return other.knob == one.knob && other.env_var == one.env_var && other.value == one.value;
    });
  });
}

bool AskedSizes::GiveTo(LayoutSizes* wish) const {
  if (!asked_.has_value()) return false;
  for (const Assignment& one : *asked_) {
    int32_t* const size = SizeIn(wish, one);
    if (size == nullptr || *size != 0) continue;
    *size = one.value.is_int() ? static_cast<int32_t>(std::clamp<int64_t>(one.value.integer(), 1, INT32_MAX)) : 1;
    return true;
  }
  return false;
}

}  // namespace flightplan
