import { ReloadingEngine, type ReloadOptions } from "../embedded/reloading-engine.ts";
import type { Engine } from "../engine.ts";
import { NoDatasetError } from "../layout.ts";
import { activeDataset } from "./active.ts";
import { type ClickHouseServers, closeAll, connectClickHouse } from "./connect.ts";
import { ClickHouseEngine } from "./engine.ts";
import { LostServerError, ServerPool } from "./pool.ts";

export async function openClickHouse(address: string, password = ""): Promise<Engine> {
  const servers = await connectClickHouse(address, password);
  try {
    const engine = await engineOf(servers, new ServerPool(servers.clients, servers.urls));
    return closingAlso(engine, () => closeAll(servers.clients));
  } catch (error) {
    await closeAll(servers.clients);
    throw error;
  }
}

function engineOf({ clients, topology, dialect }: ClickHouseServers, pool: ServerPool): Promise<Engine> {
  return ClickHouseEngine.open({ client: clients[0], topology, dialect, pool });
}

function closingAlso<Kind extends Engine>(engine: Kind, also: () => Promise<void>): Kind {
  const close = engine.close.bind(engine);
  engine.close = () => close().then(also);
  return engine;
}

/** An engine that goes over to the next dataset version, or one without somebody, at the first call a second later. */
export async function followClickHouse(address: string, password: string, options: ReloadOptions): Promise<Engine> {
  const watch = await connectClickHouse(address, password);
  const pool = new ServerPool(watch.clients, watch.urls);
  let latest = 0;
  const stamp = async (): Promise<string> => {
    const active = await pool.ask(async (client) => {
      const told = await activeDataset(client, watch.topology);
      if (told !== undefined && told.step < latest) throw new LostServerError("a ClickHouse server is behind");
      return told;
    });
    latest = Math.max(latest, active?.step ?? 0);
    return active?.info.version ?? "";
  };
  const version = async (): Promise<string> => {
    const active = await stamp();
    if (active === "") throw new NoDatasetError("this ClickHouse has lost its dataset; the one that is open goes on");
    return active;
  };
  const stop = (): Promise<void> => closeAll(watch.clients);
  try {
    const place = { stamp, version, open: () => engineOf(watch, pool) };
    return closingAlso(await ReloadingEngine.follow(place, options), stop);
  } catch (error) {
    await stop();
    throw error;
  }
}
