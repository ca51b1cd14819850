// Every knob that is written or that the stack sets.
import type { ConfigEntry } from "../../generated/flightplan/v1/resolver_service_pb";
import { DataTable } from "../../parts/data_table";
import { hrefOf } from "../../state/route";
import { originWord } from "../../words/decisions";
import { valueText } from "../../words/text";

const COLUMNS = [{ head: "knob" }, { head: "value" }, { head: "from" }, { head: "spelling" }, { head: "because" }];

export function Settings({ config }: { config: readonly ConfigEntry[] }) {
  const rows = config.map(({ name, value, origin, spelling, reason }) => ({
    key: name,
    cells: [
      <a href={hrefOf("reference", "knob", name)}>{name}</a>, <code>{valueText(value)}</code>, originWord(origin),
      <code>{spelling}</code>, reason,
    ],
  }));
  return <DataTable caption={`${config.length} knobs that are written or that the stack sets`} columns={COLUMNS} rows={rows} />;
}
