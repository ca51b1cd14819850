// One launch on every release of its framework.
import { create } from "@bufbuild/protobuf";
import { resolver } from "../client/clients";
import { latest } from "../client/latest";
import { ValidateConfigRequestSchema } from "../generated/flightplan/v1/resolver_service_pb";
import type { ValidateConfigRequest, ValidateConfigResponse } from "../generated/flightplan/v1/resolver_service_pb";
import { RELEASES } from "../generated/releases";
import type { Answer } from "./answer";
import { FRAMEWORK } from "./question";

export interface ReleaseAnswer {
  release: string;
  response: ValidateConfigResponse;
}

export const onReleases = latest<ReleaseAnswer[]>();

/** The plan's own launch, as the stack reads it; undefined: there is none. */
export function launchRequest({ request, response }: Answer): ValidateConfigRequest | undefined {
  const launch = response.launches[0];
  if (!launch || launch.argv.length === 0) return undefined;
  return create(ValidateConfigRequestSchema, {
    config: { case: "arguments", value: { $typeName: "flightplan.v1.ArgumentList", values: launch.argv } },
    target: { framework: request.target?.framework || FRAMEWORK },
    hardware: request.hardware,
    software: request.software,
    env: launch.env,
  });
}

type Ask = (framework: string, version: string) => Promise<ValidateConfigResponse>;

/** The stack of a text whose own is asked for; empty: it shows none. */
async function frameworkOf({ target, config }: ValidateConfigRequest, ask: Ask): Promise<string> {
  if (target?.framework || config.case !== "file") return target?.framework || FRAMEWORK;
  return frameworkName((await ask("", "")).target);
}

/** Of "megatron-bridge 0.6". */
export function frameworkName(target: string): string {
  return target.split(" ")[0] ?? "";
}

/** Asks for every release at once; all or nothing. */
export function judgeAll(request: ValidateConfigRequest): void {
  void onReleases.ask(async (signal) => {
    const ask: Ask = (framework, version) =>
      resolver.validateConfig({ ...request, repair: false, target: { $typeName: "flightplan.v1.TargetStack", framework, version } }, { signal });
    const framework = await frameworkOf(request, ask);
    return Promise.all((RELEASES[framework] ?? ["main"]).map(async (release) => ({ release, response: await ask(framework, release) })));
  });
}
