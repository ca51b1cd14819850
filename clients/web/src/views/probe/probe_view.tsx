// What the probe measured, and two profiles on one axis.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { PairedBars } from "../../charts/paired_bars";
import { token } from "../../client/token";
import { ChoiceField } from "../../form/fields";
import type { HardwareProfile } from "../../generated/flightplan/v1/profile_pb";
import { DataTable } from "../../parts/data_table";
import { FailureNote } from "../../parts/failure_note";
import { commonRows, load, medianRatio, profiles, rowName, rowText, variedNames } from "./profiles";

const MOST_BARS = 40;

export function ProbeView() {
  useEffect(load, [token.value]);
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
      <p>{[profile.deviceName, `driver ${profile.driverVersion}`, profile.cudaVersion && `CUDA ${profile.cudaVersion}`, profile.kind, profile.partial && "partial"].filter(Boolean).join(", ")}</p>
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
  const chosen = useSignal("");
  const groups = commonRows(a.rows, b.rows);
  if (groups.size === 0) return <p>the two have no row in common</p>;
  const id = groups.has(chosen.value) ? chosen.value : [...groups.keys()][0]!;
  const pairs = groups.get(id)!;
  const unit = pairs[0]![0].unit;
  const names = variedNames(pairs.map(([row]) => row));
  const rows = pairs.map(([row, other], at) => ({
    key: names[at]!, cells: [names[at], rowText(row.value, unit), rowText(other.value, unit), (other.value / row.value).toFixed(2)],
  }));
  const overview = [...groups].map(([name, both]) => ({
    key: name,
    strong: name === id,
    cells: [<button type="button" class="plain-link" onClick={() => (chosen.value = name)}>{name}</button>, both.length, medianRatio(both).toFixed(2)],
  }));
  return (
    <>
      <p>A is <strong>{a.name}</strong>, B is <strong>{b.name}</strong></p>
      <ChoiceField label="measured" value={id} options={[...groups.keys()].map((name) => [name, name] as const)} set={(name) => (chosen.value = name)} />
      <PairedBars title={`${id} of A and B`} text={(value) => rowText(value, unit)}
        pairs={pairs.slice(0, MOST_BARS).map(([row, other], at) => ({ name: names[at]!, a: row.value, b: other.value }))} />
      <DataTable caption={`${id} of A and B`} columns={[{ head: "row" }, { head: "A", number: true }, { head: "B", number: true }, { head: "B / A", number: true }]} rows={rows} />
      <DataTable caption="everything that both have measured" columns={[{ head: "measured" }, { head: "rows", number: true }, { head: "B / A, median", number: true }]} rows={overview} />
    </>
  );
}
