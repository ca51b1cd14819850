// A certificate authority of one test: keys and certificates as PEM text.
#pragma once

#include <memory>
#include <string>

namespace flightplan::service {

struct KeyAndCertificate {
  std::string key;
  std::string certificate;
};

class Authority {
 public:
  explicit Authority(const std::string& name);
  ~Authority();

  struct Wish {
    std::string common_name;
    std::string uri;            // a subject alternative name; empty: none
    bool for_localhost = true;  // names localhost and 127.0.0.1
    long seconds_from = -60;    // validity, from now
    long seconds_to = 3600;
  };
  KeyAndCertificate Issue(const Wish& wish) const;
  const std::string& certificate() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Writes the file in one step: readers see the old content or the new.
void ReplaceFile(const std::string& path, const std::string& content);

}  // namespace flightplan::service
