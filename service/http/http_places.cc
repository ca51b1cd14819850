#include "service/http/http_places.h"

#include <algorithm>
#include <utility>

namespace flightplan::service {

HttpPlaces::HttpPlaces(size_t max_connections, size_t max_bodies_bytes, std::function<void()> displaced)
    : max_connections_(max_connections), max_bodies_bytes_(max_bodies_bytes), displaced_(std::move(displaced)) {}

template <class Wanted>
bool HttpPlaces::EndLongestWaiting(const Wanted& wanted) {
  auto longest = places_.end();
  for (auto place = places_.begin(); place != places_.end(); ++place) {
    if (place->ended || !place->since.has_value() || !wanted(*place)) continue;
    if (longest == places_.end() || *place->since < *longest->since) longest = place;
  }
  if (longest == places_.end()) return false;
  longest->ended = true;
  FreeBody(longest);
  longest->end();
  return true;
}

bool HttpPlaces::MakeRoomFor(const boost::asio::ip::address& address) {
  const auto anyone = [](const Place& place) { return !place.ended; };
  const auto same = [&](const Place& place) { return !place.ended && place.address == address; };
  const auto count = [&](const auto& whom) {
    return static_cast<size_t>(std::count_if(places_.begin(), places_.end(), whom));
  };
  const bool of_one = count(same) >= std::max<size_t>(1, max_connections_ / 2);
  if (!of_one && count(anyone) < max_connections_) return true;
  if (!(of_one ? EndLongestWaiting(same) : EndLongestWaiting(anyone))) return false;
  displaced_();
  return true;
}

HttpPlaces::Iterator HttpPlaces::Add(const boost::asio::ip::address& address) {
  return places_.insert(places_.end(), Place{address, std::nullopt, 0, [] {}, false});
}

void HttpPlaces::Remove(Iterator place) {
  FreeBody(place);
  places_.erase(place);
}

bool HttpPlaces::ReserveBody(Iterator place, size_t bytes) {
  while (bodies_bytes_ + bytes > max_bodies_bytes_) {
    if (!EndLongestWaiting([](const Place& other) { return other.body_bytes > 0; })) return false;
    displaced_();
  }
  place->body_bytes = bytes;
  bodies_bytes_ += bytes;
  return true;
}

void HttpPlaces::FreeBody(Iterator place) {
  bodies_bytes_ -= place->body_bytes;
  place->body_bytes = 0;
}

void HttpPlaces::EndAllWaiting() {
  while (EndLongestWaiting([](const Place&) { return true; })) {
  }
}

}  // namespace flightplan::service
