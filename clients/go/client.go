// Package flightplan is the Go client of Flightplan: the generated stubs (flightplan/v1) on a connection with the
// retries and time-outs that all clients share, and errors as values.
package flightplan

import (
	_ "embed"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	flightplanv1 "flightplan/v1"
)

//go:embed service_config.json
var serviceConfig string

// Client has a stub for each service. It is safe for concurrent use.
type Client struct {
	Resolver flightplanv1.ResolverServiceClient
	Catalog  flightplanv1.CatalogServiceClient
	Evidence flightplanv1.EvidenceServiceClient
	Probe    flightplanv1.ProbeServiceClient
	Timeline flightplanv1.TimelineServiceClient
	Fleet    flightplanv1.FleetServiceClient

	connection *grpc.ClientConn
}

// Dial makes a client of the server at address, HOST:PORT or unix:PATH. It does not wait for the connection. Without
// options the connection is plain text, which a server takes on loopback and unix sockets; options that come with
// grpc.WithTransportCredentials replace that. In plain text a call with a token (metadata "authorization") to another
// machine ends with codes.Unauthenticated before anything is sent, unless FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN is 1.
func Dial(address string, options ...grpc.DialOption) (*Client, error) {
	options = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithPerRPCCredentials(tokenGuard{address}),
	}, options...)
	connection, err := grpc.Dial(address, options...)
	if err != nil {
		return nil, fmt.Errorf("flightplan: %w", err)
	}
	return &Client{
		Resolver:   flightplanv1.NewResolverServiceClient(connection),
		Catalog:    flightplanv1.NewCatalogServiceClient(connection),
		Evidence:   flightplanv1.NewEvidenceServiceClient(connection),
		Probe:      flightplanv1.NewProbeServiceClient(connection),
		Timeline:   flightplanv1.NewTimelineServiceClient(connection),
		Fleet:      flightplanv1.NewFleetServiceClient(connection),
		connection: connection,
	}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.connection.Close() }

// Failure is what a program may turn on when a call failed.
type Failure struct {
	Code codes.Code
	// Reason is ErrorInfo's: "REQUEST_INVALID", "OVERLOADED"; empty where the answer is not the server's own.
	Reason string
	// Violations names every field of the request that is wrong.
	Violations []*errdetails.BadRequest_FieldViolation
	// RetryInfo says after which delay it is worth trying again; nil: the server did not say so.
	RetryInfo *errdetails.RetryInfo
}

// FailureOf reads the error of a call. A nil error gives codes.OK.
func FailureOf(err error) Failure {
	state := status.Convert(err)
	failure := Failure{Code: state.Code()}
	for _, detail := range state.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			failure.Reason = detail.Reason
		case *errdetails.BadRequest:
			failure.Violations = detail.FieldViolations
		case *errdetails.RetryInfo:
			failure.RetryInfo = detail
		}
	}
	return failure
}

// LaunchOf is the launch of a plan in a dialect ("megatron-bridge"); empty: the target's own. Nil: the plan has none, as
// it was not asked for.
func LaunchOf(plan *flightplanv1.ResolveConfigResponse, dialect string) *flightplanv1.Launch {
	for _, launch := range plan.GetLaunches() {
		if dialect == "" || launch.GetDialect() == dialect {
			return launch
		}
	}
	return nil
}
