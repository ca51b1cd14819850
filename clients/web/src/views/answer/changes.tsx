// What the stack will silently change; what it takes from the caller first.
import type { EffectiveChange } from "../../generated/flightplan/v1/finding_pb";
import { DataTable } from "../../parts/data_table";
import { EntryLink } from "../../parts/entry_link";
import { plural, valueText } from "../../words/text";

const COLUMNS = [{ head: "knob" }, { head: "from" }, { head: "to" }, { head: "rule" }];

export function Changes({ changes }: { changes: readonly EffectiveChange[] }) {
  if (changes.length === 0) return <p>nothing</p>;
  const sorted = [...changes].sort((a, b) => Number(b.overridesCaller) - Number(a.overridesCaller));
  const rows = sorted.map(({ name, from, to, ruleId, overridesCaller }, at) => ({
    key: `${ruleId} ${name} ${at}`,
    strong: overridesCaller,
    cells: [
      <code>{name}</code>, <code>{valueText(from)}</code>, <code>{valueText(to)}</code>,
      <EntryLink kind="rule" name={ruleId} />,
    ],
  }));
  return <DataTable caption={`the stack will change ${plural(changes.length, "value")} by itself; bold: values that you set`} columns={COLUMNS} rows={rows} />;
}
