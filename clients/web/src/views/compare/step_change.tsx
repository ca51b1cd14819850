// How sure the step's change is: one interval of the difference, in which what both sides have in common is not counted.
import { Interval } from "../../charts/interval";
import { DataTable } from "../../parts/data_table";
import type { StepEffect } from "../../words/comparison";
import { signed, timeFigure } from "../../words/comparison";
import { signedPercent } from "../../words/text";

const COLUMNS = [{ head: "B against A" }, { head: "of the step", number: true }, { head: "time", number: true }];

/** `us`: A's step. */
export function StepChange({ effect, us }: { effect: StepEffect; us: number }) {
  const { change, low, high } = effect;
  const time = (ratio: number): string => signed(ratio * us, (part) => timeFigure(part, us));
  const rows = ([["as forecast", change], ["at best", low], ["at worst", high]] as const)
    .map(([name, ratio], at) => ({ key: name, strong: at === 0, cells: [name, signedPercent(ratio), time(ratio)] }));
  return (
    <>
      <h2>the step's change</h2>
      <Interval title="change of the step, B against A, with its interval" low={low} value={change} high={high} text={signedPercent} below="B is faster" above="B is slower" />
      <DataTable caption="the step's change, with the interval of the difference" columns={COLUMNS} rows={rows} />
    </>
  );
}
