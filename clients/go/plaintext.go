package flightplan

import (
	"context"
	"os"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// AllowPlaintextToken is the environment variable that, set to 1, lets a token go to another machine in plain text.
const AllowPlaintextToken = "FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN"

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") || host == "::1" {
		return true
	}
	parts := strings.Split(host, ".")
	for _, part := range parts {
		if _, err := strconv.ParseUint(part, 10, 8); err != nil || len(part) > 3 {
			return false
		}
	}
	return len(parts) == 4 && parts[0] == "127"
}

// hostOf is the host of HOST or HOST:PORT; empty: it is neither.
func hostOf(part string) string {
	host, rest := part, ""
	if strings.HasPrefix(part, "[") {
		end := strings.IndexByte(part, ']')
		if end < 0 {
			return ""
		}
		host, rest = part[1:end], part[end+1:]
	} else if strings.Count(part, ":") == 1 { // more: IPv6 without a port
		colon := strings.IndexByte(part, ':')
		host, rest = part[:colon], part[colon:]
	}
	if rest == "" {
		return host
	}
	if _, err := strconv.ParseUint(rest[1:], 10, 32); err != nil || rest[0] != ':' {
		return ""
	}
	return host
}

// isLocal: a unix socket, a loopback address or localhost, in the forms that gRPC takes.
func isLocal(address string) bool {
	if strings.HasPrefix(address, "unix:") || strings.HasPrefix(address, "unix-abstract:") {
		return true
	}
	rest := address
	for _, scheme := range []string{"dns:", "ipv4:", "ipv6:", "passthrough:"} {
		if strings.HasPrefix(address, scheme) {
			rest = strings.TrimPrefix(address, scheme)
		}
	}
	for _, part := range strings.Split(strings.TrimPrefix(rest, "///"), ",") {
		if !isLoopback(hostOf(part)) {
			return false
		}
	}
	return true
}

// tokenGuard fails a call that carries a token (metadata "authorization") over a connection in plain text to another
// machine. gRPC asks it on the connection that the call is about to use, before its headers are sent, so that it knows
// what the dial options were about.
type tokenGuard struct{ address string }

func (g tokenGuard) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	outgoing, _ := metadata.FromOutgoingContext(ctx)
	if len(outgoing.Get("authorization")) == 0 || isLocal(g.address) || os.Getenv(AllowPlaintextToken) == "1" {
		return nil, nil
	}
	info, _ := credentials.RequestInfoFromContext(ctx)
	if info.AuthInfo != nil && credentials.CheckSecurityLevel(info.AuthInfo, credentials.PrivacyAndIntegrity) == nil {
		return nil, nil
	}
	return nil, status.Errorf(codes.Unauthenticated,
		"a token is not sent to %s in plain text: use grpc.WithTransportCredentials, or set %s=1", g.address, AllowPlaintextToken)
}

// RequireTransportSecurity would refuse every connection in plain text, with a token or without.
func (tokenGuard) RequireTransportSecurity() bool { return false }
