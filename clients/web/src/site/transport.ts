// In the place of the network: the lists that the site was written with answer, and nobody else is asked.
import { create } from "@bufbuild/protobuf";
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Transport, UnaryResponse } from "@connectrpc/connect";
import { ListGpusResponseSchema, ListKnobsResponseSchema, ListModelsResponseSchema, ListRulesResponseSchema } from "../generated/flightplan/v1/catalog_service_pb";
import { heldList } from "./held";

const lists = {
  ListRules: heldList(ListRulesResponseSchema, "ListRules"),
  ListKnobs: heldList(ListKnobsResponseSchema, "ListKnobs"),
  ListModels: heldList(ListModelsResponseSchema, "ListModels"),
  ListGpus: heldList(ListGpusResponseSchema, "ListGpus"),
};

const entries = {
  GetRule: ({ id }: { id?: string }) => lists.ListRules.rules.find((rule) => rule.id === id),
  GetKnob: ({ name }: { name?: string }) => lists.ListKnobs.knobs.find((knob) => knob.name === name),
  GetModel: ({ name }: { name?: string }) => lists.ListModels.models.find((model) => model.name === name),
  GetGpu: ({ name }: { name?: string }) => lists.ListGpus.gpus.find((gpu) => gpu.name === name),
};

function answerOf(rpc: string, input: object): unknown {
  return lists[rpc as keyof typeof lists] ?? entries[rpc as keyof typeof entries]?.(input);
}

export const transport: Transport = {
  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>, _signal: AbortSignal | undefined, _timeoutMs: number | undefined, _header: HeadersInit | undefined,
    input: MessageInitShape<I>,
  ): Promise<UnaryResponse<I, O>> {
    const message = answerOf(method.name, create(method.input, input)) as MessageShape<O> | undefined;
    if (!message) throw new ConnectError("this site has no such page", Code.NotFound);
    return { stream: false, service: method.parent, method, header: new Headers(), trailer: new Headers(), message };
  },
  async stream() {
    throw new ConnectError("a site asks nobody", Code.Unavailable);
  },
};

export const STREAM = {};
export const live: boolean = true;
