// Names of the catalogue, each list fetched once, when it is first asked for.
import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { KnobInfo, RuleInfo } from "../generated/flightplan/v1/catalog_service_pb";
import type { GpuSystem } from "../generated/flightplan/v1/hardware_pb";
import type { ModelSpec } from "../generated/flightplan/v1/model_pb";
import { catalog } from "./clients";
import { failureOf } from "./failure";
import type { Failure } from "./failure";

const PAGE_SIZE = 1_000;

export interface List<Entry> {
  entries: Signal<readonly Entry[]>;
  failure: Signal<Failure | undefined>;
  /** Fetches the list where it is not there; a call that failed may be tried again. */
  load: () => Promise<void>;
}

type Page<Entry> = { entries: Entry[]; nextPageToken: string };

function list<Entry>(page: (pageToken: string) => Promise<Page<Entry>>): List<Entry> {
  const entries = signal<readonly Entry[]>([]);
  const failure = signal<Failure | undefined>(undefined);
  let loading: Promise<void> | undefined;
  const fetchAll = async (): Promise<void> => {
    const all: Entry[] = [];
    try {
      for (let pageToken = ""; ;) {
        const answer = await page(pageToken);
        all.push(...answer.entries);
        pageToken = answer.nextPageToken;
        if (!pageToken) break;
      }
      entries.value = all;
      failure.value = undefined;
    } catch (error) {
      failure.value = failureOf(error);
      loading = undefined;
    }
  };
  return { entries, failure, load: () => (loading ??= fetchAll()) };
}

export const models: List<ModelSpec> = list(async (pageToken) => {
  const answer = await catalog.listModels({ pageSize: PAGE_SIZE, pageToken });
  return { entries: answer.models, nextPageToken: answer.nextPageToken };
});
export const gpus: List<GpuSystem> = list(async (pageToken) => {
  const answer = await catalog.listGpus({ pageSize: PAGE_SIZE, pageToken });
  return { entries: answer.gpus, nextPageToken: answer.nextPageToken };
});
export const knobs: List<KnobInfo> = list(async (pageToken) => {
  const answer = await catalog.listKnobs({ pageSize: PAGE_SIZE, pageToken });
  return { entries: answer.knobs, nextPageToken: answer.nextPageToken };
});
export const rules: List<RuleInfo> = list(async (pageToken) => {
  const answer = await catalog.listRules({ pageSize: PAGE_SIZE, pageToken });
  return { entries: answer.rules, nextPageToken: answer.nextPageToken };
});
