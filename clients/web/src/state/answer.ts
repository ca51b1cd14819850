// The answer to the question, asked again as soon as the question changes.
import { effect } from "@preact/signals";
import { catalog, resolver } from "../client/clients";
import { latest } from "../client/latest";
import { token } from "../client/token";
import type { GpuSystem } from "../generated/flightplan/v1/hardware_pb";
import type { ResolveConfigResponse } from "../generated/flightplan/v1/resolver_service_pb";
import { asked, question } from "./question";
import type { Question } from "./question";

export interface Answer {
  /** As the person wrote it. */
  written: Question;
  /** As it was sent. */
  request: Question;
  response: ResolveConfigResponse;
  /** The catalogue's entry, where there is one. */
  gpu?: GpuSystem;
}

export const current = latest<Answer>();

export async function resolve(written: Question, signal: AbortSignal): Promise<Answer> {
  const request = asked(written);
  const gpu = catalog.getGpu({ name: request.hardware?.gpu ?? "" }, { signal }).catch(() => undefined);
  const response = await resolver.resolveConfig(request, { signal });
  return { written, request, response, gpu: await gpu };
}

/** Asks whenever the question or the token changes. */
export function keepAnswered(): void {
  effect(() => {
    const written = question.value;
    void token.value;
    void current.ask((signal) => resolve(written, signal));
  });
}

export function askAgain(): void {
  const written = question.value;
  void current.ask((signal) => resolve(written, signal));
}
