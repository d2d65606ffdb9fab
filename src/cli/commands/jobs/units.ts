import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Job, JobsFile } from "../../../app/jobs/file.ts";
import type { Schedule } from "../../../app/jobs/schedule.ts";
import { execWords, oneLine, percentEscaped, program, unitQuoted } from "../../../app/jobs/systemd.ts";
import type { Context } from "../../../shared/context.ts";
import { shellWord } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";

export interface Timed {
  readonly job: Job;
  readonly schedule: Schedule;
}

export interface SystemdUnit {
  readonly name: string;
  readonly text: string;
}

/** They say where things are, and no secret: a job that systemd or cron starts finds what this shell finds. */
const HANDED_ON = [
  "HEADCOUNT_CONFIG_DIR",
  "HEADCOUNT_STATE_DIR",
  "HEADCOUNT_CONNECTION",
  "HEADCOUNT_BASE_URL",
  "HEADCOUNT_PAGING",
  "XDG_CONFIG_HOME",
  "XDG_STATE_HOME",
  "XDG_DATA_HOME",
] as const;

export function handedOn({ env, cwd }: Pick<Context, "cwd" | "env">): readonly (readonly [string, string])[] {
  return HANDED_ON.flatMap((name) => {
    const value = env[name];
    // An address with a password in it is a secret too.
    if (value === undefined || value === "" || (name === "HEADCOUNT_BASE_URL" && value.includes("@"))) return [];
    return [[name, /_(DIR|HOME)$/.test(name) ? resolve(cwd, value) : value] as const];
  });
}

/**
 * The file with the key, `HEADCOUNT_API_KEY=...` on a line; it need not be there.
 * @throws CliError exit 2 for a line that a shell reads and systemd passes over
 */
export function keyFileOf(given: string | undefined, { env, cwd }: Context): string {
  const path = given === undefined ? join(env.HOME ?? cwd, ".headcount.env") : resolve(cwd, given);
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  const wrong = lines.findIndex((line) => /^\s*export\s/.test(line));
  if (wrong < 0) return path;
  throw usageError(
    `${path}:${wrong + 1}: "export" is for a shell alone: systemd passes over such a line, and the job has no key`,
    `write NAME=value without it: sed -i 's/^ *export //' ${shellWord(path)}`,
    "key_file",
  );
}

export function systemdUnits(
  timed: readonly Timed[],
  file: JobsFile,
  keys: string,
  context: Context,
): readonly SystemdUnit[] {
  const environment = handedOn(context).map(
    ([name, value]) => `Environment=${percentEscaped(unitQuoted(`${name}=${value}`))}\n`,
  );
  return timed.flatMap(({ job, schedule }) => [
    {
      name: `headcount-${job.name}.service`,
      text: `[Unit]
Description=headcount job ${job.name}
# 5, 7, 8 and 9 are tried again and go on where they stopped, eight times a day at most. A person has to look at the others.
StartLimitIntervalSec=1d
StartLimitBurst=8

[Service]
Type=oneshot
WorkingDirectory=${percentEscaped(file.folder)}
${environment.join("")}EnvironmentFile=-${percentEscaped(keys)}
ExecStart=${execWords([...program(), "jobs", "run", job.name, "--file", file.path])}
Restart=on-failure
RestartSec=15min
RestartPreventExitStatus=1 2 3 4 6 10
# Pages in flight are settled before it ends.
TimeoutStopSec=2min
UMask=0077
`,
    },
    {
      name: `headcount-${job.name}.timer`,
      text: `[Unit]
Description=headcount job ${job.name}: ${percentEscaped(schedule.text)}

[Timer]
OnCalendar=${schedule.calendar}
Persistent=true

[Install]
WantedBy=timers.target
`,
    },
  ]);
}

export function cronLines(timed: readonly Timed[], file: JobsFile, keys: string, context: Context): string {
  const set = handedOn(context).map(([name, value]) => `${name}=${shellWord(value)}; `);
  const settings = `set -a; ${set.join("")}[ ! -r ${shellWord(keys)} ] || . ${shellWord(keys)}`;
  const lines = timed.map(({ job, schedule }) => {
    const run = [...program(), "jobs", "run", job.name, "--file", file.path].map(shellWord).join(" ");
    // In a crontab a percent sign ends the line.
    return `${schedule.cron}  ${oneLine(`${settings}; cd ${shellWord(file.folder)} && ${run}`).replaceAll("%", "\\%")}\n`;
  });
  return `# headcount jobs of ${oneLine(file.path)}: paste into crontab -e\n${lines.join("")}`;
}

interface ServedBy {
  readonly dir: string;
  readonly data: string | undefined;
  readonly store: string | undefined;
  readonly port: number;
}

/** A unit of systemd that runs this very `serve`, as a user that may write to its data folder and nowhere else. */
export function serveUnit({ data, dir, port, store }: ServedBy, { argv, cwd }: Context): string {
  const words = argv.filter((word) => word !== "--print-unit");
  const place = data === undefined ? ["--data", dir] : [];
  const ledger = store === undefined || store.includes("://") ? [] : [dirname(resolve(cwd, store))];
  const writable = [dir, ...ledger].map((path) => percentEscaped(unitQuoted(path))).join(" ");
  const low = port > 0 && port < 1_024 ? "CAP_NET_BIND_SERVICE" : "";
  return `[Unit]
Description=headcount service
After=network-online.target
Wants=network-online.target

[Service]
Type=exec
# A user of its own that the data folder and the TLS key belong to; for systemctl --user leave this line out.
User=headcount
WorkingDirectory=${percentEscaped(cwd)}
# PGPASSWORD and HEADCOUNT_CLICKHOUSE_PASSWORD of the service, readable to root alone.
EnvironmentFile=-/etc/headcount.env
ExecStart=${execWords([...program(), ...words, ...place])}
Restart=on-failure
RestartSec=2s
# What a person has to mend is not tried again.
RestartPreventExitStatus=1 2 3
# Calls in flight are answered before it ends.
TimeoutStopSec=30s
UMask=0077
LimitNOFILE=16384
# They must be there before the first start, and belong to that user.
ReadWritePaths=${writable}
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=true
PrivateDevices=true
ProtectKernelTunables=true
ProtectKernelModules=true
ProtectKernelLogs=true
ProtectControlGroups=true
ProtectClock=true
ProtectHostname=true
ProtectProc=invisible
RestrictNamespaces=true
RestrictRealtime=true
RemoveIPC=true
NoNewPrivileges=true
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictSUIDSGID=true
LockPersonality=true
SystemCallArchitectures=native
CapabilityBoundingSet=${low}
AmbientCapabilities=${low}

[Install]
WantedBy=multi-user.target
`;
}
