// Knobs that differ, and why on each side; what the stack sets by itself only where it is asked for.
import { useSignal } from "@preact/signals";
import { DataTable } from "../../parts/data_table";
import type { ValueDifference } from "../../words/comparison";

const COLUMNS = [{ head: "knob" }, { head: "A" }, { head: "B" }, { head: "because" }];

function because({ whyA, whyB }: ValueDifference): string {
  const a = whyA && whyA !== whyB ? [`A: ${whyA}`] : [];
  const b = whyB ? [whyA === whyB ? whyB : `B: ${whyB}`] : [];
  return [...a, ...b].join("; ");
}

export function ValueTable({ values }: { values: readonly ValueDifference[] }) {
  const all = useSignal(false);
  if (values.length === 0) return <p>no knob differs</p>;
  const hidden = values.filter(({ byStack }) => byStack).length;
  let before = "";  // knobs that were weighed together share a long reason, which is said once
  const rows = values.filter(({ byStack }) => all.value || !byStack).map((value) => {
    const absent = value.name.startsWith("env.") ? "not set" : "default";
    const why = because(value);
    const shown = why !== "" && why === before ? "as above" : why;
    before = why;
    return { key: value.name, cells: [<code>{value.name}</code>, <code>{value.a ?? absent}</code>, <code>{value.b ?? absent}</code>, shown] };
  });
  return (
    <div class="differing">
      <DataTable caption="knobs that differ" columns={COLUMNS} rows={rows} />
      {hidden > 0 && (
        <label><input type="checkbox" checked={all.value} onChange={(event) => (all.value = event.currentTarget.checked)} /> and {hidden} that the stack sets by itself</label>
      )}
    </div>
  );
}
