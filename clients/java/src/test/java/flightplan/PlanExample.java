package flightplan;

import flightplan.v1.Hardware;
import flightplan.v1.Layout;
import flightplan.v1.ModelRef;
import flightplan.v1.Outcome;
import flightplan.v1.ResolveConfigRequest;
import flightplan.v1.TargetStack;
import flightplan.v1.Workload;
import io.grpc.StatusRuntimeException;

/** Asks for a plan and prints its arguments, one a line. Arguments: HOST:PORT. */
public final class PlanExample {
  public static void main(String[] args) {
    var request =
        ResolveConfigRequest.newBuilder()
            .setModel(ModelRef.newBuilder().setName("qwen3-30b-a3b"))
            .setHardware(Hardware.newBuilder().setGpu("h100-sxm").setGpuCount(16))
            .setWorkload(Workload.newBuilder().setSeqLength(4096).setGlobalBatchSize(128))
            .setTarget(TargetStack.newBuilder().setFramework("megatron-lm"))
            .setLayout(
                Layout.newBuilder()
                    .setTensorModelParallelSize(1)
                    .setPipelineModelParallelSize(1)
                    .setExpertModelParallelSize(8))
            .build();
    try (var client = new Client(args.length > 0 ? args[0] : "127.0.0.1:50051")) {
      var plan = client.resolver().resolveConfig(request);
      plan.getFindingsList().forEach(found -> System.err.println(found.getRuleId() + ": " + found.getSeen()));
      if (plan.getOutcome() != Outcome.OUTCOME_RESOLVED) System.exit(1);
      Client.launchOf(plan, "").orElseThrow().getArgvList().forEach(System.out::println);
    } catch (StatusRuntimeException error) {
      Failure.of(error).violations().forEach(v -> System.err.println(v.getField() + ": " + v.getDescription()));
      System.err.println(error.getMessage());
      System.exit(1);
    }
  }
}
