// Which plans there are: a search, then a scatter and a table, and two to compare.
import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { isWithin, Scatter } from "../../charts/scatter";
import type { Brush } from "../../charts/scatter";
import { live } from "../../client/transport";
import { ChoiceField } from "../../form/fields";
import type { Option } from "../../form/fields";
import { FitVerdict } from "../../generated/flightplan/v1/estimate_pb";
import { FailureNote } from "../../parts/failure_note";
import { FindingList } from "../../parts/finding_list";
import { other } from "../../state/other";
import { question } from "../../state/question";
import { hrefOf } from "../../state/route";
import { failure, found, pick, picked, questionOf, search } from "../../state/search";
import type { Found } from "../../state/search";
import { flagSpelling } from "../../words/findings";
import { cautionText, denseText, expertsText, statisticsText } from "../../words/plan_text";
import { withThousands } from "../../words/text";
import { BrushForm } from "./brush_form";
import { frontier, MEASURES } from "./measures";
import type { Measure } from "./measures";
import { PlanTable } from "./plan_table";
import { SearchForm } from "./search_form";

const AXES: readonly Option<number>[] = MEASURES.map(({ name }, at) => [at, name]);
const KINDS = ["fits", "marginal", "does not fit"];
const KIND_OF = new Map([[FitVerdict.FITS, 0], [FitVerdict.MARGINAL, 1]]);

export function PlansView() {
  return (
    <>
      <h1>Plans</h1>
      {live && <SearchForm />}
      <FailureNote failure={failure.value} again={() => void search()} />
      {found.value && <Plans found={found.value} />}
    </>
  );
}

function Plans({ found }: { found: Found }) {
  const { base, result } = found;
  const [xAxis, yAxis, frontierOnly] = [useSignal(0), useSignal(1), useSignal(false)];
  const [x, y] = [MEASURES[xAxis.value]!, MEASURES[yAxis.value]!];
  const brush = useSignal<Brush | undefined>(undefined);
  useEffect(() => void (brush.value = undefined), [found, xAxis.value, yAxis.value]);
  const best = frontier(result.plans, x, y);
  const places = result.plans.map((plan) => ({ x: x.of(plan), y: y.of(plan) }));
  const candidates = places.map((_, at) => at).filter((at) => !frontierOnly.value || best.has(at));
  const shown = new Set(candidates.filter((at) => isWithin(places[at]!, brush.value)));
  const name = base.model?.source.case === "name" ? base.model.source.value : "your model";
  return (
    <>
      <p><strong>{name} on {withThousands(base.hardware?.gpuCount ?? 0)} {base.hardware?.gpu}</strong>, sequence{" "}
        {withThousands(base.workload?.seqLength ?? 0)}, global batch {withThousands(base.workload?.globalBatchSize ?? 0)}</p>
      {result.plans.length > 0 && (
        <>
          <div class="script-form">
            <ChoiceField label="across" value={xAxis.value} options={AXES} set={(at) => (xAxis.value = at)} />
            <ChoiceField label="up" value={yAxis.value} options={AXES} set={(at) => (yAxis.value = at)} />
            <label class="check"><input type="checkbox" checked={frontierOnly.value} onChange={(event) => (frontierOnly.value = event.currentTarget.checked)} /> frontier only</label>
          </div>
          <PlanScatter found={found} x={x} y={y} best={best} drawn={candidates} brush={brush} />
          <BrushForm x={x} y={y} places={candidates.map((at) => places[at]!)} brush={brush} shown={shown.size} />
          <Picked found={found} />
          <PlanTable plans={result.plans} gpuCount={base.hardware?.gpuCount ?? 0} frontier={best} shown={shown} />
          {result.plans.some(cautionText) && (
            <p class="dim">ranked +N %: next to nobody published a layout like it, or it fills the memory, so the order counts its step as that much longer</p>
          )}
        </>
      )}
      <FindingList findings={result.findings} spelling={flagSpelling} />
      <p class="dim">{statisticsText(result)}</p>
    </>
  );
}

interface ScatterProps {
  found: Found;
  x: Measure;
  y: Measure;
  best: ReadonlySet<number>;
  /** Indices. */
  drawn: readonly number[];
  brush: Signal<Brush | undefined>;
}

function PlanScatter({ found: { result }, x, y, best, drawn, brush }: ScatterProps) {
  const axis = ({ name, unit }: Measure): string => (unit ? `${name}, ${unit}` : name);
  const points = drawn.map((at) => [at, result.plans[at]!] as const).map(([at, plan]) => ({
    key: at,
    x: x.of(plan),
    y: y.of(plan),
    kind: KIND_OF.get(plan.estimate?.fit ?? 0) ?? 2,
    frontier: best.has(at),
    chosen: picked.value.includes(at),
    label: `plan ${at + 1}, ${denseText(plan)} ${expertsText(plan)}: ${axis(x)} ${x.of(plan).toPrecision(3)}, ${axis(y)} ${y.of(plan).toPrecision(3)}`,
  }));
  return (
    <Scatter title={`plans by ${x.name} and ${y.name}`} xName={axis(x)} yName={axis(y)} kinds={KINDS} points={points} choose={pick}
      brush={brush.value} setBrush={(part) => (brush.value = part)} />
  );
}

function Picked({ found }: { found: Found }) {
  const [first, second] = picked.value;
  const take = (index: number): void => void (question.value = questionOf(found, found.result.plans[index]!));
  const compare = (): void => {
    take(first!);
    other.value = questionOf(found, found.result.plans[second!]!);
    location.hash = hrefOf("compare");
  };
  return (
    <p class="buttons" role="status">
      {first === undefined && "pick one to ask for it, two to compare them"}
      {first !== undefined && second === undefined && <button type="button" onClick={() => {
        take(first);
        location.hash = hrefOf("answer");
      }}>ask for plan {first + 1}</button>}
      {second !== undefined && <button type="button" onClick={compare}>compare plans {first! + 1} and {second + 1}</button>}
    </p>
  );
}
