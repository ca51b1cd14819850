// The question and the address bar: what is asked stands in the fragment, and a fragment that is opened is asked.
import { toBinary } from "@bufbuild/protobuf";
import { effect, signal, untracked } from "@preact/signals";
import { ResolveConfigRequestSchema } from "../generated/flightplan/v1/resolver_service_pb";
import { current } from "./answer";
import { BadLink, pack, packMessage, unpack, unpackMessage } from "./link";
import { other } from "./other";
import { example, question } from "./question";
import type { Question } from "./question";
import { parseRoute, replaceParameters, route, routeText } from "./route";
import { fromBytes, inLink, script, toBytes } from "./script";
import { differences, parseWas, summaryOf } from "./was";
import type { Was } from "./was";

/** What opening a link found; undefined: the page was not opened by one. */
export interface Opened {
  /** "same answer", "the answer changed since the link was made", or what is wrong with the link. */
  sentence: string;
  changes: readonly string[];
  good: boolean;
}

export const opened = signal<Opened | undefined>(undefined);

// What the link that was opened says of its answer, until that answer is there.
let expected: { digest: string; was?: Was } | undefined;
// The parameters that stand for what is in the page now.
let written = "";

const QUESTION = "q", OTHER = "b", DIGEST = "d", WAS = "w", SCRIPT = "s";

export async function start(): Promise<void> {
  await read(route.value.parameters);
  addEventListener("hashchange", () => {
    route.value = parseRoute(location.hash);
    void follow();
  });
  effect(() => {
    void [question.value, other.value, current.answer.value, current.asking.value];
    untracked(() => void write());
  });
}

/** The page's address with the answer as it is now; with the script only where its owner ticked it. */
export async function linkText(): Promise<string> {
  const parameters = await parametersNow();
  const answer = current.answer.value;
  if (answer) parameters.set(WAS, await pack(new TextEncoder().encode(JSON.stringify(summaryOf(answer.response)))));
  if (inLink.value && script.value.text) parameters.set(SCRIPT, await pack(toBytes(script.value)));
  return location.href.split("#")[0] + routeText({ ...route.value, parameters });
}

// A link of the page itself has no parameters; one that a person opens has its own.
async function follow(): Promise<void> {
  const text = route.value.parameters.toString();
  if (text && text !== written) await read(route.value.parameters);
  else await write();
}

async function read(parameters: URLSearchParams): Promise<void> {
  const [asks, compares, says, holds] = [QUESTION, OTHER, WAS, SCRIPT].map((name) => parameters.get(name));
  const digest = parameters.get(DIGEST);
  try {
    const was = says ? parseWas(new TextDecoder().decode(await unpack(says))) : undefined;
    expected = digest ? { digest, was } : undefined;
    if (holds) script.value = fromBytes(await unpack(holds));
    other.value = compares ? await unpackMessage(ResolveConfigRequestSchema, compares) : undefined;
    question.value = asks ? await unpackMessage(ResolveConfigRequestSchema, asks) : example();
    opened.value = undefined;
  } catch (error) {
    expected = undefined;
    const sentence = error instanceof BadLink ? error.message : "the link is not one of this page's";
    opened.value = { sentence: `${sentence}: this is the example instead`, changes: [], good: false };
  }
}

async function write(): Promise<void> {
  const parameters = await parametersNow();
  written = parameters.toString();
  if (route.value.parameters.toString() !== written) replaceParameters(parameters);
}

async function parametersNow(): Promise<URLSearchParams> {
  const parameters = new URLSearchParams();
  const asks = question.value;
  if (!same(asks, example())) parameters.set(QUESTION, await packMessage(ResolveConfigRequestSchema, asks));
  if (other.value) parameters.set(OTHER, await packMessage(ResolveConfigRequestSchema, other.value));
  const answer = current.answer.value;
  if (answer && answer.written === asks) {
    compareWithLink(answer.response.digest, () => summaryOf(answer.response));
    parameters.set(DIGEST, answer.response.digest);
  }
  return parameters;
}

function same(a: Question, b: Question): boolean {
  const [left, right] = [a, b].map((question) => toBinary(ResolveConfigRequestSchema, question).join());
  return left === right;
}

function compareWithLink(digest: string, now: () => Was): void {
  if (!expected) return;
  const { digest: before, was } = expected;
  expected = undefined;
  if (before === digest) {
    opened.value = { sentence: "same answer as when the link was made", changes: [], good: true };
    return;
  }
  const changes = was ? differences(was, now()) : [];
  opened.value = { sentence: "the answer changed since the link was made", changes: [`digest: ${before} → ${digest}`, ...changes], good: false };
}
