// Counts the connections of an HTTP server, in total and for each address, and the bytes of their bodies together. When
// none is free, the connection that has kept the server waiting the longest is closed. Used by one thread, so without
// locks.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>

namespace flightplan::service {

class HttpPlaces {
 public:
  struct Place {
    boost::asio::ip::address address;
    // Since when it waits for the caller, and may be lost; nothing: an answer is being made.
    std::optional<std::chrono::steady_clock::time_point> since;
    size_t body_bytes = 0;
    std::function<void()> end;  // lets whatever the connection waits for fail
    bool ended = false;         // it has yet to
  };
  using Iterator = std::list<Place>::iterator;

  // `displaced` is called for each connection that is ended to make room.
  HttpPlaces(size_t max_connections, size_t max_bodies_bytes, std::function<void()> displaced);

  // For one more connection of `address`; half of all may be of one. False: every place is being answered.
  bool MakeRoomFor(const boost::asio::ip::address& address);
  Iterator Add(const boost::asio::ip::address& address);
  void Remove(Iterator place);

  // For a body of `bytes`. False: there is no such room.
  bool ReserveBody(Iterator place, size_t bytes);
  void FreeBody(Iterator place);

  // Ends every connection that waits for its caller.
  void EndAllWaiting();

 private:
  template <class Wanted>
  bool EndLongestWaiting(const Wanted& wanted);

  const size_t max_connections_;
  const size_t max_bodies_bytes_;
  const std::function<void()> displaced_;
  std::list<Place> places_;
  size_t bodies_bytes_ = 0;
};

}  // namespace flightplan::service
