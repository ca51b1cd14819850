// An RPC error as what a person can do something about: the server's sentence and the fields it names.
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../generated/google/rpc/error_details_pb";

export interface Failure {
  code: string;
  sentence: string;
  fields: { field: string; description: string }[];
}

/** Undefined where the caller itself ended the call. */
export function failureOf(error: unknown): Failure | undefined {
  const failure = ConnectError.from(error);
  if (failure.code === Code.Canceled) return undefined;
  const fields = failure.findDetails(BadRequestSchema).flatMap((detail) => detail.fieldViolations)
    .map(({ field, description }) => ({ field, description }));
  return { code: Code[failure.code] ?? "Unknown", sentence: sentenceOf(failure), fields };
}

function sentenceOf(failure: ConnectError): string {
  // What a browser says of a connection that is not there ("Failed to fetch") names no cause.
  const unreached = failure.code === Code.Unknown && failure.cause instanceof TypeError;
  return unreached || failure.code === Code.Unavailable && !failure.rawMessage ? "the server does not answer" : failure.rawMessage;
}
