// How the server that this page came from is asked: the Connect protocol, with the token and the retries of all clients.
// A report has src/report/transport.ts in place of this file (build.mjs).
import { Code, ConnectError } from "@connectrpc/connect";
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
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

export const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  defaultTimeoutMs: milliseconds(UNARY.timeout),
  interceptors: [withRetry, withToken],
});

/** Of streams. */
export const STREAM = { timeoutMs: milliseconds(STREAMS.timeout) };

/** Whether somebody answers; false in a report, which only has what was answered when it was written. */
export const live: boolean = true;
