// Asks for a plan and prints its arguments, one a line. usage: example [HOST:PORT]
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"google.golang.org/protobuf/proto"

	"flightplan"
	flightplanv1 "flightplan/v1"
)

func main() {
	log.SetFlags(0)
	address := "127.0.0.1:50051"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	client, err := flightplan.Dial(address)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	plan, err := client.Resolver.ResolveConfig(context.Background(), &flightplanv1.ResolveConfigRequest{
		Model:    &flightplanv1.ModelRef{Source: &flightplanv1.ModelRef_Name{Name: "qwen3-30b-a3b"}},
		Hardware: &flightplanv1.Hardware{Gpu: "h100-sxm", GpuCount: 16},
		Workload: &flightplanv1.Workload{SeqLength: 4096, GlobalBatchSize: 128},
		Target:   &flightplanv1.TargetStack{Framework: "megatron-lm"},
		Layout: &flightplanv1.Layout{
			TensorModelParallelSize:   proto.Int32(1),
			PipelineModelParallelSize: proto.Int32(1),
			ExpertModelParallelSize:   proto.Int32(8),
		},
	})
	if err != nil {
		for _, violation := range flightplan.FailureOf(err).Violations {
			log.Printf("%s: %s", violation.Field, violation.Description)
		}
		log.Fatal(err)
	}
	for _, finding := range plan.Findings {
		log.Printf("%s: %s", finding.RuleId, finding.Seen)
	}
	if plan.Outcome != flightplanv1.Outcome_OUTCOME_RESOLVED {
		os.Exit(1)
	}
	for _, argument := range flightplan.LaunchOf(plan, "").Argv {
		fmt.Println(argument)
	}
}
