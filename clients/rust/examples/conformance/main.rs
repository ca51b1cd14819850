//! The conformance runner. usage: conformance --cases FILE --server HOST:PORT
mod answers;
mod facts;
#[allow(clippy::all)]
mod cases {
    include!("generated/flightplan.conformance.rs");
}

use std::time::Duration;

use answers::{add_failure, Answer};
use cases::{case::Call, Case, CaseSet};
use facts::{holds, Facts};
use flightplan::{call, v1, Client, Failure, STREAM_TIMEOUT, TIMEOUT};
use prost::Message;
use tonic::metadata::{MetadataKey, MetadataMap};
use tonic::{Request, Response, Status};

const REQUEST_ID: &str = "x-request-id";
const DECISION_ID: &str = "x-flightplan-decision-id";

fn timeout(test: &Case, usual: Duration) -> Duration {
    let milliseconds = test.options.as_ref().and_then(|options| options.deadline_ms);
    milliseconds.map_or(usual, |some| Duration::from_millis(u64::try_from(some).unwrap_or(0)))
}

fn request<T>(test: &Case, message: T) -> Request<T> {
    let mut request = Request::new(message);
    for (name, value) in test.options.iter().flat_map(|options| &options.metadata) {
        let name = MetadataKey::from_bytes(name.as_bytes()).expect("a metadata name");
        request.metadata_mut().insert(name, value.parse().expect("a metadata value"));
    }
    request
}

fn add_metadata(test: &Case, metadata: &MetadataMap, facts: &mut Facts) {
    let text = |name: &str| metadata.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    if test.options.as_ref().map_or(false, |options| options.metadata.contains_key(REQUEST_ID)) {
        facts.add_each("~header.x-request-id", text(REQUEST_ID));
    }
    facts.add_each("~trailer.x-flightplan-decision-id", text(DECISION_ID));
}

fn add_end<T: Answer>(test: &Case, end: Result<Response<T>, Status>, facts: &mut Facts) {
    match end {
        Ok(response) => {
            add_metadata(test, response.metadata(), facts);
            response.into_inner().add_to("", facts);
            add_failure("", 0, &Failure::default(), facts);
        }
        Err(status) => {
            add_metadata(test, status.metadata(), facts);
            add_failure("", status.code() as i32, &Failure::of(&status), facts);
        }
    }
}

/// A unary call by its stub and method, with retries.
macro_rules! unary {
    ($test:expr, $facts:expr, $stub:expr, $method:ident, $message:expr) => {{
        let end = call(timeout($test, TIMEOUT), || {
            let (mut stub, request) = ($stub.clone(), request($test, $message.clone()));
            async move { stub.$method(request).await }
        })
        .await;
        add_end($test, end, $facts)
    }};
}

async fn plan(test: &Case, client: &Client, message: &v1::PlanLayoutsRequest, facts: &mut Facts) -> Result<(), Status> {
    let mut stream = client.resolver.clone().plan_layouts(request(test, message.clone())).await?.into_inner();
    let mut progress = 0;
    while let Some(event) = stream.message().await? {
        match event.event {
            Some(v1::plan_layouts_response::Event::Result(result)) => result.add_to("", facts),
            _ => progress += 1,
        }
        if test.options.as_ref().map_or(false, |options| options.cancel_after_first) {
            return Err(Status::cancelled("dropping the stream cancels it"));
        }
    }
    facts.add("~progress", progress);
    Ok(())
}

async fn batch(test: &Case, client: &Client, batch: &cases::Batch, facts: &mut Facts) -> Result<(), Status> {
    let requests = tokio_stream::iter(batch.requests.clone());
    let mut stream = client.resolver.clone().batch_resolve(request(test, requests)).await?.into_inner();
    let mut answered = 0;
    while let Some(answer) = stream.message().await? {
        answered += 1;
        answer.add_to("", facts);
    }
    facts.add("answered", answered);
    Ok(())
}

/// Within the case's time, how a stream ended.
async fn ended(test: &Case, stream: impl std::future::Future<Output = Result<(), Status>>) -> Status {
    match tokio::time::timeout(timeout(test, STREAM_TIMEOUT), stream).await {
        Ok(Ok(())) => Status::ok(""),
        Ok(Err(status)) => status,
        Err(_) => Status::deadline_exceeded("the case's own"),
    }
}

async fn facts_of(test: &Case, client: &Client) -> Facts {
    let mut facts = Facts::default();
    let f = &mut facts;
    let Some(ask) = &test.call else { return facts };
    match ask {
        Call::ResolveConfig(message) => {
            let mut message = message.clone();
            let padding = test.options.as_ref().map_or(0, |options| options.padding_bytes);
            if let Some(size) = usize::try_from(padding).ok().filter(|size| *size > 0) {
                message.env.insert("PADDING".into(), "x".repeat(size));
            }
            unary!(test, f, client.resolver, resolve_config, message);
        }
        Call::PlanLayouts(message) => {
            let status = ended(test, plan(test, client, message, f)).await;
            add_failure("", status.code() as i32, &Failure::of(&status), f);
        }
        Call::BatchResolve(message) => {
            let status = ended(test, batch(test, client, message, f)).await;
            add_failure("", status.code() as i32, &Failure::of(&status), f);
        }
        Call::ValidateConfig(message) => unary!(test, f, client.resolver, validate_config, message),
        Call::ConvertConfig(message) => unary!(test, f, client.resolver, convert_config, message),
        Call::GetModel(message) => unary!(test, f, client.catalog, get_model, message),
        Call::ListModels(message) => unary!(test, f, client.catalog, list_models, message),
        Call::GetGpu(message) => unary!(test, f, client.catalog, get_gpu, message),
        Call::ListGpus(message) => unary!(test, f, client.catalog, list_gpus, message),
        Call::GetKnob(message) => unary!(test, f, client.catalog, get_knob, message),
        Call::ListKnobs(message) => unary!(test, f, client.catalog, list_knobs, message),
        Call::GetRule(message) => unary!(test, f, client.catalog, get_rule, message),
        Call::ListRules(message) => unary!(test, f, client.catalog, list_rules, message),
        Call::ImportModel(message) => unary!(test, f, client.catalog, import_model, message),
        Call::ReportMeasurement(message) => unary!(test, f, client.evidence, report_measurement, message),
        Call::GetMeasurement(message) => unary!(test, f, client.evidence, get_measurement, message),
        Call::ListMeasurements(message) => unary!(test, f, client.evidence, list_measurements, message),
        Call::GetProfile(message) => unary!(test, f, client.probe, get_profile, message),
        Call::ListProfiles(message) => unary!(test, f, client.probe, list_profiles, message),
        Call::ImportProfile(message) => unary!(test, f, client.probe, import_profile, message),
    }
    facts
}

fn argument(name: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != name).nth(1)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (Some(path), Some(server)) = (argument("--cases"), argument("--server")) else {
        return Err("usage: conformance --cases FILE --server HOST:PORT".into());
    };
    let set = CaseSet::decode(std::fs::read(path)?.as_slice())?;
    let client = Client::new(&server)?;
    let (mut passed, mut failed) = (0, 0);
    for test in &set.cases {
        let facts = facts_of(test, &client).await;
        let faults: Vec<String> = test
            .want
            .iter()
            .filter(|check| !holds(check, facts.of(&check.fact)))
            .map(|check| format!("{}: {:?}: got {:?}", check.fact, check.condition, facts.of(&check.fact)))
            .collect();
        if faults.is_empty() {
            passed += 1;
            println!("ok {} {:016x}", test.name, facts.fingerprint());
        } else {
            failed += 1;
            println!("FAILED {}: {}", test.name, faults.join("; "));
        }
    }
    println!("{passed} passed, {failed} failed");
    std::process::exit(i32::from(failed > 0 || passed == 0));
}
