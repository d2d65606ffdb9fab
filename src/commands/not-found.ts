import type { CompanyQuery } from "../client/types.ts";
import { echo } from "../contract/filters.ts";
import { CliError, EXIT } from "../errors.ts";

/** A single look-up that found nothing: exit 6, free of charge (contract section 4.4). */
export const companyNotFound = ({ by, value }: CompanyQuery): CliError =>
  new CliError({
    code: "not_found",
    category: "not_found",
    exitCode: EXIT.notFound,
    status: 404,
    message: `no company has the ${by === "company_network_url" ? "profile address" : by} "${echo(value)}"; nothing was charged`,
    hint: "a domain looks like acme.com, a profile address like network.example/company/acme; --name looks up by name",
  });
