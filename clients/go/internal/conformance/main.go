// The conformance runner of the Go client. usage: conformance --cases FILE --server HOST:PORT
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"flightplan"
	"flightplan/internal/conformancepb"
	pb "flightplan/v1"
)

const (
	requestID  = "x-request-id"
	decisionID = "x-flightplan-decision-id"
)

// unary makes a call and keeps its answer, metadata and end.
func unary[Request, Answer any](ctx context.Context, f facts, test *conformancepb.Case,
	method func(context.Context, Request, ...grpc.CallOption) (Answer, error), request Request) {
	var header, trailer metadata.MD
	answer, err := method(ctx, request, grpc.Header(&header), grpc.Trailer(&trailer))
	if err == nil {
		f.addAnswer("", answer)
	}
	f.addStatus("", status.Convert(err))
	if _, sent := test.GetOptions().GetMetadata()[requestID]; sent {
		f.addEach("~header."+requestID, header.Get(requestID))
	}
	f.addEach("~trailer."+decisionID, trailer.Get(decisionID))
}

func plan(ctx context.Context, cancel func(), f facts, test *conformancepb.Case, client *flightplan.Client) {
	stream, err := client.Resolver.PlanLayouts(ctx, test.GetPlanLayouts())
	progress := 0
	for err == nil {
		var event *pb.PlanLayoutsResponse
		if event, err = stream.Recv(); err != nil {
			break
		}
		if result := event.GetResult(); result != nil {
			f.addAnswer("", result)
		} else {
			progress++
		}
		if test.GetOptions().GetCancelAfterFirst() {
			cancel()
		}
	}
	f.addInt("~progress", int64(progress))
	f.addEnd(err)
}

func batch(ctx context.Context, f facts, test *conformancepb.Case, client *flightplan.Client) {
	stream, err := client.Resolver.BatchResolve(ctx)
	for _, request := range test.GetBatchResolve().GetRequests() {
		if err == nil {
			err = stream.Send(request)
		}
	}
	if err == nil {
		err = stream.CloseSend()
	}
	answered := 0
	for err == nil {
		var answer *pb.BatchResolveResponse
		if answer, err = stream.Recv(); err == nil {
			answered++
			f.addAnswer("", answer)
		}
	}
	f.addInt("answered", int64(answered))
	f.addEnd(err)
}

// addEnd adds how a stream ended.
func (f facts) addEnd(err error) {
	if err == io.EOF {
		err = nil
	}
	f.addStatus("", status.Convert(err))
}

func call(test *conformancepb.Case, client *flightplan.Client) facts {
	options := test.GetOptions()
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(context.Background(), metadata.New(options.GetMetadata())))
	defer cancel()
	if options != nil && options.DeadlineMs != nil {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*options.DeadlineMs)*time.Millisecond)
		defer cancel()
	}
	f := facts{}
	switch request := test.Call.(type) {
	case *conformancepb.Case_ResolveConfig:
		if size := options.GetPaddingBytes(); size > 0 {
			request.ResolveConfig.Env = map[string]string{"PADDING": strings.Repeat("x", int(size))}
		}
		unary(ctx, f, test, client.Resolver.ResolveConfig, request.ResolveConfig)
	case *conformancepb.Case_ValidateConfig:
		unary(ctx, f, test, client.Resolver.ValidateConfig, request.ValidateConfig)
	case *conformancepb.Case_PlanLayouts:
		plan(ctx, cancel, f, test, client)
	case *conformancepb.Case_BatchResolve:
		batch(ctx, f, test, client)
	case *conformancepb.Case_ConvertConfig:
		unary(ctx, f, test, client.Resolver.ConvertConfig, request.ConvertConfig)
	case *conformancepb.Case_GetModel:
		unary(ctx, f, test, client.Catalog.GetModel, request.GetModel)
	case *conformancepb.Case_ListModels:
		unary(ctx, f, test, client.Catalog.ListModels, request.ListModels)
	case *conformancepb.Case_GetGpu:
		unary(ctx, f, test, client.Catalog.GetGpu, request.GetGpu)
	case *conformancepb.Case_ListGpus:
		unary(ctx, f, test, client.Catalog.ListGpus, request.ListGpus)
	case *conformancepb.Case_GetKnob:
		unary(ctx, f, test, client.Catalog.GetKnob, request.GetKnob)
	case *conformancepb.Case_ListKnobs:
		unary(ctx, f, test, client.Catalog.ListKnobs, request.ListKnobs)
	case *conformancepb.Case_GetRule:
		unary(ctx, f, test, client.Catalog.GetRule, request.GetRule)
	case *conformancepb.Case_ListRules:
		unary(ctx, f, test, client.Catalog.ListRules, request.ListRules)
	case *conformancepb.Case_ImportModel:
		unary(ctx, f, test, client.Catalog.ImportModel, request.ImportModel)
	case *conformancepb.Case_ReportMeasurement:
		unary(ctx, f, test, client.Evidence.ReportMeasurement, request.ReportMeasurement)
	case *conformancepb.Case_GetMeasurement:
		unary(ctx, f, test, client.Evidence.GetMeasurement, request.GetMeasurement)
	case *conformancepb.Case_ListMeasurements:
		unary(ctx, f, test, client.Evidence.ListMeasurements, request.ListMeasurements)
	case *conformancepb.Case_GetProfile:
		unary(ctx, f, test, client.Probe.GetProfile, request.GetProfile)
	case *conformancepb.Case_ListProfiles:
		unary(ctx, f, test, client.Probe.ListProfiles, request.ListProfiles)
	case *conformancepb.Case_ImportProfile:
		unary(ctx, f, test, client.Probe.ImportProfile, request.ImportProfile)
	}
	return f
}

func main() {
	log.SetFlags(0)
	path := flag.String("cases", "", "file of compile_cases.sh")
	server := flag.String("server", "", "HOST:PORT")
	flag.Parse()
	bytes, err := os.ReadFile(*path)
	set := &conformancepb.CaseSet{}
	if err == nil {
		err = proto.Unmarshal(bytes, set)
	}
	if err != nil {
		log.Fatal(err)
	}
	client, err := flightplan.Dial(*server)
	if err != nil {
		log.Fatal(err)
	}
	passed, failed := 0, 0
	for _, test := range set.Cases {
		f := call(test, client)
		var faults []string
		for _, check := range test.Want {
			if values := f[check.Fact]; !holds(check, values) {
				faults = append(faults, fmt.Sprintf("%v: got %q", check, values))
			}
		}
		if len(faults) > 0 {
			failed++
			fmt.Printf("FAILED %s: %s\n", test.Name, strings.Join(faults, "; "))
		} else {
			passed++
			fmt.Printf("ok %s %016x\n", test.Name, f.fingerprint())
		}
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}
