import { present } from "../../shared/contract/text.ts";
import { InputError } from "../../shared/tables/input-file.ts";

const FORM =
  "clickhouse://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...]/DATABASE" +
  "[?cluster=NAME][&replicated=true][&tls=true]";

/**
 * The password may come from the environment, where no process list shows it.
 * @throws InputError with the form
 */
export function parseClickHouseAddress(text: string, password = "") {
  const match =
    /^clickhouse:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(text);
  if (match === null) throw new InputError(`not a ClickHouse address; the form is ${FORM}`);

  const [, user, inline, hosts = "", database, query = ""] = match;
  const options = new URLSearchParams(query);
  for (const key of options.keys()) {
    if (!["cluster", "replicated", "tls"].includes(key))
      throw new InputError(
        `unknown option "${key}" in the ClickHouse address; the form is ${FORM}`,
      );
  }

  const scheme = options.get("tls") === "true" ? "https" : "http";
  const urls = hosts.split(",").map((host) => {
    if (!/^(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i.test(host))
      throw new InputError(`not a host: "${host}"; the form is ${FORM}`);
    const port = scheme === "https" ? 8443 : 8123;
    return `${scheme}://${host}${/:\d+$/.test(host) ? "" : `:${port}`}`;
  });

  const cluster = options.get("cluster") ?? undefined;
  const names = {
    database: database === undefined || database === "" ? "default" : database,
    ...present({ cluster }),
  };

  for (const [what, name] of Object.entries(names)) {
    if (!/^[A-Za-z_]\w{0,63}$/.test(name))
      throw new InputError(`the ${what} must be a plain name, not "${name}"`);
  }

  return {
    /**
     * HTTP addresses, one for each server; queries go to
     * the first that answers, tables are made on all.
     */
    urls,
    ...names,
    user: decodeURIComponent(user ?? "default"),
    password: decodeURIComponent(inline ?? "") || password,
    replicated: options.get("replicated") === "true",
  };
}
