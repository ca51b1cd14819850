// Where the memory goes, stage by stage.
import { useSignal } from "@preact/signals";
import { StackedColumns } from "../../charts/stacked_columns";
import { live } from "../../client/transport";
import type { Estimate, HostMemory } from "../../generated/flightplan/v1/estimate_pb";
import { FailureNote } from "../../parts/failure_note";
import { FindingList } from "../../parts/finding_list";
import { Section } from "../../parts/section";
import { askAgain, current } from "../../state/answer";
import { applyFix } from "../../state/pins";
import { edit } from "../../state/question";
import { flagSpelling, hasError } from "../../words/findings";
import { fitWord, fullestStage, gibRange, memoryText } from "../../words/forecast";
import { GIB, gibNumber } from "../../words/text";
import { Sliders } from "./sliders";
import { columnsOf } from "./stages";
import { AllStages, StageParts } from "./tables";


export function MemoryView() {
  const response = current.answer.value?.response;
  return (
    <>
      <h1>Memory</h1>
      <FailureNote failure={current.failure.value} again={askAgain} />
      {live && <Sliders />}
      {live && <p class="dim" role="status">{current.asking.value ? "asking …" : `answered in ${current.tookMs.value.toFixed(0)} ms`}</p>}
      {response && hasError(response.findings) && (
        <FindingList findings={response.findings} spelling={flagSpelling} apply={live ? (fix) => edit((draft) => applyFix(draft, fix)) : undefined} />
      )}
      {response && (response.estimate?.stages.length ? <Stages estimate={response.estimate} /> : <p>there is no forecast of the memory</p>)}
    </>
  );
}

/** What an offloaded optimizer takes of a node: the terminal's words (clients/cli/forecast_part.cc). */
function hostText({ nodeBytes, usableBytes }: HostMemory): string {
  const has = usableBytes > 0n ? ` of ${gibNumber(usableBytes)}` : "";
  return `the optimizer keeps ${gibRange(nodeBytes!)} GiB in a node's main memory${has}, beside its processes and data loaders`;
}

function Stages({ estimate }: { estimate: Estimate }) {
  const { series, stacks, stageOf } = columnsOf(estimate);
  const clicked = useSignal("");
  const fullest = String(fullestStage(estimate)?.stage ?? 0);
  const chosen = stageOf.has(clicked.value) ? clicked.value : fullest;
  const limit = { value: Number(estimate.usableBytes) / GIB, label: `usable ${gibNumber(estimate.usableBytes)} GiB` };
  return (
    <>
      <p>fits <strong>{fitWord(estimate.fit)}</strong>: {memoryText(estimate)}</p>
      <StackedColumns title={`memory of each pipeline stage, ${limit.label}`} unit="GiB" series={series} stacks={stacks} limit={limit}
        chosen={chosen} choose={(key) => (clicked.value = key)} />
      {estimate.scope && <p class="dim">counts {estimate.scope}</p>}
      {estimate.host && <p>{hostText(estimate.host)}</p>}
      <StageParts stage={stageOf.get(chosen)!} />
      <Section title="all stages as a table">{() => <AllStages estimate={estimate} />}</Section>
    </>
  );
}
