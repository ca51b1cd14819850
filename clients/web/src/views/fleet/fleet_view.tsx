// Recent decisions by tenant and rule, from the end of the server's decision log; for operators alone.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ShareBars } from "../../charts/share_bars";
import { token } from "../../client/token";
import type { DecisionTally, LoggedDecision } from "../../generated/flightplan/v1/fleet_service_pb";
import { DataTable } from "../../parts/data_table";
import { EntryLink } from "../../parts/entry_link";
import { FailureNote } from "../../parts/failure_note";
import { Section } from "../../parts/section";
import { withThousands } from "../../words/text";
import { ask, decisions, headText, MOST, tenantText, timeText } from "./decisions";
import type { Filter } from "./decisions";

const MOST_BARS = 12;

export function FleetView() {
  const filter = useSignal<Filter>({ tenant: "", ruleId: "" });
  const again = (): void => ask(filter.value);
  useEffect(again, [filter.value, token.value]);
  const choose = (change: Partial<Filter>): void => void (filter.value = { ...filter.value, ...change });
  const answer = decisions.answer.value;
  const { tenant, ruleId } = filter.value;
  return (
    <div aria-busy={decisions.asking.value}>
      <h1>Fleet</h1>
      <p class="dim">what this server decided of late, by its decision log; for callers with the role admin</p>
      <FailureNote failure={decisions.failure.value} again={again} />
      {decisions.asking.value && !answer && <p role="status">asking …</p>}
      {answer && (
        <>
          <p class="buttons" role="status">
            {headText(answer, tenant !== "" || ruleId !== "")} <button type="button" onClick={again}>ask again</button>
            {tenant && <button type="button" onClick={() => choose({ tenant: "" })}>tenant {tenant} ×</button>}
            {ruleId && <button type="button" onClick={() => choose({ ruleId: "" })}>rule {ruleId} ×</button>}
          </p>
          {answer.decisionCount > 0n && (
            <>
              <h2>by tenant</h2>
              <Tallies caption="by tenant" name="tenant" distinct="rules" tallies={answer.tenants} text={tenantText} choose={(chosen) => choose({ tenant: chosen })} />
              <h2>by rule</h2>
              <Tallies caption="by rule" name="rule" distinct="tenants" tallies={answer.rules} text={(id) => id} choose={(chosen) => choose({ ruleId: chosen })} />
              <Section title={`the newest ${withThousands(answer.decisions.length)}`} open={answer.decisions.length < MOST}>{() => <Decisions list={answer.decisions} />}</Section>
            </>
          )}
        </>
      )}
    </div>
  );
}

interface TalliesProps {
  caption: string;
  name: string;
  distinct: string;
  tallies: readonly DecisionTally[];
  text: (name: string) => string;
  choose: (name: string) => void;
}

function Tallies({ caption, name, distinct, tallies, text, choose }: TalliesProps) {
  if (tallies.length === 0) return <p>none</p>;
  const columns = [{ head: name }, { head: "decisions", number: true }, { head: "refused", number: true }, { head: distinct, number: true }, { head: "newest, UTC" }];
  const rows = tallies.map((tally) => ({
    key: tally.name,
    cells: [
      tally.name ? <button type="button" class="plain-link" onClick={() => choose(tally.name)}>{text(tally.name)}</button> : text(tally.name),
      withThousands(tally.decisionCount), withThousands(tally.refusedCount), withThousands(tally.distinctCount), timeText(tally.newestTime),
    ],
  }));
  const bars = tallies.slice(0, MOST_BARS).map((tally) => ({ name: text(tally.name), whole: Number(tally.decisionCount), part: Number(tally.refusedCount) }));
  return (
    <>
      <ShareBars title={`decisions ${caption}, and how many of them refused`} names={["answered", "refused"]} bars={bars} />
      <DataTable caption={caption} columns={columns} rows={rows} />
    </>
  );
}

const COLUMNS = [
  { head: "UTC" }, { head: "tenant" }, { head: "asked" }, { head: "target" }, { head: "outcome" }, { head: "ms", number: true }, { head: "rules" },
];

function Decisions({ list }: { list: readonly LoggedDecision[] }) {
  const rows = list.map(({ time, tenant, rpc, target, outcome, durationUs, ruleIds, door, digest }) => ({
    key: `${digest} ${timeText(time)} ${time?.nanos}`,
    cells: [
      timeText(time), tenantText(tenant), door || rpc, target, outcome.replaceAll("_", " "), (durationUs / 1e3).toFixed(1),
      <ul class="bare">{ruleIds.map((id) => <li key={id}><EntryLink kind="rule" name={id} /></li>)}</ul>,
    ],
  }));
  return <DataTable caption="decisions, newest first" columns={COLUMNS} rows={rows} />;
}
