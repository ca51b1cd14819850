// All pages of a list, as one.
#pragma once

#include "absl/status/status.h"
#include "clients/cli/backend.h"

namespace flightplan::cli {

inline constexpr int kPageSize = 1000;

// `method` is a List... of Backend. The items of every page end up in *all, whose page token stays empty.
template <class Request, class Response>
absl::Status ListAll(Backend& backend, absl::Status (Backend::*method)(const Request&, Response*), Request request,
                     Response* all) {
  request.set_page_size(kPageSize);
  for (;;) {
    Response page;
    if (absl::Status status = (backend.*method)(request, &page); !status.ok()) return status;
    const std::string next = page.next_page_token();
    page.clear_next_page_token();
    all->MergeFrom(page);
    if (next.empty()) return absl::OkStatus();
    request.set_page_token(next);
  }
}

}  // namespace flightplan::cli
