// The plans as a table, those of the frontier first.
import type { ResolveConfigResponse } from "../../generated/flightplan/v1/resolver_service_pb";
import { DataTable } from "../../parts/data_table";
import { gpusOf, pick, picked } from "../../state/search";
import { fullestStage, stepText } from "../../words/forecast";
import { denseText, executionText, expertsText } from "../../words/plan_text";
import { gibNumber, withThousands } from "../../words/text";

/** A column where a plan needs fewer than were asked about. */
const GPUS = "GPUs";
const COLUMNS = [
  { head: "pick" }, { head: "rank", number: true }, { head: GPUS, number: true }, { head: "dense" }, { head: "experts" }, { head: "mbs", number: true }, { head: "step" },
  { head: "GiB", number: true }, { head: "decided" },
];

interface Props {
  plans: readonly ResolveConfigResponse[];
  /** GPUs that were asked about. */
  gpuCount: number;
  frontier: ReadonlySet<number>;
  /** Indices of those to show. */
  shown: ReadonlySet<number>;
}

export function PlanTable({ plans, gpuCount, frontier, shown }: Props) {
  const leavesGpus = plans.some((plan) => gpusOf(plan) !== gpuCount);
  const columns = COLUMNS.filter(({ head }) => leavesGpus || head !== GPUS);
  const order = plans.map((_, at) => at).filter((at) => shown.has(at))
    .sort((a, b) => Number(frontier.has(b)) - Number(frontier.has(a)) || a - b);
  const rows = order.map((at) => {
    const plan = plans[at]!;
    const { estimate, layout } = plan;
    const total = fullestStage(estimate)?.totalBytes;
    return {
      key: String(at),
      strong: picked.value.includes(at),
      cells: [
        <input type="checkbox" aria-label={`pick plan ${at + 1}`} checked={picked.value.includes(at)} onChange={() => pick(at)} />,
        `${at + 1}${frontier.has(at) ? " ★" : ""}`, ...(leavesGpus ? [withThousands(gpusOf(plan))] : []), denseText(plan), expertsText(plan), layout?.sizes?.microBatchSize ?? "",
        estimate?.stepTimeUs ? stepText(estimate.stepTimeUs) : "", total ? gibNumber(total.value) : "", executionText(plan),
      ],
    };
  });
  return <DataTable caption="plans, those of the frontier (★) first" columns={columns} rows={rows} />;
}
