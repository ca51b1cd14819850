//! Asks for a plan and prints its arguments, one a line. usage: plan [HOST:PORT]
use flightplan::{call, v1, Client, Failure, TIMEOUT};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:50051".into());
    let client = Client::new(&address)?;
    let question = v1::ResolveConfigRequest {
        model: Some(v1::ModelRef { source: Some(v1::model_ref::Source::Name("qwen3-30b-a3b".into())) }),
        hardware: Some(v1::Hardware { gpu: "h100-sxm".into(), gpu_count: 16, ..Default::default() }),
        workload: Some(v1::Workload { seq_length: 4096, global_batch_size: 128, ..Default::default() }),
        target: Some(v1::TargetStack { framework: "megatron-lm".into(), ..Default::default() }),
        layout: Some(v1::Layout {
            tensor_model_parallel_size: Some(1),
            pipeline_model_parallel_size: Some(1),
            expert_model_parallel_size: Some(8),
            ..Default::default()
        }),
        ..Default::default()
    };
    let answer = call(TIMEOUT, || {
        let (mut stub, question) = (client.resolver.clone(), question.clone());
        async move { stub.resolve_config(question).await }
    })
    .await;
    let plan = match answer {
        Ok(plan) => plan.into_inner(),
        Err(status) => {
            for violation in Failure::of(&status).violations {
                eprintln!("{}: {}", violation.field, violation.description);
            }
            return Err(status.into());
        }
    };
    for finding in &plan.findings {
        eprintln!("{}: {}", finding.rule_id, finding.seen);
    }
    match plan.launch("") {
        Some(launch) if plan.outcome() == v1::Outcome::Resolved => {
            launch.argv.iter().for_each(|word| println!("{word}"))
        }
        _ => return Err("no plan".into()),
    }
    Ok(())
}
