package flightplan

import (
	"context"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	flightplanv1 "flightplan/v1"
)

func TestServiceConfigIsTheSharedOne(t *testing.T) {
	shared, err := os.ReadFile("../service_config.json")
	if err != nil {
		t.Skip("not in the source tree")
	}
	if string(shared) != serviceConfig {
		t.Error("clients/go/service_config.json is not clients/service_config.json")
	}
}

// failing fails a number of times, then answers.
type failing struct {
	flightplanv1.UnimplementedResolverServiceServer
	failures int32
	calls    int32
	failure  *status.Status
}

func (f *failing) ResolveConfig(context.Context, *flightplanv1.ResolveConfigRequest) (*flightplanv1.ResolveConfigResponse, error) {
	if atomic.AddInt32(&f.calls, 1) <= f.failures {
		return nil, f.failure.Err()
	}
	return &flightplanv1.ResolveConfigResponse{Digest: "fp1-here"}, nil
}

func serve(t *testing.T, service *failing) *Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	flightplanv1.RegisterResolverServiceServer(server, service)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	client, err := Dial(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestUnavailableIsTriedOnceMore(t *testing.T) {
	service := &failing{failures: 1, failure: status.New(codes.Unavailable, "not now")}
	plan, err := serve(t, service).Resolver.ResolveConfig(context.Background(), &flightplanv1.ResolveConfigRequest{})
	if err != nil || plan.Digest != "fp1-here" || service.calls != 2 {
		t.Errorf("got %v, %v after %d calls", plan, err, service.calls)
	}
}

func TestOtherCodesAreNotTriedAgain(t *testing.T) {
	refused, err := status.New(codes.ResourceExhausted, "busy").WithDetails(
		&errdetails.ErrorInfo{Reason: "OVERLOADED", Domain: "flightplan"}, &errdetails.RetryInfo{})
	if err != nil {
		t.Fatal(err)
	}
	service := &failing{failures: 99, failure: refused}
	_, err = serve(t, service).Resolver.ResolveConfig(context.Background(), &flightplanv1.ResolveConfigRequest{})
	failure := FailureOf(err)
	if service.calls != 1 || failure.Code != codes.ResourceExhausted || failure.Reason != "OVERLOADED" || failure.RetryInfo == nil {
		t.Errorf("got %+v after %d calls", failure, service.calls)
	}
}

func TestLaunchOf(t *testing.T) {
	plan := &flightplanv1.ResolveConfigResponse{Launches: []*flightplanv1.Launch{{Dialect: "megatron-lm"}, {Dialect: "yaml"}}}
	if LaunchOf(plan, "").GetDialect() != "megatron-lm" || LaunchOf(plan, "yaml") == nil || LaunchOf(plan, "loongforge") != nil {
		t.Error("wrong launch")
	}
}

func TestLocalAddresses(t *testing.T) {
	table, err := os.ReadFile("../local_addresses.tsv")
	if err != nil {
		t.Skip("not in the source tree")
	}
	rows := 0
	for _, line := range strings.Split(strings.TrimSuffix(string(table), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.SplitN(line, "\t", 2)
		if isLocal(row[1]) != (row[0] == "yes") {
			t.Errorf("isLocal(%q) is not %q", row[1], row[0])
		}
		rows++
	}
	if rows < 30 {
		t.Errorf("the table has %d rows", rows)
	}
}

// elsewhere dials the test server under a name that is another machine's.
func elsewhere(t *testing.T, service *failing, server *grpc.Server, options ...grpc.DialOption) *Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	flightplanv1.RegisterResolverServiceServer(server, service)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	client, err := Dial("passthrough:///example.com:443", append(options, grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
		}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestATokenIsNotSentToAnotherMachineInPlainText(t *testing.T) {
	service := &failing{}
	client := elsewhere(t, service, grpc.NewServer())
	ask := func(token bool) error {
		ctx := context.Background()
		if token {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer s3cret")
		}
		_, err := client.Resolver.ResolveConfig(ctx, &flightplanv1.ResolveConfigRequest{})
		return err
	}
	err := ask(true)
	if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), AllowPlaintextToken) || service.calls != 0 {
		t.Errorf("got %v after %d calls", err, service.calls)
	}
	if err := ask(false); err != nil {
		t.Errorf("without a token: %v", err)
	}
	t.Setenv(AllowPlaintextToken, "1")
	if err := ask(true); err != nil {
		t.Errorf("where it is allowed: %v", err)
	}
}

func TestATokenIsSentByTls(t *testing.T) {
	web := httptest.NewTLSServer(nil) // its certificate is one for example.com
	defer web.Close()
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	client := elsewhere(t, &failing{}, grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&web.TLS.Certificates[0]))),
		grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(roots, "")))
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer s3cret")
	if _, err := client.Resolver.ResolveConfig(ctx, &flightplanv1.ResolveConfigRequest{}); err != nil {
		t.Error(err)
	}
}

func TestATokenIsSentToThisMachine(t *testing.T) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer s3cret")
	if _, err := serve(t, &failing{}).Resolver.ResolveConfig(ctx, &flightplanv1.ResolveConfigRequest{}); err != nil {
		t.Error(err)
	}
}
