// What the probe measured, and two profiles on one axis.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { PairedBars } from "../../charts/paired_bars";
import { ChoiceField } from "../../form/fields";
import type { HardwareProfile, ProbeRow } from "../../generated/flightplan/v1/profile_pb";
import { DataTable } from "../../parts/data_table";
import { FailureNote } from "../../parts/failure_note";
import { load, profiles, rowName, rowText } from "./profiles";

const MOST_BARS = 40;

export function ProbeView() {
  useEffect(load, []);
  const list = profiles.answer.value;
  return (
    <>
      <h1>Probe</h1>
      <FailureNote failure={profiles.failure.value} again={load} />
      {profiles.asking.value && !list && <p role="status">asking …</p>}
      {list?.length === 0 && <p>no profile is stored here: <code>flightplan probe</code> measures a GPU, <code>flightplan probe --import FILE</code> stores a profile of another machine</p>}
      {list && list.length > 0 && <Profiles list={list} />}
    </>
  );
}

function Profiles({ list }: { list: readonly HardwareProfile[] }) {
  const [first, second] = [useSignal(0), useSignal(-1)];
  const names = list.map(({ name, deviceName }, at) => [at, `${name}, ${deviceName}`] as const);
  const a = list[first.value] ?? list[0]!;
  const b = list[second.value];
  return (
    <>
      <div class="script-form">
        <ChoiceField label="profile" value={first.value} options={names} set={(at) => (first.value = at)} />
        <ChoiceField label="beside it" value={second.value} options={[[-1, "none"], ...names]} set={(at) => (second.value = at)} />
      </div>
      <Head profile={a} />
      {b ? <Two a={a} b={b} /> : <One profile={a} />}
    </>
  );
}

function Head({ profile }: { profile: HardwareProfile }) {
  return (
    <>
      <p>{profile.deviceName}, driver {profile.driverVersion}, CUDA {profile.cudaVersion}, {profile.kind}{profile.partial && ", partial"}</p>
      {profile.notes.length > 0 && <ul>{profile.notes.map((note) => <li key={note}>{note}</li>)}</ul>}
    </>
  );
}

function One({ profile }: { profile: HardwareProfile }) {
  const rows = profile.rows.map((row, at) => ({
    key: String(at),
    cells: [rowName(row), rowText(row.value, row.unit), `${rowText(row.low, row.unit)} .. ${rowText(row.high, row.unit)}`, row.kind],
  }));
  return <DataTable caption="rows" columns={[{ head: "row" }, { head: "median", number: true }, { head: "interval", number: true }, { head: "kind" }]} rows={rows} />;
}

function Two({ a, b }: { a: HardwareProfile; b: HardwareProfile }) {
  const unit = useSignal("bytes_per_second");
  const others = new Map(b.rows.map((row) => [rowName(row), row]));
  const both = a.rows.flatMap((row): [ProbeRow, ProbeRow][] => {
    const other = others.get(rowName(row));
    return other && other.unit === row.unit ? [[row, other]] : [];
  });
  const units = [...new Set(both.map(([row]) => row.unit))];
  const chosen = units.includes(unit.value) ? unit.value : units[0] ?? "";
  const shown = both.filter(([row]) => row.unit === chosen);
  const rows = shown.map(([row, other]) => ({
    key: rowName(row), cells: [rowName(row), rowText(row.value, row.unit), rowText(other.value, row.unit), (other.value / row.value).toFixed(2)],
  }));
  if (both.length === 0) return <p>the two have no row in common</p>;
  return (
    <>
      <ChoiceField label="unit" value={chosen} options={units.map((name) => [name, name] as const)} set={(name) => (unit.value = name)} />
      <PairedBars title={`rows of A and B, ${chosen}`} text={(value) => rowText(value, chosen)}
        pairs={shown.slice(0, MOST_BARS).map(([row, other]) => ({ name: row.id, a: row.value, b: other.value }))} />
      <DataTable caption={`A is ${a.name}, B is ${b.name}`} columns={[{ head: "row" }, { head: "A", number: true }, { head: "B", number: true }, { head: "B / A", number: true }]} rows={rows} />
    </>
  );
}
