#include "service/testing/pki.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdio>
#include <fstream>

namespace flightplan::service {
namespace {

std::string PemOf(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

std::string PemOf(X509* certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

void Extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509* NewCertificate(const std::string& common_name, EVP_PKEY* key, long seconds_from, long seconds_to) {
  static std::atomic<long> serial{1};
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), seconds_from);
  X509_gmtime_adj(X509_getm_notAfter(certificate), seconds_to);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  return certificate;
}

}  // namespace

struct Authority::Parts {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = nullptr;
  std::string pem;
};

Authority::Authority(const std::string& name) : parts_(std::make_unique<Parts>()) {
  parts_->certificate = NewCertificate(name, parts_->key, -60, 86'400);
  X509_set_issuer_name(parts_->certificate, X509_get_subject_name(parts_->certificate));
  Extend(parts_->certificate, parts_->certificate, NID_basic_constraints, "critical,CA:TRUE");
  Extend(parts_->certificate, parts_->certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  X509_sign(parts_->certificate, parts_->key, EVP_sha256());
  parts_->pem = PemOf(parts_->certificate);
}

Authority::~Authority() {
  X509_free(parts_->certificate);
  EVP_PKEY_free(parts_->key);
}

const std::string& Authority::certificate() const { return parts_->pem; }

KeyAndCertificate Authority::Issue(const Wish& wish) const {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = NewCertificate(wish.common_name, key, wish.seconds_from, wish.seconds_to);
  X509_set_issuer_name(certificate, X509_get_subject_name(parts_->certificate));
  std::string names = wish.for_localhost ? "DNS:localhost,IP:127.0.0.1" : "";
  if (!wish.uri.empty()) names += (names.empty() ? "URI:" : ",URI:") + wish.uri;
  if (!names.empty()) Extend(certificate, parts_->certificate, NID_subject_alt_name, names);
  X509_sign(certificate, parts_->key, EVP_sha256());
  KeyAndCertificate pair = {PemOf(key), PemOf(certificate)};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return pair;
}

void ReplaceFile(const std::string& path, const std::string& content) {
  const std::string fresh = path + ".new";
  std::ofstream(fresh, std::ios::binary) << content;
  std::rename(fresh.c_str(), path.c_str());
}

}  // namespace flightplan::service
