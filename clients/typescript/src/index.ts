/**
 * Client of Flightplan: the generated stubs on a channel with the retries and time-outs that all clients share, promises
 * for the unary calls, and errors as values.
 */
import * as grpc from "@grpc/grpc-js";

import { CatalogServiceClient } from "./generated/flightplan/v1/catalog_service";
import { EvidenceServiceClient } from "./generated/flightplan/v1/evidence_service";
import { FleetServiceClient } from "./generated/flightplan/v1/fleet_service";
import { ProbeServiceClient } from "./generated/flightplan/v1/probe_service";
import { Launch, ResolveConfigResponse, ResolverServiceClient } from "./generated/flightplan/v1/resolver_service";
import { TimelineServiceClient } from "./generated/flightplan/v1/timeline";
import { BadRequest, ErrorInfo, PreconditionFailure, RetryInfo } from "./generated/google/rpc/error_details";
import { Status } from "./generated/google/rpc/status";
import { isLocalAddress, tokenGuard } from "./plaintext_token";
import serviceConfig from "./service_config.json";

export * from "./generated/flightplan/v1/catalog_service";
export * from "./generated/flightplan/v1/estimate";
export * from "./generated/flightplan/v1/evidence";
export * from "./generated/flightplan/v1/evidence_service";
export * from "./generated/flightplan/v1/finding";
export * from "./generated/flightplan/v1/fleet_service";
export * from "./generated/flightplan/v1/hardware";
export * from "./generated/flightplan/v1/knobs";
export * from "./generated/flightplan/v1/model";
export * from "./generated/flightplan/v1/parallelism";
export * from "./generated/flightplan/v1/probe_service";
export * from "./generated/flightplan/v1/profile";
export * from "./generated/flightplan/v1/resolver_service";
export * from "./generated/flightplan/v1/timeline";

/** A stub for each service, on connections that they share. */
export class Client {
  readonly resolver: ResolverServiceClient;
  readonly catalog: CatalogServiceClient;
  readonly evidence: EvidenceServiceClient;
  readonly probe: ProbeServiceClient;
  readonly timeline: TimelineServiceClient;
  readonly fleet: FleetServiceClient;

  /**
   * @param address HOST:PORT or unix:PATH.
   * @param credentials Default: plain text, which a server takes on loopback and unix sockets. In plain text a call with a
   *     token (metadata "authorization") to another machine ends with UNAUTHENTICATED before anything is sent, unless
   *     FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN is 1. An HTTP proxy of the environment is used by TLS to other machines alone.
   */
  constructor(address: string, credentials: grpc.ChannelCredentials = grpc.credentials.createInsecure()) {
    const [plaintext, local] = [!credentials._isSecure(), isLocalAddress(address)];
    const options = {
      "grpc.service_config": JSON.stringify(serviceConfig),
      // A proxy would read what is in plain text, and cannot reach this machine's own addresses.
      ...(plaintext || local ? { "grpc.enable_http_proxy": 0 } : {}),
      interceptors: plaintext && !local ? [tokenGuard(address)] : [],
    };
    this.resolver = new ResolverServiceClient(address, credentials, options);
    this.catalog = new CatalogServiceClient(address, credentials, options);
    this.evidence = new EvidenceServiceClient(address, credentials, options);
    this.probe = new ProbeServiceClient(address, credentials, options);
    this.timeline = new TimelineServiceClient(address, credentials, options);
    this.fleet = new FleetServiceClient(address, credentials, options);
  }

  close(): void {
    for (const stub of [this.resolver, this.catalog, this.evidence, this.probe, this.timeline, this.fleet]) stub.close();
  }
}

type Method<Request, Answer> = (
  request: Request,
  metadata: grpc.Metadata,
  options: Partial<grpc.CallOptions>,
  callback: (error: grpc.ServiceError | null, answer: Answer) => void,
) => grpc.ClientUnaryCall;

/**
 * A unary call as a promise: `await call(client.resolver, client.resolver.resolveConfig, request)`. Rejects with a
 * grpc.ServiceError, which `failureOf` reads.
 */
export function call<Stub, Request, Answer>(
  stub: Stub,
  method: Method<Request, Answer>,
  request: Request,
  options: Partial<grpc.CallOptions> = {},
  metadata: grpc.Metadata = new grpc.Metadata(),
  onCall: (call: grpc.ClientUnaryCall) => void = () => {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    onCall(
      method.call(stub, request, metadata, options, (error, answer) => (error ? reject(error) : resolve(answer))),
    );
  });
}

/** What a program may turn on when a call failed. */
export interface Failure {
  code: grpc.status;
  /** ErrorInfo; absent where the answer is not the server's own. */
  info?: ErrorInfo;
  /** Every field of the request that is wrong. */
  violations: { field: string; description: string }[];
  /** What would have to hold. */
  preconditions: { type: string; subject: string; description: string }[];
  /** After which delay it is worth trying again; absent: the server did not say so. */
  retry?: RetryInfo;
}

/** Reads the details of a google.rpc.Status, such as an item's error in a batch. */
export function failureOfStatus(status: Status): Failure {
  const failure: Failure = { code: status.code, violations: [], preconditions: [] };
  for (const detail of status.details) {
    if (detail.typeUrl.endsWith("/google.rpc.ErrorInfo")) failure.info = ErrorInfo.decode(detail.value);
    if (detail.typeUrl.endsWith("/google.rpc.RetryInfo")) failure.retry = RetryInfo.decode(detail.value);
    if (detail.typeUrl.endsWith("/google.rpc.BadRequest")) {
      failure.violations = BadRequest.decode(detail.value).fieldViolations;
    }
    if (detail.typeUrl.endsWith("/google.rpc.PreconditionFailure")) {
      failure.preconditions = PreconditionFailure.decode(detail.value).violations;
    }
  }
  return failure;
}

/** Reads the error of a call. */
export function failureOf(error: grpc.ServiceError): Failure {
  const [details] = error.metadata?.get("grpc-status-details-bin") ?? [];
  const status = details instanceof Buffer ? Status.decode(details) : Status.create();
  return { ...failureOfStatus(status), code: error.code };
}

/** The launch of a plan in a dialect; without one, the target's own. Undefined: the plan was not asked for with it. */
export function launchOf(plan: ResolveConfigResponse, dialect?: string): Launch | undefined {
  return plan.launches.find((launch) => dialect === undefined || launch.dialect === dialect);
}
