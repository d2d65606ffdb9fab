import { isAbsolute, join, posix, win32 } from "node:path";
import { failed } from "../../shared/errors.ts";

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

type Kind = "config" | "state" | "data";

const OWN_VARIABLE: Readonly<Record<Kind, string | undefined>> = {
  config: "HEADCOUNT_CONFIG_DIR",
  state: "HEADCOUNT_STATE_DIR",
  data: undefined,
};
const XDG_VARIABLE = {
  config: "XDG_CONFIG_HOME",
  state: "XDG_STATE_HOME",
  data: "XDG_DATA_HOME",
} as const;
const UNDER_HOME = {
  config: [".config"],
  state: [".local", "state"],
  data: [".local", "share"],
} as const;
const MAC = {
  config: ["Library", "Preferences"],
  state: ["Library", "Application Support"],
  data: ["Library", "Application Support"],
} as const;

/** Undefined where the environment names no home at all (a bare container, cron). */
export function findFolder(kind: Kind, { env, platform }: Surroundings): string | undefined {
  const own = OWN_VARIABLE[kind];
  const path = own && env[own];
  if (path) return path;

  // The XDG rules ask for absolute paths only.
  const xdg = env[XDG_VARIABLE[kind]];
  if (xdg && isAbsolute(xdg)) return join(xdg, "headcount");
  if (platform === "win32") {
    const base = kind === "config" ? env.APPDATA : env.LOCALAPPDATA;
    if (base) return win32.join(base, "headcount", kind);
    return env.USERPROFILE ? win32.join(env.USERPROFILE, ".headcount", kind) : undefined;
  }

  const home = env.HOME;
  if (!home) return undefined;
  if (platform !== "darwin") return posix.join(home, ...UNDER_HOME[kind], "headcount");

  return posix.join(home, ...MAC[kind], "headcount", ...(kind === "state" ? ["state"] : []));
}

function folder(kind: Kind, surroundings: Surroundings): string {
  const path = findFolder(kind, surroundings);
  if (path !== undefined) return path;
  const variable = OWN_VARIABLE[kind] ?? XDG_VARIABLE[kind];
  throw failed.filesystem(
    `there is no folder for headcount's ${kind}: neither ${variable} nor a home folder is set`,
    `set ${variable} to a folder that may be written`,
    "no_home",
  );
}

/** HEADCOUNT_CONFIG_DIR, else the XDG config folder. @throws CliError where there is none */
export const configDir = (surroundings: Surroundings): string => folder("config", surroundings);
/** HEADCOUNT_STATE_DIR, else the XDG state folder. @throws CliError where there is none */
export const stateDir = (surroundings: Surroundings): string => folder("state", surroundings);
export const dataDir = (surroundings: Surroundings): string => folder("data", surroundings);
export const sampleDir = (surroundings: Surroundings): string =>
  join(dataDir(surroundings), "sample");
/** Its port is another one each time. */
export const sampleId = (dir: string): string => `sample:${dir}`;
