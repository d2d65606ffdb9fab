import { type CheckedFilters, checkFilters, type FilterIssue } from "./contract/filters.ts";
import { type CliError, usageError } from "./errors.ts";

/** All issues at once. @param where the file, or what else they came from, with a colon */
export function invalidFilter(issues: readonly FilterIssue[], where = ""): CliError {
  const [first = "invalid filters", ...details] = issues.map((issue) => issue.message);
  const several = issues.some(
    ({ key, code }) => key === "company_network_url" && code === "wrong_type",
  );
  const hint = several
    ? "`headcount employees` takes many companies, as arguments or by " +
      "--input FILE, and the other filters beside them"
    : "`headcount filters` lists the keys and the values they take";
  return usageError(`${where}${first}`, hint, "invalid_filter").with({ details });
}

/** @throws CliError exit 2 with every issue */
export function checkedFilters(values: unknown, where?: string): CheckedFilters {
  const checked = checkFilters(values);
  if (!checked.ok) throw invalidFilter(checked.issues, where);
  return { filters: checked.filters, canonical: checked.canonical };
}
