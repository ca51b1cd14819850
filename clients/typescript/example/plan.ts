// Asks for a plan and prints its arguments, one a line. usage: node dist/example/plan.js [HOST:PORT]
import * as flightplan from "../src";

async function main(): Promise<void> {
  const client = new flightplan.Client(process.argv[2] ?? "127.0.0.1:50051");
  try {
    const request = flightplan.ResolveConfigRequest.fromPartial({
      model: { source: { $case: "name", name: "qwen3-30b-a3b" } },
      hardware: { gpu: "h100-sxm", gpuCount: 16 },
      workload: { seqLength: 4096n, globalBatchSize: 128n },
      target: { framework: "megatron-lm" },
      layout: { tensorModelParallelSize: 1, pipelineModelParallelSize: 1, expertModelParallelSize: 8 },
    });
    const plan = await flightplan.call(client.resolver, client.resolver.resolveConfig, request);
    for (const finding of plan.findings) console.error(`${finding.ruleId}: ${finding.seen}`);
    if (plan.outcome !== flightplan.Outcome.OUTCOME_RESOLVED) process.exitCode = 1;
    for (const argument of flightplan.launchOf(plan)?.argv ?? []) console.log(argument);
  } finally {
    client.close();
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
