// Layout, memory and walls as the terminal's page has them.
import { DataTable } from "../../parts/data_table";
import { hrefOf } from "../../state/route";
import type { Answer } from "../../state/answer";
import type { Estimate } from "../../generated/flightplan/v1/estimate_pb";
import { assumedTexts, gpuText, layoutTexts, modelText } from "../../words/answer_text";
import { fullestStage, gibRange, memoryText, pathWord, speedText, stepText, timeText } from "../../words/forecast";
import { percentText } from "../../words/text";

export function Details({ answer }: { answer: Answer }) {
  const { response } = answer;
  const estimate = response.estimate;
  const assumed = assumedTexts(answer);
  return (
    <>
      <dl class="lines">
        <Line name="model" texts={[modelText(answer)]} />
        <Line name="GPUs" texts={[gpuText(answer)]} />
        <Line name="layout" texts={layoutTexts(answer)} />
        <Line name="assumed" texts={assumed} />
        {estimate && <Forecast estimate={estimate} />}
      </dl>
      {estimate && <><Walls estimate={estimate} /><Paths estimate={estimate} /></>}
      <p><a href={hrefOf("memory")}>memory, stage by stage</a></p>
    </>
  );
}

function Line({ name, texts }: { name: string; texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return <div><dt>{name}</dt>{texts.map((text) => <dd key={text}>{text}</dd>)}</div>;
}

function Forecast({ estimate }: { estimate: Estimate }) {
  const worst = fullestStage(estimate);
  const shown = worst?.deviceBytes ? `, nvidia-smi will show ${gibRange(worst.deviceBytes)}` : "";
  const allocated = worst?.allocatedBytes ? [`allocated ${gibRange(worst.allocatedBytes)}${shown} GiB`] : [];
  const unmeasured = estimate.unmeasuredTerms.length ? [`terms without evidence: ${estimate.unmeasuredTerms.join(", ")}`] : [];
  return (
    <>
      <Line name="step" texts={estimate.stepTimeUs ? [stepText(estimate.stepTimeUs), speedText(estimate), ...unmeasured].filter(Boolean) : []} />
      <Line name="memory" texts={[memoryText(estimate), ...allocated, estimate.scope && `counts ${estimate.scope}`].filter(Boolean)} />
    </>
  );
}

function Walls({ estimate }: { estimate: Estimate }) {
  const walls = Object.entries(estimate.wallRatios).sort(([, a], [, b]) => b - a);
  if (walls.length === 0) return null;
  const step = estimate.stepTimeUs?.value ?? 0;
  const rows = walls.map(([name, ratio]) => ({
    key: name, cells: [name, percentText(ratio), timeText(ratio * step), <Bar share={ratio} />],
  }));
  return <DataTable caption="walls: what the step's time goes to" columns={[{ head: "wall" }, { head: "share", number: true }, { head: "time", number: true }, { head: "of the step" }]} rows={rows} />;
}

function Bar({ share }: { share: number }) {
  return (
    <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="8" /><rect class="fill" width={Math.max(0.5, 100 * share)} height="8" />
    </svg>
  );
}

function Paths({ estimate }: { estimate: Estimate }) {
  if (estimate.communication.length === 0) return null;
  const rows = estimate.communication.map(({ name, exposedUs, hiddenUs }) => ({
    key: name, cells: [pathWord(name), timeText(exposedUs), timeText(hiddenUs)],
  }));
  return <DataTable caption="communication of a step" columns={[{ head: "path" }, { head: "exposed", number: true }, { head: "hidden", number: true }]} rows={rows} />;
}
