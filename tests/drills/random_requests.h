// Requests of every rpc, drawn by number: samples with numbers at their extremes, fields that come and go, and bytes
// that are no longer a message.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "resolver/catalog/catalog.h"
#include "tests/properties/extremes.h"

namespace flightplan::drills {

using Random = std::mt19937_64;

// Texts that mean something: in any field under "", in one field under its name.
using Words = std::map<std::string, std::vector<std::string>, std::less<>>;

struct RandomCall {
  const google::protobuf::MethodDescriptor* method;
  std::vector<std::string> messages;  // as sent; one, but for a stream of requests
  std::string text;                   // the same to read, before bytes were changed
  bool damaged = false;               // bytes were changed
};

class RandomRequests {
 public:
  // Ends the process if an rpc has no share: a new one wants a row.
  explicit RandomRequests(const Catalog& catalog, uint64_t seed);
  // The same for the same seed and number, whatever was drawn before. May be called from many threads.
  RandomCall At(int64_t number) const;

 private:
  struct Sample {
    std::unique_ptr<google::protobuf::Message> message;
    std::vector<properties::Way> numbers;
  };
  struct Kind {
    const google::protobuf::MethodDescriptor* method;
    int share;
    std::vector<Sample> samples;
  };
  void Add(const char* method, int share, std::vector<std::unique_ptr<google::protobuf::Message>> samples);
  const Kind& Draw(Random* random) const;

  std::vector<Kind> kinds_;
  int shares_ = 0;
  Words words_;
  const uint64_t seed_;
};

// Changes, adds or removes a few bytes, anywhere.
void Damage(Random* random, std::string* bytes);

}  // namespace flightplan::drills
