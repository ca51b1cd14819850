#include "service/net/tls.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "resolver/base/status_macros.h"
#include "service/local/input_file.h"

namespace flightplan::service {
namespace {

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* value) const {
    kFree(value);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using AlternativeNames = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

absl::Status Wrong(const std::string& path, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(path, ": ", what));
}

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  constexpr size_t kMaxPemBytes = size_t{1} << 20;
  absl::StatusOr<std::string> text = ReadWholeFile(path, kMaxPemBytes);
  return text.ok() ? std::move(text) : absl::FailedPreconditionError(text.status().message());
}

absl::StatusOr<std::vector<Certificate>> ReadCertificates(const std::string& path) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string pem, ReadPem(path));
  const Bio file(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<Certificate> chain;
  while (X509* certificate = PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr)) chain.emplace_back(certificate);
  if (chain.empty()) return Wrong(path, "holds no PEM certificate");
  return chain;
}

absl::Time EndOf(const Certificate& certificate) {
  std::tm end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) return absl::InfinitePast();
  return absl::FromTM(end, absl::UTCTimeZone());
}

absl::Time EarliestEnd(const std::vector<Certificate>& chain) {
  absl::Time earliest = absl::InfiniteFuture();
  for (const Certificate& certificate : chain) earliest = std::min(earliest, EndOf(certificate));
  return earliest;
}

absl::Status CheckEnd(const std::string& path, const std::vector<Certificate>& chain, absl::Time now) {
  const absl::Time end = EarliestEnd(chain);
  if (end > now) return absl::OkStatus();
  return Wrong(path, absl::StrCat("expired at ", absl::FormatTime(absl::RFC3339_sec, end, absl::UTCTimeZone())));
}

}  // namespace

absl::StatusOr<absl::Time> CertificateExpiry(const std::string& path) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<Certificate> chain, ReadCertificates(path));
  return EarliestEnd(chain);
}

absl::Status CheckTlsFiles(const TlsFiles& files, absl::Time now) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<Certificate> chain, ReadCertificates(files.certificate));
  FLIGHTPLAN_RETURN_IF_ERROR(CheckEnd(files.certificate, chain, now));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string pem, ReadPem(files.key));
  const Bio file(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // The empty passphrase instead of OpenSSL's question on the terminal.
  const Key key(PEM_read_bio_PrivateKey(file.get(), nullptr, nullptr, const_cast<char*>("")));
  if (key == nullptr) return Wrong(files.key, "holds no PEM private key without a passphrase");
  if (X509_check_private_key(chain.front().get(), key.get()) != 1) {
    return Wrong(files.key, absl::StrCat("is not the key of the first certificate in ", files.certificate));
  }
  if (files.client_ca.empty()) return absl::OkStatus();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<Certificate> roots, ReadCertificates(files.client_ca));
  return CheckEnd(files.client_ca, roots, now);
}

CertificateNames NamesIn(absl::string_view der) {
  CertificateNames names;
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const Certificate certificate(d2i_X509(nullptr, &bytes, static_cast<long>(der.size())));
  if (certificate == nullptr) return names;
  const auto text = [](const ASN1_STRING* value) {
    return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)), ASN1_STRING_length(value));
  };
  const AlternativeNames others(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(others.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(others.get(), i);
    if (name->type == GEN_URI) names.uris.push_back(text(name->d.uniformResourceIdentifier));
  }
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;) {
    names.common.push_back(text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  }
  return names;
}

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const TlsFiles& files) {
  auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key, files.certificate, files.client_ca, kCertificateRefreshSeconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (files.client_ca.empty()) {
    options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  } else {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace flightplan::service
