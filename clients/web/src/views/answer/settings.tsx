// Every knob that is written or that the stack sets.
import type { ConfigEntry } from "../../generated/flightplan/v1/resolver_service_pb";
import { DataTable } from "../../parts/data_table";
import { EntryLink } from "../../parts/entry_link";
import { originWord } from "../../words/decisions";
import { valueText } from "../../words/text";

const COLUMNS = [{ head: "knob" }, { head: "value" }, { head: "from" }, { head: "spelling" }, { head: "because" }];

export function Settings({ config }: { config: readonly ConfigEntry[] }) {
  const rows = config.map(({ name, value, origin, spelling, reason }) => ({
    key: name,
    cells: [
      <EntryLink kind="knob" name={name} />, <code>{valueText(value)}</code>, originWord(origin),
      <code>{spelling}</code>, reason,
    ],
  }));
  return <DataTable caption={`${config.length} knobs that are written or that the stack sets`} columns={COLUMNS} rows={rows} />;
}
