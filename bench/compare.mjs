// What changed between two results: each row's figure in both, and the rows whose verdict is another one.
import { existsSync, readFileSync } from "node:fs";
import { formOf, loadResults, RESULTS, resultNames, rowName } from "./results.mjs";

/** Results by the path of their file or by their name; "newest" and "previous" are the last two. @throws where there are none */
export function namedResults(name, folder = RESULTS) {
  const names = resultNames(folder);
  const known = { newest: names.at(-1), previous: names.at(-2) };
  const file = known[name] ?? name;
  const found = existsSync(file)
    ? JSON.parse(readFileSync(file, "utf8"))
    : loadResults(file, folder);
  if (found !== undefined) return found;
  throw new Error(`there are no results "${name}"; there are: ${names.join(", ") || "none"}`);
}

/**
 * Each row of either, in the order of the older one.
 * @returns rows with `change` (new over old; undefined where either has no figure), and those whose verdict differs
 */
export function compareResults(older, newer) {
  const rowsOf = (results) => new Map(results.rows.map((row) => [rowName(row), row]));
  const [before, after] = [rowsOf(older), rowsOf(newer)];
  const rows = [...new Set([...before.keys(), ...after.keys()])].map((name) => {
    const [old, now] = [before.get(name), after.get(name)];
    const change =
      old?.measured > 0 && now?.measured !== undefined ? now.measured / old.measured : undefined;
    return {
      name,
      old,
      now,
      change,
      differs: old !== undefined && now !== undefined && old.verdict !== now.verdict,
    };
  });
  return { rows, differing: rows.filter(({ differs }) => differs) };
}

const figure = (row) => {
  if (row?.measured === undefined) return row === undefined ? "not there" : "-";
  const unit = row.target.endsWith("x") ? "x" : ` ${row.unit}`;
  return `${row.measured.toLocaleString("en", { maximumSignificantDigits: 3 })}${unit}`;
};

/** The comparison as text. */
export function comparisonText(older, newer) {
  const { rows, differing } = compareResults(older, newer);
  const cells = rows.map(({ name, old, now, change, differs }) => [
    name,
    (now ?? old).target,
    figure(old),
    figure(now),
    change === undefined ? "" : `${change > 1 ? "+" : ""}${((change - 1) * 100).toFixed(0)}%`,
    differs ? `${old.verdict} -> ${now.verdict}` : ((now ?? old).verdict ?? ""),
  ]);
  const table = [
    ["#", "target", `old: ${title(older)}`, `new: ${title(newer)}`, "change", "verdict"],
    ...cells,
  ];
  const widths = table[0].map((_, column) => Math.max(...table.map((line) => line[column].length)));
  const lines = table.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column]))
      .join("  ")
      .trimEnd(),
  );
  if (formOf(older) !== formOf(newer)) {
    lines.push(
      "",
      `note: the ${formOf(older)} form against the ${formOf(newer)} one: sizes differ, and so may ratios`,
    );
  }
  lines.push(
    "",
    differing.length === 0
      ? "The verdicts are the same."
      : `${differing.length} ${differing.length === 1 ? "verdict differs" : "verdicts differ"}: ${differing.map(({ name }) => name).join("; ")}`,
  );
  return lines.join("\n");
}

const title = ({ date, machine }) => `${date} (${machine.commit})`;
