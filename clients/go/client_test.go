package flightplan

import (
	"context"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
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
