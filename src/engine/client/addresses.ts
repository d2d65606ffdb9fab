import { echo, shownAddress } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";

export const isLoopbackHost = (hostname: string): boolean =>
  hostname === "localhost" ||
  hostname === "[::1]" ||
  /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);

function hintOf(text: string): string {
  const [, scheme, host = ""] = /^([a-z]+:\/\/)([^/?#]*)/i.exec(text) ?? [];
  if (scheme === undefined) return "give it with its scheme, for example https://api.example.com";
  return /^[^[].*:.*:/.test(host)
    ? `an IPv6 address stands in brackets, as in ${scheme}[::1]:8787`
    : "a name or an address of a machine is needed, and a port is a number up to 65535";
}

/**
 * The address of a service: https, or http to this machine; a path is put before `/v1`.
 * @throws CliError (exit 2)
 */
export function parseBaseUrl(text: string): URL {
  const refused = (why: string, hint: string) =>
    usageError(`the base URL "${echo(shownAddress(text.trim()))}" ${why}`, hint, "bad_base_url");

  if (!URL.canParse(text.trim())) throw refused("is no URL", hintOf(text.trim()));

  const url = new URL(text.trim());
  // What was meant as a password may have ended the host: https://user/pass@host.
  if (url.username !== "" || url.password !== "" || url.pathname.includes("@")) {
    throw refused(
      "carries a user name or password",
      "leave them out; the key goes to `headcount login` or into HEADCOUNT_API_KEY",
    );
  }

  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopbackHost(url.hostname))) {
    const rule =
      url.protocol === "http:"
        ? "would send the key unencrypted: http is allowed to this machine alone"
        : `has the scheme ${url.protocol.slice(0, -1)}; ` +
          "only https (or http to this machine) is allowed";
    throw refused(rule, "use https://");
  }

  if (url.search !== "" || url.hash !== "") {
    throw refused("has a query or a fragment", "give the address up to the part before /v1");
  }

  url.pathname = url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
  return url;
}

export const baseUrlText = (url: URL): string => url.href.replace(/\/+$/, "");
