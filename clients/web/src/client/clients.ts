// The clients of the server that this page came from, over the Connect protocol.
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { CatalogService } from "../generated/flightplan/v1/catalog_service_pb";
import { ResolverService } from "../generated/flightplan/v1/resolver_service_pb";
import serviceConfig from "../../../service_config.json";
import { token, tokenWanted } from "./token";

// All clients have the same time-outs and retries.
const [UNARY, STREAMS] = [0, 1].map((at): MethodConfig => serviceConfig.methodConfig[at]!) as [MethodConfig, MethodConfig];
const RETRY_DELAY_MS = milliseconds(UNARY.retryPolicy.initialBackoff);

interface MethodConfig {
  timeout: string;
  retryPolicy: { initialBackoff: string };
}

/** Of "0.1s". */
function milliseconds(text: string): number {
  return 1000 * Number.parseFloat(text);
}

const withToken: Interceptor = (next) => async (request) => {
  if (token.value) request.header.set("Authorization", `Bearer ${token.value}`);
  try {
    return await next(request);
  } catch (error) {
    const failure = ConnectError.from(error);
    if (failure.code === Code.Unauthenticated) tokenWanted.value = failure.rawMessage || "unauthenticated";
    throw failure;
  }
};

const withRetry: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    const again = !request.stream && ConnectError.from(error).code === Code.Unavailable && !request.signal.aborted;
    if (!again) throw error;
    await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS));
    return next(request);
  }
};

/** For the clients of single views. */
export const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  defaultTimeoutMs: milliseconds(UNARY.timeout),
  interceptors: [withRetry, withToken],
});

export const resolver = createClient(ResolverService, transport);
export const catalog = createClient(CatalogService, transport);
export const STREAM = { timeoutMs: milliseconds(STREAMS.timeout) };
