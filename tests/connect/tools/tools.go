//go:build tools

// Package tools names the conformance suite of the Connect protocol, so that go.sum holds the hashes of what it takes.
package tools

import _ "connectrpc.com/conformance/cmd/connectconformance"
