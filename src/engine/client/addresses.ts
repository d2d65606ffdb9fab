import { echo, withoutPassword } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";

export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
}

/** The address of a service: https, or http to this machine; a path is put before `/v1`. @throws CliError (exit 2) */
export function parseBaseUrl(text: string): URL {
  const shown = echo(withoutPassword(text.trim()));
  let url: URL;
  try {
    url = new URL(text.trim());
  } catch {
    throw usageError(
      `the base URL "${shown}" is no URL`,
      "give it with its scheme, for example https://api.example.com",
      "bad_base_url",
    );
  }
  // What was meant as a password may have ended the host: https://user/pass@host.
  if (url.username !== "" || url.password !== "" || url.pathname.includes("@")) {
    throw usageError(
      `the base URL "${shown}" carries a user name or password`,
      "leave them out; the key goes to `headcount login` or into HEADCOUNT_API_KEY",
      "bad_base_url",
    );
  }
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopbackHost(url.hostname))) {
    const rule =
      url.protocol === "http:"
        ? "would send the key unencrypted: http is allowed to this machine alone"
        : `has the scheme ${url.protocol.slice(0, -1)}; only https (or http to this machine) is allowed`;
    throw usageError(`the base URL "${shown}" ${rule}`, "use https://", "bad_base_url");
  }
  if (url.search !== "" || url.hash !== "") {
    throw usageError(
      `the base URL "${shown}" has a query or a fragment`,
      "give the address up to the part before /v1",
      "bad_base_url",
    );
  }
  url.pathname = url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
  return url;
}

export const baseUrlText = (url: URL): string => url.href.replace(/\/+$/, "");
