"""What the coefficients of the memory forecast would be if they were fitted to the measured peaks.

    build/release/bin/memory_check tests/data/memory-truth.jsonl --csv | python3 tests/memory/fit_memory.py

Runs that differ in a single number that memory does not depend on (the microbatches of a step) count once. Prints the
workspaces that make the median error zero, and how far the modelled part is off: the share of it that the residual
takes. The closed formulas themselves have no fitted number.
"""

import statistics
import sys


def main() -> None:
    rows = {}
    for line in sys.stdin:
        if not line.startswith("csv,"):
            continue
        name, moe, stated, *numbers = line.strip().split(",")[1:]
        measured, lasting, modelled, allowed = map(float, numbers)
        if stated == "1":
            rows.setdefault((measured, lasting, modelled), (name, moe == "1", measured, lasting, modelled, allowed))
    residuals = [row[2] - row[3] - row[4] for row in rows.values()]
    workspaces = statistics.median(residuals)
    print(f"{len(rows)} runs that differ; workspaces that make the median error zero: {workspaces / 1e9:.2f} GB")
    shares = []
    for name, moe, measured, lasting, modelled, allowed in rows.values():
        share = (measured - lasting - allowed) / modelled
        shares.append(share)
        print(f"  {name:36} {'MoE' if moe else 'dense':5} modelled part off by factor {share:.3f}")
    shares.sort()
    low, high = shares[len(shares) // 10], shares[-1 - len(shares) // 10]
    print(f"factor on the modelled part: median {statistics.median(shares):.3f}, 80 % within {low:.2f} .. {high:.2f}")


if __name__ == "__main__":
    main()
