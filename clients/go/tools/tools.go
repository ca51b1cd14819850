//go:build tools

// Package tools names the protoc plugins that clients/generate.sh uses, so that go.sum holds their hashes.
package tools

import (
	_ "google.golang.org/grpc/cmd/protoc-gen-go-grpc"
	_ "google.golang.org/protobuf/cmd/protoc-gen-go"
)
