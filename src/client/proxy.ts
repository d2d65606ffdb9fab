import { echo, withoutPassword } from "../contract/text.ts";
import { usageError } from "../errors.ts";
import { isLoopbackHost } from "./addresses.ts";

export interface ProxySettings {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  readonly noProxy: string;
}

type Env = Readonly<Record<string, string | undefined>>;

// An empty variable counts as unset, in either case: `https_proxy=""` must not hide a HTTPS_PROXY.
function variable(env: Env, name: string): { readonly name: string; readonly value: string } | undefined {
  for (const key of [name.toLowerCase(), name]) {
    const value = env[key]?.trim();
    if (value) return { name: key, value };
  }
  return undefined;
}

function checked(found: { readonly name: string; readonly value: string } | undefined): string {
  if (found === undefined) return "";
  // "proxy:3128" parses as a URL of scheme "proxy", so what has no scheme is named as a mistake too.
  const url = /^https?:\/\//i.test(found.value) && URL.canParse(found.value) ? new URL(found.value) : undefined;
  if (url === undefined || url.hostname === "" || url.pathname !== "/") {
    throw usageError(
      `the proxy in ${found.name} is no http or https URL: "${echo(withoutPassword(found.value))}"`,
      `set it as in ${found.name}=http://proxy.example:3128 (a "/" or "@" of a password as %2F or %40), or unset it`,
      "bad_proxy",
    );
  }
  return url.href;
}

/** The proxy for an origin by the usual variables; none to this machine. @throws CliError (exit 2) on an address that is no URL */
export function proxyFor(origin: URL, env: Env): ProxySettings | undefined {
  if (isLoopbackHost(origin.hostname)) return undefined;
  const https = variable(env, "HTTPS_PROXY");
  const http = variable(env, "HTTP_PROXY");
  const applies = origin.protocol === "https:" ? (https ?? http) : http;
  if (applies === undefined) return undefined;
  return {
    httpsProxy: checked(https ?? http),
    httpProxy: checked(http),
    noProxy: variable(env, "NO_PROXY")?.value ?? "",
  };
}
