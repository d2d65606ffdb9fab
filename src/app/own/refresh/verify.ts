import type { VerifiedField } from "../../../engine/purchase/refresh.ts";
import { EXACT_KEYS, type FilterKey } from "../../../shared/contract/filters.ts";
import { nearest } from "../../../shared/contract/suggest.ts";
import { echo } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";

/** Fields that a count can tell the value of. */
export const VERIFIABLE: readonly string[] = [
  ...EXACT_KEYS.filter((key) => key !== "network_url" && key !== "name"),
  "department",
  "company",
];

/** @throws CliError exit 2 for a field whose value no count can tell */
export function readVerified(text: string): VerifiedField[] {
  const names = text
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "");
  if (names.length === 0)
    throw usageError("--verify-fields names no field", `for example --verify-fields title,company`);
  return [...new Set(names)].map((name) => {
    if (name === "company") {
      return { name, key: "company_network_url", field: "company_network_url", several: false };
    }
    if (VERIFIABLE.includes(name)) return { name, key: name as FilterKey, field: name, several: true };
    const near = nearest(name, VERIFIABLE);
    throw usageError(
      `--verify-fields cannot look at "${echo(name)}": no count tells its value; fields: ${VERIFIABLE.join(", ")}`,
      near === undefined ? undefined : `did you mean ${near}?`,
    );
  });
}
