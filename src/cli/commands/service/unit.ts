import { dirname, resolve } from "node:path";
import { execWords, percentEscaped, program, unitQuoted } from "../../../app/jobs/systemd.ts";
import type { Context } from "../../../shared/context.ts";

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
# PGPASSWORD, HEADCOUNT_CLICKHOUSE_PASSWORD and OTEL_... of the service, readable to root alone.
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
ProtectControlGroups=true
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
