import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTranslator } from "./clickhouse-translator.ts";
import { freePort } from "./free-port.ts";

const SERVER = ["/usr/sbin/clickhouse-server", "/usr/bin/clickhouse-server"].find((path) =>
  existsSync(path),
);

/** Whether Debian's clickhouse-server is installed. */
export const hasClickHouseServer = SERVER !== undefined;

export interface ClusterServer {
  /** Of the way that a service takes, which can be cut. */
  readonly httpPort: number;
  readonly tcpPort: number;
  readonly shard: number;
  start(): Promise<void>;
  /** SIGKILL: the server is gone between two packets. */
  kill(): Promise<void>;
  /** SIGSTOP and SIGCONT: it takes connections and says nothing. */
  hang(): void;
  goOn(): void;
  /** Nothing more comes through from the service, or to it; the servers reach each other. */
  cut(): void;
  mend(): void;
}

export interface Cluster {
  /** Every server with the cluster's name, in the form that `--dataset` takes. */
  readonly url: string;
  /** Shard by shard, each with its replicas. */
  readonly shards: readonly ClusterServer[];
  close(): Promise<void>;
}

/**
 * Real clickhouse-servers on loopback ports in one cluster named `people`; a shard's replicas are written by each insert.
 * @param queryBytes the longest statement that they take; by default their own, 256 KiB
 */
export async function startCluster(
  shardCount: number,
  replicas = 1,
  queryBytes = 262_144,
): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "headcount-clickhouse-"));
  const ports: Ports[] = [];
  for (let index = 0; index < shardCount * replicas; index++) {
    ports.push({ http: await freePort(), tcp: await freePort(), interserver: await freePort() });
  }
  const remote = ports.map(
    ({ tcp }) => `<replica><host>127.0.0.1</host><port>${tcp}</port></replica>`,
  );
  const all = Array.from({ length: shardCount }, (_, index) =>
    remote.slice(index * replicas, (index + 1) * replicas),
  );
  const config = all.map((own) => `<shard>${own.join("")}</shard>`).join("");
  const shards: ClusterServer[] = [];
  for (const [index, port] of ports.entries()) {
    const translator = await startTranslator(port.http);
    const way = await startWay(translator.port);
    const own = server(join(folder, `server-${index}`), port, config, queryBytes);
    const close = async (): Promise<void> => {
      way.close();
      translator.close();
      await own.kill();
    };
    shards.push({
      ...own,
      ...way,
      kill: own.kill,
      close,
      tcpPort: port.tcp,
      shard: Math.floor(index / replicas),
    } as ClusterServer);
  }
  await Promise.all(shards.map((one) => one.start()));
  return {
    url: `clickhouse://${shards.map(({ httpPort }) => `127.0.0.1:${httpPort}`).join(",")}/default?cluster=people`,
    shards,
    close: async () => {
      for (const one of shards) await (one as ClusterServer & { close(): Promise<void> }).close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Ports {
  readonly http: number;
  readonly tcp: number;
  readonly interserver: number;
}

/** A way to a port that can be cut as a network is: connections stay, and nothing comes. */
async function startWay(to: number) {
  let isCut = false;
  const sockets = new Set<Socket>();
  const way = createServer((near) => {
    const far = connect(to, "127.0.0.1");
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      if (isCut) from.pause();
      else from.pipe(into);
      from.on("error", () => into.destroy());
      from.on("close", () => {
        sockets.delete(from);
        if (!isCut) into.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => way.listen(0, "127.0.0.1", resolve));
  const address = way.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    httpPort: address.port,
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    mend: () => {
      isCut = false;
      for (const socket of sockets) socket.destroy();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      way.close();
    },
  };
}

/** What a server that ended wrote last: its folder is gone when the run ends. */
function lastWords(folder: string): string {
  const log = join(folder, "error.log");
  return existsSync(log) ? readFileSync(log, "utf8").slice(-2_000) : "it wrote no log";
}

function server(folder: string, port: Ports, remote: string, queryBytes: number) {
  mkdirSync(folder, { recursive: true });
  const config = join(folder, "config.xml");
  writeFileSync(
    config,
    `<yandex>
<logger><level>error</level><log>${folder}/server.log</log><errorlog>${folder}/error.log</errorlog></logger>
<listen_host>127.0.0.1</listen_host><http_port>${port.http}</http_port><tcp_port>${port.tcp}</tcp_port>
<interserver_http_port>${port.interserver}</interserver_http_port>
<path>${folder}/data/</path><tmp_path>${folder}/tmp/</tmp_path><format_schema_path>${folder}/schemas/</format_schema_path>
<mark_cache_size>67108864</mark_cache_size><users_config>${folder}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<max_concurrent_queries>50</max_concurrent_queries>
<remote_servers><people>${remote}</people></remote_servers>
</yandex>`,
  );
  writeFileSync(
    join(folder, "users.xml"),
    `<yandex><profiles><default><max_memory_usage>4000000000</max_memory_usage><max_query_size>${queryBytes}</max_query_size></default></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
<quotas><default></default></quotas></yandex>`,
  );
  let child: ChildProcess | undefined;
  return {
    start: async () => {
      if (SERVER === undefined)
        throw new Error("clickhouse-server is not installed (Debian: clickhouse-server)");
      const program = SERVER;
      const run = () =>
        spawn(program, [`--config-file=${config}`], { cwd: folder, stdio: "ignore" });
      child = run();
      let again = 0;
      for (let attempt = 0; ; attempt++) {
        if (child.exitCode !== null) {
          // A connection of somebody else may have its port for a moment.
          if (again++ === 3)
            throw new Error(`clickhouse-server ended with ${child.exitCode}: ${lastWords(folder)}`);
          await new Promise((resolve) => setTimeout(resolve, 1_000));
          child = run();
        }
        const answer = await fetch(`http://127.0.0.1:${port.http}/ping`).catch(() => undefined);
        if (answer?.ok) return;
        if (attempt > 6_000) throw new Error(`clickhouse-server does not answer; see ${folder}`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
    hang: () => void child?.kill("SIGSTOP"),
    goOn: () => void child?.kill("SIGCONT"),
    kill: async () => {
      const killed = child;
      child = undefined;
      if (killed === undefined || killed.exitCode !== null) return;
      const gone = new Promise((resolve) => killed.once("exit", resolve));
      killed.kill("SIGKILL");
      await gone;
    },
  };
}
